/* Kernel arguments, and the constants that kernels and their planner share. */
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

/* The ring of rung 23: stages of shared memory, each with a barrier. */
enum { RING_STAGES = 2, RING_STAGE_BYTES = 16 << 10, RING_BARRIER_BYTES = 8 };

/* A contiguous array as a kernel argument. Kernels without positions take only the first member. */
struct kernel_array {
    const void *at; /* device memory */
    uint64_t base;  /* position of the first element in the whole array */
};

/* Bytes of values that a thread loads at a time from an array that is not contiguous. */
enum { SLOTS_BYTES = 64 };

/* Most bytes of adjacent results that a thread stores together. */
enum { STORE_BYTES_MAX = 32 };

/* The typed column kernel. A thread folds the COLUMN_BYTES / sizeof(element) columns of one
 * vectorized load, in blocks of up to COLUMNS_BLOCK threads that use up to COLUMNS_SHARED bytes of
 * shared memory. It prefetches ROWS_AHEAD rows, and a block takes at most ROWS_PER_BLOCK rows: 32
 * bits hold the sum of squares of that many bytes. */
enum {
    COLUMN_BYTES = 16,
    COLUMNS_BLOCK = 256,
    COLUMNS_SHARED = 48 << 10,
    ROWS_AHEAD = 4,
    ROWS_PER_BLOCK = 1 << 16
};

/* The unsplit column kernel: loads in flight per thread, and the most loads' columns per thread. */
enum { UNSPLIT_LOADS = 8, UNSPLIT_PACKS = 4 };

/* Resident threads per multiprocessor that registers allow in the typed column kernel. */
#define COLUMNS_THREADS(state, element) ((state) > 8 ? 512 : (element) > 1 ? 1024 : 768)

/* The same for the unsplit column kernel, in blocks of up to UNSPLIT_BLOCK threads. */
#define UNSPLIT_THREADS(state, element)                                                            \
    ((state) > UNSPLIT_SMALL || (element) < 2 ? 512 : (element) < 4 ? 704 : 768)
enum { UNSPLIT_SMALL = 8, UNSPLIT_BLOCK = 256 };

/* Rows in flight per thread. Large states take longer to update, so more loads are prefetched. */
#define COLUMNS_AHEAD(state) ((state) > 8 ? 2 * ROWS_AHEAD : ROWS_AHEAD)

/* Partial results of a column that a thread loads at a time when it merges splits. */
#define COLUMNS_PARTIALS(state) ((state) > 8 ? 6 : 16)

/* Bytes that one of two merging threads passes to the other: a state per column. Accumulators that
 * are words of bytes need no more. */
#define COLUMNS_MERGE_BYTES(state, element) (COLUMN_BYTES / (element) * (state))

/* The long-row kernel: log2 of the largest block; 16-byte loads in flight per thread, twice as many
 * when every second element is used; and resident blocks per multiprocessor, by registers. */
enum { LONG_ROWS_BLOCK = 8, LONG_ROWS_SMALL = 8 };
#define LONG_ROWS_PACKS(state, element) ((state) > LONG_ROWS_SMALL && (element) > 1 ? 8 : 4)
#define LONG_ROWS_RESIDENT(state, element, apart)                                                  \
    ((state) <= LONG_ROWS_SMALL ? ((element) > 1 ? 4 : 3)                                          \
     : (element) > 1 || (apart) ? 2                                                                \
     : (state) > 16             ? 4                                                                \
                                : 3)

/* The short-row kernel: log2 of the largest block. */
enum { SHORT_ROWS_BLOCK = 8 };

/* The strided and batch-invariant kernels: log2 of the largest block; loads of up to 8 bytes in
 * flight per thread; and the most adjacent results per block when it is batch invariant and a
 * thread folds several shares of a result. */
enum { STRIDED_BLOCK = 8, STRIDED_LOADS = 8, INVARIANT_LANES = 32 };

/* Most rows, and bytes, that a thread folds in registers when one load takes several rows. */
enum { ROWS_IN_REGISTERS = 16, BYTES_IN_REGISTERS = 64 };

/* How the rows of an array that is not contiguous are read: a group of threads takes a stretch of a
 * row at a time. Sizes are log2. */
struct kernel_stretches {
    uint64_t items, base;
    uint64_t stretches; /* per row; `items` counts the stretches of all rows */
    unsigned stretch;   /* elements per stretch */
    unsigned lanes;     /* threads per group */
    unsigned run;       /* adjacent elements that one aligned load takes */
    unsigned packing;   /* adjacent elements that one slot holds */
    unsigned bytes;     /* per element */
    bool aligns;        /* a row's first stretch is moved back to an aligned run */

    /* Counter of unmasked elements, for folds that compute means; NULL: not needed. */
    unsigned long long *counted;
};

/* An array that is not contiguous, of at least one dimension; rows_describe fills in `how`. */
struct kernel_rows {
    struct layout from;
    struct kernel_stretches how;
};

/* Bytes of a constant cache line, and the offset of kernel arguments in their first line. A small
 * call waits for each line that it reads. */
enum { CONSTANT_LINE = 64, ARGUMENTS_BEGIN = 16 };

