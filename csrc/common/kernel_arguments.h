/* What kernels take: constants that they and their planner agree on, and arguments. */
#pragma once

#include "common/exact_sums.h"
#include "common/launch_config.h"
#include "common/layout.h"
#include "common/method.h"
#include "common/quantile.h"
#include "common/reduction.h"
#include "common/segments.h"

#include <assert.h>
#include <stdalign.h>
#include <stddef.h>
#include <stdint.h>

/* The ring of rung 23: stages, each with a barrier. */
enum { RING_STAGES = 2, RING_STAGE_BYTES = 16 << 10, RING_BARRIER_BYTES = 8 };

/* An array as a kernel's argument, if its elements lie one after the other. Kernels that do not
 * ask for positions take the pointer alone, which comes first. */
struct kernel_array {
    const void *at; /* device memory */
    uint64_t base;  /* what a position is counted from in the whole array */
};

/* So many bytes of values a thread takes in at a time from an array that is not flat. */
enum { SLOTS_BYTES = 64 };

/* Results of up to so many bytes a thread stores side by side. */
enum { STORED_TOGETHER = 32 };

/* Of columns whose type is known a thread makes as many as COLUMN_BYTES have, in blocks of up to
 * COLUMNS_BLOCK that leave each other COLUMNS_SHARED bytes. It takes in ROWS_AHEAD rows at a time,
 * and its block ROWS_A_BLOCK at most: 32 bits hold sums of squares of bytes of so many. */
enum {
    COLUMN_BYTES = 16,
    COLUMNS_BLOCK = 1024,
    COLUMNS_SHARED = 48 << 10,
    ROWS_AHEAD = 4,
    ROWS_A_BLOCK = 1 << 16
};

/* A thread that makes columns alone has so many loads under way, of one load's columns or of more.
 * */
enum { UNSPLIT_LOADS = 8, UNSPLIT_PACKS = 4 };

/* Threads of a multiprocessor that have registers for that: of states and elements of bytes. */
#define COLUMNS_THREADS(state, element) ((state) > 8 ? 512 : (element) > 1 ? 1024 : 768)

/* The same of threads that make columns alone, in small blocks, of up to UNSPLIT_BLOCK. */
#define UNSPLIT_THREADS(state, element)                                                            \
    ((state) > UNSPLIT_SMALL || (element) < 2 ? 512 : (element) < 4 ? 704 : 768)
enum { UNSPLIT_SMALL = 8, UNSPLIT_BLOCK = 256 };

/* Rows that a thread reads before it waits for any: what is made of a large state takes long enough
 * that more is to be on its way meanwhile. */
#define COLUMNS_AHEAD(state) ((state) > 8 ? 2 * ROWS_AHEAD : ROWS_AHEAD)

/* What splits have left of columns a thread reads so many of at a time. */
#define COLUMNS_PARTIALS(state) ((state) > 8 ? 6 : 16)

/* Bytes that one of two threads leaves the other: a state a column. Words of bytes are no more. */
#define COLUMNS_LEFT(state, element) (COLUMN_BYTES / (element) * (state))

/* Of blocks that take long rows of a known type: threads at most, as an exponent. A thread waits
 * for LONG_ROWS_PACKS loads of 16 bytes at a time, twice as many of every second element, and a
 * multiprocessor has room, and registers for these loads, for LONG_ROWS_RESIDENT blocks. */
enum { LONG_ROWS_BLOCK = 8, LONG_ROWS_SMALL = 8 };
#define LONG_ROWS_PACKS(state, element) ((state) > LONG_ROWS_SMALL && (element) > 1 ? 8 : 4)
#define LONG_ROWS_RESIDENT(state, element, apart)                                                  \
    ((state) <= LONG_ROWS_SMALL ? ((element) > 1 ? 4 : 3)                                          \
     : (element) > 1 || (apart) ? 2                                                                \
     : (state) > 16             ? 4                                                                \
                                : 3)

/* Threads of a block that makes short rows of a known type, as an exponent, at most. */
enum { SHORT_ROWS_BLOCK = 8 };