/* Where a launch stores its results, and how they are finished. */
struct kernel_results {
    unsigned *findings;             /* FOUND_ bits are ORed into it; NULL: not needed */
    const struct complex128 *means; /* for variances about given means, one per result; else NULL */
    unsigned values;                /* per result */
    enum nothing nothing;
    bool stores_directly; /* see epilogue_stores_directly */

    /* Typed kernels find extremes as minima of signed numbers. `inverted`: the bits to invert in
     * every 8 bytes of elements; `value_inverted`: the same for the value found; `value_bits`: a
     * mask. */
    alignas(ARGUMENTS_BEGIN) uint64_t inverted;
    uint64_t value_inverted, value_bits;
    double divisor; /* of a result that is stored immediately; 0: none */
    enum reduction reduction;
    enum fold fold;
    unsigned char types[ANSWER_VALUES], bytes[ANSWER_VALUES];
    void *at[ANSWER_VALUES]; /* device memory; one contiguous array per value */
    struct finish finish;    /* its count is the same for all results unless there is a mask */
};

/* The outer dimensions, outermost first: byte strides of the array and of the mask, and strides of
 * the output in results. */
struct outer_dimensions {
    int64_t first; /* index of the first result in the output */
    unsigned count;
    int64_t strides[DIMENSIONS_SMALL], output_strides[DIMENSIONS_SMALL];
    uint64_t shape[DIMENSIONS_SMALL];
    int64_t mask_strides[DIMENSIONS_SMALL];
};

/* A tile of a list of arrays: contiguous elements of one array. A block takes the tile of its own
 * index and `more` tiles from `next` on. Several blocks may share a result. */
struct list_tile {
    const void *data;
    uint64_t n;
    uint64_t position; /* of the tile's first element */
    uint32_t next, more;

    uint64_t count;         /* elements of the result */
    uint32_t result;        /* its index */
    uint32_t first, blocks; /* first block that shares the result, and their number */
};

/* The words that one launch of KERNEL_WRITE stores. */
enum { WRITTEN_WORDS = 256 };
struct written_words {
    uint64_t at[WRITTEN_WORDS];
};

/* A reduction along axes as a kernel argument. */
struct kernel_axes {
    struct launch_config launch;
    uint64_t results;
    const struct list_tile *list; /* a tile per block, in place of rows of `from`; or NULL */
    struct kernel_stretches rows;
    int64_t lowest, end; /* byte offsets from `from` to the array's first element and end */

    /* The reduced dimensions of the first result. Unused by KERNEL_ALONG, which has its own. */
    alignas(ARGUMENTS_BEGIN) struct layout_small from;
    struct outer_dimensions outer; /* KERNEL_ALONG uses only `first` and `count` */
    bool counts;                   /* unmasked elements are counted */
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

/* The argument of KERNEL_ALONG. The reduced and outer dimensions together are at most
 * DIMENSIONS_MAX; `from` holds the reduced ones, followed by the outer ones. */
struct kernel_axes_any {
    struct kernel_axes of_few;
    struct layout from;
    int64_t output_strides[DIMENSIONS_MAX];
};

/* Flags that the survey of offsets sets. */
enum { OFFSETS_INVALID = 1 /* offsets decrease or are out of bounds */ };

/* Segment ends per block of the survey; each takes 8 bytes of shared memory. */
enum { SURVEY_BLOCK = 1024 };

/* The kernel that scans tiles of segments: bytes of the tile per thread. Shared memory before the
 * tile: bytes of marks per thread, of the warps' partial results, and of a barrier. */
enum { SCANNED_BYTES = 112, SCAN_MARKS = 4, SCAN_OF_WARPS = 256, SCAN_BARRIER = 16 };

/* A reduction of segments as a kernel argument. If offsets are non-decreasing, elements and segment
 * ends form one sequence, in which each end follows its segment's last element. A tile is a
 * contiguous part of that sequence. */
struct kernel_segments {
    struct segments of;
    const void *data;   /* contiguous elements */
    enum element input; /* their type */
    unsigned bytes;     /* log2 of an element's bytes */
    unsigned block;     /* log2 of the threads per block */
    unsigned team;      /* log2 of the threads that fold a segment */
    unsigned most;      /* elements or states a team folds; a block folds more */
    uint64_t tiles;
    unsigned tile;    /* elements and ends per tile */
    uint64_t *splits; /* the number of ends before each tile, and in all */
    unsigned *order;  /* the survey's flags; NULL: there was no survey */
    struct kernel_results result;
    struct scalar_wide empty_result; /* the result of an empty segment */
};

/* What the last block does with the final state. */
struct epilogue {
    /* Where the host waits: words of 8 bytes that both see, each of 4 bytes of the state and the
     * launch's tag. NULL: the host does not wait. */
    uint64_t *mailbox;
    uint32_t tag;