/* Where elements are loaded one by one: threads of a block, as an exponent, at most; loads of up to
 * 8 bytes that a thread waits for; and results side by side where it has several shares of one. */
enum { STRIDED_BLOCK = 8, STRIDED_LOADS = 8, INVARIANT_LANES = 32 };

/* A thread that loads several rows at once makes so many results at most, of so many bytes. */
enum { ROWS_IN_REGISTERS = 16, BYTES_IN_REGISTERS = 64 };

/* How rows of an array that is not flat are read: in stretches, by groups. Powers are exponents. */
struct kernel_stretches {
    uint64_t items, base;
    uint64_t stretches; /* of a row, where items are those of all */
    unsigned stretch;   /* elements of one */
    unsigned lanes;     /* threads of a group */
    unsigned run;       /* neighbours that one load takes, where it is aligned */
    unsigned packing;   /* neighbours that one slot takes */
    unsigned bytes;     /* of an element */
    bool aligns;        /* a row's first stretch begins in front of it, where a run would */

    /* To which folds that make means add what a mask lets through; NULL: not asked for. */
    unsigned long long *counted;
};

/* Such an array, in at least one dimension; rows_describe fills in how. */
struct kernel_rows {
    struct layout from;
    struct kernel_stretches how;
};

/* Constants are cached by lines of so many bytes, arguments begin so many after a line's beginning,
 * and a small call waits for each line that it reads. */
enum { CONSTANT_LINE = 64, ARGUMENTS_BEGIN = 16 };

/* Where many results go, and what they are made with. */
struct kernel_results {
    unsigned *findings;             /* bits are added here; NULL: not asked for */
    const struct complex128 *means; /* what spreads are about; NULL: each its own mean */
    unsigned values;                /* of a result */
    enum nothing nothing;
    bool at_once; /* see epilogue_stores_at_once */

    /* Where a kernel of a known type finds extremes, for it finds minima of signed numbers: of
     * every 8 bytes of elements, and of the value that is found, bits that are inverted; and those
     * that the value has then. */
    alignas(ARGUMENTS_BEGIN) uint64_t inverted;
    uint64_t value_inverted, value_bits;
    double divisor; /* of such a result that is stored at once; 0: it is not divided */
    enum reduction reduction;
    enum fold fold;
    unsigned char types[ANSWER_VALUES], bytes[ANSWER_VALUES];
    void *at[ANSWER_VALUES]; /* value by value, one after the other, in device memory */
    struct finish finish;    /* the count is every result's, unless a mask says otherwise */
};

/* Dimensions that results differ in, outermost first: of two neighbours, how far apart their
 * elements lie in bytes, they themselves in results, and the mask's in bytes. */
struct outer_dimensions {
    int64_t first; /* the first result's place */
    unsigned count;
    int64_t strides[DIMENSIONS_FEW], output_strides[DIMENSIONS_FEW];
    uint64_t shape[DIMENSIONS_FEW];
    int64_t mask_strides[DIMENSIONS_FEW];
};

/* Of a list of arrays: so many neighbouring elements of one. A block takes the tile of its own
 * number and `more` others from `next` on, and shares the result with blocks that take others. */
struct list_tile {
    const void *data;
    uint64_t n;
    uint64_t position; /* of the first of them */
    uint32_t next, more;

    uint64_t count;         /* elements of the result */
    uint32_t result;        /* which one */
    uint32_t first, blocks; /* the first block that shares it, and how many do */
};

/* What a launch writes. */
enum { WRITTEN_WORDS = 256 };
struct written_words {
    uint64_t at[WRITTEN_WORDS];
};

/* A reduction along axes as a kernel's argument. */
struct kernel_axes {
    struct launch_config launch;
    uint64_t results;
    const struct list_tile *list; /* one a block, in place of rows of `from`; NULL: there is none */
    struct kernel_stretches rows;
    int64_t lowest, end; /* bytes from `from` to the array's first element, and to its end */

    /* Where the kernel is not the one of any dimensions: what is reduced, of the first result. */
    alignas(ARGUMENTS_BEGIN) struct layout_of_few from;
    struct outer_dimensions outer; /* of any kernel, but for the arrays */
    bool counts;                   /* what a mask lets through is counted */
    struct kernel_results result;
};

#define BEGINS_LINE(member)                                                                        \
    static_assert((offsetof(struct kernel_axes, member) + ARGUMENTS_BEGIN) % CONSTANT_LINE == 0,   \
                  "what kernels read most of it lies in one line of constants")
BEGINS_LINE(launch.row);
BEGINS_LINE(from);
BEGINS_LINE(outer);
BEGINS_LINE(result.inverted);
#undef BEGINS_LINE

/* The same of any dimensions, of which what is reduced and the outer ones have no more than an
 * array: in `from`, the outer ones come after its own. */
struct kernel_axes_of_any {
    struct kernel_axes of_few;
    struct layout from;
    int64_t output_strides[DIMENSIONS_MAX];
};

/* What the survey of offsets finds out: bits. */
enum { ORDER_BROKEN = 1 /* they do not rise, or leave the array */ };

/* Ends of segments that a block of the survey looks at; 8 bytes of shared memory each. */
enum { SURVEYED = 1024 };

/* Where a block's threads scan a tile: bytes of it that each takes, and before all of them what
 * each marks, what warps leave each other, and a barrier. */
enum { SCANNED_BYTES = 112, SCAN_MARKS = 4, SCAN_OF_WARPS = 256, SCAN_BARRIER = 16 };

/* A reduction of segments as a kernel's argument. Of offsets that rise, elements and ends of
 * segments are one sequence, each end after its segment's elements, and a tile is a part of it. */
struct kernel_segments {
    struct segments of;
    const void *data;   /* elements, one after the other */
    enum element input; /* their type */
    unsigned bytes;     /* of one, as an exponent */
    unsigned block;     /* threads of one, as an exponent */
    unsigned team;      /* so many threads fold a segment, said by the exponent */
    unsigned most;      /* elements of it, or states; more are folded by more threads */
    uint64_t tiles;
    unsigned tile;    /* elements and ends of one */
    uint64_t *splits; /* of each tile, and after the last: how many ends come before it */
    unsigned *order;  /* what the survey has found; NULL: there was none */
    struct kernel_results result;
    struct scalar_wide of_none; /* a result of no elements */
};

/* What the last block does with the state of all. */
struct epilogue {
    /* Where the host waits for it: 8-byte words of memory that both see, half of each 4 bytes of
     * the state, and half the launch's tag. NULL: nobody waits. */
    uint64_t *mailbox;
    uint32_t tag;

    /* Where the result is to stay, if it is the state or the state divided; NULL: nowhere. */
    void *out;
    double divisor; /* 0: it is not divided */
};

/* What the last block of an exact sum does with the words of all. */
struct exact_result {
    void *out; /* where the result is to stay; NULL: the words are what is left */
    enum element out_type;
    enum exact_rounding rounding;
    struct exact_span span;
    struct finish finish; /* whose initial value KERNEL_EXACT_FINISH alone adds */
};

enum { EXACT_ALONG_THREADS = 256 }; /* of a block, at most */

/* Exact sums along axes as a kernel's argument. */
struct kernel_exact_along {
    const void *data;
    uint64_t n, results; /* elements of a result, and results */
    int64_t step;        /* bytes from one of its elements to the next */
    unsigned splits;     /* blocks that share one, or share neighbours */
    unsigned lanes;      /* of columns: so many neighbours, as an exponent */
    bool leaves_out, watches;
    unsigned *tickets; /* of those that share: counters, and words; 0 before a launch */
    void *words;

    /* Outer dimensions, in which results differ, outermost first: bytes between neighbours'
     * elements, and between their places after exact_result's `out`, of which the first's is
     * `output_offset`. */
    unsigned outer;
    int64_t output_offset;
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], output_strides[DIMENSIONS_MAX];
    struct exact_result result;
};

/* ---- by key ---- */