    /* Where to store the result, if it is the state or the state divided; NULL: nowhere. */
    void *out;
    double divisor; /* 0: no division */
};

/* What the last block of an exact sum does with the final words. */
struct exact_result {
    void *out; /* where to store the result; NULL: only the words are left */
    enum element out_type;
    enum exact_rounding rounding;
    struct exact_span span;
    struct finish finish; /* only KERNEL_EXACT_FINISH adds its initial value */
};

enum { EXACT_ALONG_THREADS = 256 }; /* largest block */

/* Exact sums along axes as a kernel argument. */
struct kernel_exact_along {
    const void *data;
    uint64_t n, results; /* elements per result, and results */
    int64_t step;        /* byte stride of the reduced dimension */
    unsigned splits;     /* blocks that share a result or a tile of adjacent results */
    unsigned lanes;      /* columns: log2 of the adjacent results per block */
    bool skips_nan, watches;
    unsigned *tickets; /* counters and words of shared results; 0 before a launch */
    void *words;

    /* The outer dimensions, outermost first: byte strides of the array and of the output.
     * `output_offset` is that of the first result from `result.out`, in bytes. */
    unsigned outer;
    int64_t output_offset;
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX], output_strides[DIMENSIONS_MAX];
    struct exact_result result;
};

/* ---- by key ---- */

/* log2 of the threads per block; elements that a thread loads at a time; elements that a block
 * samples, and the number of them with one key from which keys count as hot. */
enum { KEYS_BLOCK = 10, KEYS_PER_LOAD = 4, KEYS_SAMPLE = 1024, KEYS_HOT = 16 };

/* Added to FOUND_ bits: a number did not fit in the digits. */
enum { KEYS_OVERFLOW = 1 << 16 };

struct keys_found {
    unsigned bits;
    int lowest; /* exponent of the lowest digit */
};

/* Contiguous elements and their keys. */
struct keyed_elements {
    const void *keys, *data;
    enum element key_type, input;
    unsigned key_bytes, bytes; /* log2 of each one's bytes */
    uint64_t n, width;         /* elements, and adjacent elements per key */
    bool aligned;              /* both arrays are aligned for vectorized loads */
};

/* What is computed for each key: the number of elements, and a sum, an integer of 32-bit digits in
 * two's complement times 2^lowest; or an extreme. */
struct keyed_sums {
    unsigned digits; /* 0: no sums; nonzero elements are counted */
    unsigned limit;  /* bits of a number above 2^lowest that fit; 0: any number fits */
    int lowest;      /* exponent of the lowest bit of any number of the type */
    bool whole;      /* digits begin at `lowest` and hold any number; else a sample places them */
    bool counts;     /* elements are counted */
    bool skips_nan;  /* NaNs are skipped */
    bool wraps;      /* results are integers that wrap around */
    bool least;      /* extremes: the minimum, otherwise the maximum */
    unsigned out_bytes; /* per result */
};

/* Words of a block's shared memory, beginning with the histogram of a digit; and words of global
 * memory per pass, if all blocks share each row. */
enum {
    QUANTILES_MAX = 16,
    SELECT_DIGITS = 256,
    SELECT_WORDS = SELECT_DIGITS + 4 + 2,
    SELECT_PASS_WORDS = SELECT_DIGITS + 8 /* whole 32-byte sectors */
};

/* Most elements of a row that a single thread sorts, by their bytes, and threads per block that do
 * ("sorted" in benchmarks/tuning/selection.json). */
#define SELECT_SORTED(bytes) ((bytes) > 4 ? 64u : 128u)
enum { SELECT_SORTERS = 128 };

/* Quantiles of rows as a kernel argument: quantile k of row r is stored at index k * rows + r. The
 * array has shape (rows / inner, n, inner). */
struct kernel_select {
    struct quantiles of; /* except `shares` */
    double shares[QUANTILES_MAX];
    struct quantile_place places[QUANTILES_MAX]; /* of rows without NaNs to skip */
    const void *values;
    uint64_t rows, n, inner; /* inner is 1 unless threads sort rows */
    unsigned *passes;        /* zeros: SELECT_PASS_WORDS for each of SELECT_PASSES passes per row;
                              * NULL: each block has a row */
    void *out;
    unsigned out_bytes; /* per quantile */
};

static inline bool select_sorts(const struct kernel_select *self)
{
    return !self->of.sorted && self->n <= SELECT_SORTED(element_size(self->of.input));
}

/* Passes per row: one per byte and one more for each of a quantile's two ranks; one for NaNs. */
#define SELECT_PASSES(shares, element) (2 * (shares) * ((element) + 1) + 1)

/* Exact sums by key as a kernel argument. A block adds into a table in shared memory with a slot
 * per result or, if they do not fit, for the first results that claim one, and then adds the table
 * to the totals. A total has a 64-bit word per digit; the topmost digit takes up carries and is the
 * upper half of the last word. */
struct kernel_keys {
    struct keyed_elements of;
    struct keyed_sums sums;
    uint64_t keys_end, results;
    unsigned slots;   /* of a table: a power of two, or the number of results */
    unsigned outside; /* the FOUND_ bit to report for keys out of range */

    /* Distances in words between a result's words (lowest digit first, count last), and results. */
    uint64_t word_step, result_step;
    unsigned long long *words;
    unsigned *notes; /* one per result: bits that tell which non-finite numbers occurred */
    struct keys_found *found;
};