/* Threads of a block, as an exponent, and elements that each loads at a time; elements that are
 * looked at beforehand, and how many of these have one key where there are keys that many have. */
enum { KEYS_BLOCK = 10, KEYS_AHEAD = 4, KEYS_SAMPLE = 1024, KEYS_HOT = 16 };

/* A number did not fit into the digits: beside FOUND_ bits. */
enum { KEYS_BEYOND = 1 << 16 };

struct keys_found {
    unsigned bits;
    int lowest; /* the exponent of what the digits count */
};

/* Elements and their keys, one after the other. */
struct keyed_elements {
    const void *keys, *data;
    enum element key_type, input;
    unsigned key_bytes, bytes; /* of one, as exponents */
    uint64_t n, width;         /* elements, and how many neighbours have one key */
    bool aligned;              /* both arrays, so that a load may take neighbours */
};

/* What is made of a key's elements: how many take part, and a sum, which is an integer of 32-bit
 * digits, in two's complement, times 2^lowest; or an extreme. */
struct keyed_sums {
    unsigned digits;    /* 0: there are no sums; elements that are not 0 are counted */
    unsigned limit;     /* bits that a number may have above 2^lowest; 0: any number fits */
    int lowest;         /* the exponent of the last bit that any number of the type may have */
    bool whole;         /* the digits begin there, and are for all numbers; else for a sample's */
    bool counts;        /* elements that take part are counted */
    bool leaves_out;    /* NaN */
    bool wraps;         /* results are the low bytes of integers */
    bool least;         /* of extremes: these are the least, else the greatest */
    unsigned out_bytes; /* of a result */
};

/* Words of a block's shared memory, counts of a digit's values first; and of global memory for each
 * pass, where blocks select together. */
enum {
    SHARES_MOST = 16,
    SELECT_DIGITS = 256,
    SELECT_WORDS = SELECT_DIGITS + 4 + 2,
    SELECT_PASS_WORDS = SELECT_DIGITS + 8 /* whole sectors of 32 bytes */
};

/* Elements of a row that one thread sorts, at most, of so many bytes, and threads of a block that
 * do so ("sorted" in benchmarks/tuning/selection.json). */
#define SELECT_SORTED(bytes) ((bytes) > 4 ? 64u : 128u)
enum { SELECT_SORTERS = 128 };

/* Quantiles of rows as a kernel's argument: number k of row r goes to number k * rows + r. Elements
 * lie as in an array of shape (rows / inner, n, inner). */
struct kernel_select {
    struct quantiles of; /* but for the shares */
    double shares[SHARES_MOST];
    struct quantile_place places[SHARES_MOST]; /* of rows whose elements all take part */
    const void *values;
    uint64_t rows, n, inner; /* inner is 1 unless threads sort rows */
    unsigned *passes; /* zeros, for SELECT_PASSES of them a row; NULL: a block selects in a row by
                       * itself */
    void *out;
    unsigned out_bytes; /* of a quantile */
};

static inline bool select_sorts(const struct kernel_select *self)
{
    return !self->of.sorted && self->n <= SELECT_SORTED(element_size(self->of.input));
}

/* Of each quantile's two ranks a pass a byte and one more, and one for NaNs. */
#define SELECT_PASSES(shares, element) (2 * (shares) * ((element) + 1) + 1)

/* Exact sums by key as a kernel's argument. Blocks add in tables in shared memory, of a slot for
 * each result or for those that come first, and then all together, in words of 64 bits: one for
 * each digit but the topmost, which takes up carries and is the last word's upper half. */
struct kernel_keys {
    struct keyed_elements of;
    struct keyed_sums sums;
    uint64_t keys_end, results;
    unsigned slots;   /* of a table, a power of two; or as many as results */
    unsigned outside; /* what is to be said where a key is no result's */

    /* In words, how far apart a result's are, the lowest first, its count last, and neighbours'. */
    uint64_t word_step, result_step;
    unsigned long long *words;
    unsigned *notes; /* of each result: which numbers were not finite, bits */
    struct keys_found *found;
};
