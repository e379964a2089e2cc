/* The kernels' addresses, as the host's C code finds them. There are two sets: nvcc's for a GPU, to
 * be launched through the CUDA runtime, and the host compiler's for the simulated device, of type
 * void(void **arguments). */
#pragma once

#include "common/layout.h"
#include "common/method.h"
#include "common/reduction.h"
#include "common/segments.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes of the kernel that only reads: how many 16-byte loads a thread has in flight. */
enum { READ_SHAPES = 3 };

/* The ring of rung 23: stages, each with a barrier. */
enum { RING_STAGES = 2, RING_STAGE_BYTES = 16 << 10, RING_BARRIER_BYTES = 8 };

/* A library's own reduction: with `workspace` NULL it only says in *workspace_bytes how much it
 * needs. Returns a cudaError_t. */
typedef int library_reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result,
                           int64_t n, void *stream);

/* An array as a kernel's argument, if its elements lie one after the other. Kernels that do not
 * ask for positions take the pointer alone, which comes first. */
struct kernel_array {
    const void *at; /* device memory */
    uint64_t base;  /* what a position is counted from in the whole array */
};

/* So many bytes of values a thread takes in at a time from an array that is not flat. */
enum { SLOTS_BYTES = 64 };

/* Neighbouring results that a thread makes side by side, and how many elements of each it reads at
 * once. */
enum { COLUMNS_A_THREAD = 4, ROWS_AT_ONCE = 4 };

/* Results of up to so many bytes a thread stores side by side. */
enum { STORED_TOGETHER = 32 };

/* Of columns whose type is known a thread makes as many as COLUMN_BYTES have, in blocks of up to
 * COLUMNS_BLOCK that leave each other COLUMNS_SHARED bytes; it takes in ROWS_AHEAD rows at a time,
 * and its block ROWS_A_BLOCK at most: so many that what 32 bits hold suffices for sums of squares
 * of bytes, and for a row's number beside a byte. */
enum {
    COLUMN_BYTES = 16,
    COLUMNS_BLOCK = 1024,
    COLUMNS_SHARED = 48 << 10,
    ROWS_AHEAD = 4,
    ROWS_A_BLOCK = 1 << 16
};

/* A thread that makes columns alone has so many loads under way, of one load's columns or of up to
 * so many loads' of fewer rows. */
enum { LONE_LOADS = 8, LONE_PACKS = 4 };

/* Threads of a multiprocessor that have registers for that: of states and of elements of so many
 * bytes. */
#define COLUMNS_THREADS(state, element) ((state) > 8 ? 512 : (element) > 1 ? 1024 : 768)

/* The same of threads that make columns alone, in small blocks, of up to LONE_BLOCK. */
#define LONE_THREADS(state, element)                                                               \
    ((state) > LONE_SMALL || (element) < 2 ? 512 : (element) < 4 ? 704 : 768)
enum { LONE_SMALL = 8, LONE_BLOCK = 256 };

/* Rows that a thread reads before it waits for any: what is made of a large state takes long enough
 * that more is to be on its way meanwhile, but spreads of halves take all registers. */
#define COLUMNS_AHEAD(state, element)                                                              \
    ((state) > 8 && ((state) <= 16 || (element) != 2) ? 2 * ROWS_AHEAD : ROWS_AHEAD)

/* What splits have left of columns a thread reads so many of at a time. */
#define COLUMNS_PARTIALS(state) ((state) > 8 ? 6 : 16)

/* Bytes that one of two threads leaves the other: states, or of bytes up to two words each and how
 * many rows they are of. */
#define COLUMNS_LEFT(state, element)                                                               \
    ((element) > 1  ? COLUMN_BYTES / (element) * (state)                                           \
     : (state) > 16 ? 8 * COLUMN_BYTES + 4                                                         \
                    : 4 * COLUMN_BYTES + 4)

/* Results of states of up to so many bytes a thread that makes several columns alone stores one by
 * one. */
enum { STORED_APART = 16 };

/* Of blocks that take long rows of a known type: threads at most, as an exponent. A thread waits
 * for LONG_ROWS_PACKS loads of 16 bytes at a time, and a multiprocessor has room for
 * LONG_ROWS_RESIDENT blocks, of states and of elements of so many bytes: no more than leave a
 * thread registers for all of these loads, or they would be made one after the other. Of every
 * second element twice as many are. */
enum { LONG_ROWS_BLOCK = 8, LONG_ROWS_SMALL = 8 };
#define LONG_ROWS_PACKS(state, element) ((state) > LONG_ROWS_SMALL && (element) > 1 ? 8 : 4)
#define LONG_ROWS_RESIDENT(state, element, apart)                                                  \
    ((state) <= LONG_ROWS_SMALL ? ((element) > 1 ? 4 : 3)                                          \
     : (element) > 1 || (apart) ? 2                                                                \
     : (state) > 16             ? 4                                                                \
                                : 3)

/* Of a row in shared memory one load takes up to 2^ROW_LOAD_MAX elements. */
enum { ROW_LOAD_MAX = 2 };

/* Threads of a block that makes short rows of a known type, as an exponent, at most. */
enum { SHORT_ROWS_BLOCK = 8 };

/* A thread that loads several rows at once makes so many results at most, of so many bytes of
 * elements. */
enum { ROWS_IN_REGISTERS = 16, BYTES_IN_REGISTERS = 64 };

/* How rows of an array that is not flat are read: in stretches, by groups of threads. Powers of two
 * are said by their exponents. */
struct kernel_stretches {
    uint64_t base;
    uint64_t stretches, items; /* of a row, and of all */
    unsigned stretch;          /* elements of one */
    unsigned lanes;            /* threads of a group */
    unsigned run;              /* neighbours that one load takes, where it is aligned */
    unsigned packing;          /* neighbours that one slot takes */
    unsigned bytes;            /* of an element */
    bool aligns;               /* a row's first stretch begins in front of it, where a run would */

    /* To which folds that make means add what a mask lets through; NULL: not asked for. */
    unsigned long long *counted;
};

/* Such an array, in at least one dimension; rows_describe fills in how. */
struct kernel_rows {
    struct layout from;
    struct kernel_stretches how;
};

/* Where many results go, and what they are made with. */
struct kernel_results {
    void *at[ANSWER_VALUES]; /* value by value, one after the other, in device memory */
    unsigned values;         /* of a result */
    unsigned char types[ANSWER_VALUES], bytes[ANSWER_VALUES];
    enum reduction reduction;
    enum fold fold;
    enum nothing nothing;
    struct finish finish; /* the count is every result's, unless a mask says otherwise */
    bool at_once;         /* a result is the state, or that divided, and of its type or such that
                           * nothing is lost by way of it */
    double divisor;       /* of such a result; 0: it is not divided */
    unsigned *findings;   /* bits are added here; NULL: not asked for */
    const struct complex128 *means; /* what spreads are about; NULL: each its own mean */
};

/* A reduction along axes as a kernel's argument; plan/axes_schedule.h makes it. */
struct kernel_axes {
    struct kernel_stretches rows;
    uint64_t results;
    unsigned block;   /* threads of one, as an exponent */
    unsigned team;    /* so many threads fold one, said by the exponent */
    bool abreast;     /* neighbouring threads are of different teams */
    bool counts;      /* what a mask lets through is counted */
    uint64_t staged;  /* bytes of a row, where rows lie one after the other and a block brings its
                       * own to shared memory; 0: they are read as they lie */
    unsigned rounds;  /* and a team makes so many results, one after the other */
    unsigned load;    /* elements of such a row, or neighbouring columns, that one load takes, as an
                       * exponent */
    unsigned packing; /* elements of such a row that one word takes, as an exponent: loads are of
                       * words */
    unsigned several; /* elements of a row, where one load takes several rows; 0: see staged */
    unsigned turned;  /* pack number k that is staged, of 16 bytes, lies where number */
    unsigned turns;   /* k ^ (k >> turns & turned) would */
    unsigned unit;    /* bytes that lie together, where rows that are staged or their elements lie
                       * apart; 0: they lie one after the other */
    unsigned inner;   /* neighbouring columns to a result */
    unsigned step;    /* neighbours, in a row or among columns, of which one counts, where kernels
                       * that know its type read them all: 1 or 2 */

    /* Of columns whose type is known. */
    unsigned repeats;  /* neighbouring rows that are taken for one; with one dimension kept only */
    unsigned leftover; /* and those after the last of these */
    unsigned neighbours; /* splits whose last folds what they have left, before that of all does */
    uint64_t packs;      /* of COLUMN_BYTES, in the last dimension that is kept */
    bool shifted;        /* they are not at boundaries */
    bool usual;          /* results are of usual types: nobody asks for more than these hold */
    bool stores_packs;   /* what a thread makes are results, which are neighbours */
    bool stores_usual;   /* and of usual types, where every second column counts */
    unsigned lone;       /* loads' columns that a thread makes alone, of usual types; 0: see team */
    bool paired;         /* each of these has two rows, of 8 bytes */

    /* Of long rows whose type is known. */
    unsigned readers; /* threads, of one block or of several, that share one */
    bool stacked;     /* they are whole packs, one a reader, and lie at one distance */

    uint64_t splits; /* blocks that share a result */
    unsigned kept;   /* dimensions that results differ in; see struct axes */
    int64_t first;
    struct kernel_results result;

    /* Where the kernel is not the one of any dimensions. */
    struct layout_of_few from; /* what is reduced, of the first result */
    uint64_t shape[DIMENSIONS_FEW];
    int64_t strides[DIMENSIONS_FEW], mask_strides[DIMENSIONS_FEW], places[DIMENSIONS_FEW];
};

/* The same of any dimensions, of which what is reduced and what is kept have no more than an array:
 * in `from`, those that are kept come after its own. */
struct kernel_axes_of_any {
    struct kernel_axes of_few;
    struct layout from;
    int64_t places[DIMENSIONS_MAX];
};

/* What the survey of offsets finds out: bits. */
enum { ORDER_BROKEN = 1 /* they do not rise, or leave the array */ };

/* Ends of segments that a block of the survey looks at; 8 bytes of shared memory each. */
enum { SURVEYED = 1024 };

/* Where a block's threads scan a tile: bytes of it that each takes, and before all of them what
 * each marks, what warps leave each other, and a barrier. */
enum { SCANNED_BYTES = 112, SCAN_MARKS = 4, SCAN_OF_WARPS = 256, SCAN_BARRIER = 16 };

/* A reduction of segments as a kernel's argument; plan/segments_schedule.h makes it.
 *
 * Of offsets that rise, elements and ends of segments are one sequence: each end comes after its
 * segment's elements. A tile is so many of that sequence, however long its segments are. */
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
struct ending {
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
    bool mean;
    struct finish finish; /* without an initial value */
};

enum { EXACT_ALONG_THREADS = 256 }; /* of a block, at most */

/* Exact sums along axes as a kernel's argument; plan/exact_along.h makes it. */
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

/* Kernels of a method take (array, n, partials[, tickets[, ending]]): n elements of the array to
 * states; those whose last block folds take an ending. NULL stands for what is not compiled. */
struct kernels {
    /* From elements of type `input`, each converted to the accumulator. */
    const void *(*flat)(enum fold fold, enum method_index method, enum element input,
                        enum element accumulator, unsigned block);

    /* From rows of elements of type `input`, masked or not, each converted to the accumulator: of
     * the widest and float32 only, and only where none is rounded or cut. */
    const void *(*strided)(enum fold fold, enum method_index method, enum element input,
                           enum element accumulator);

    /* Along axes, of the same elements: (kernel_axes, partials, counts, tickets). One for all,
     * which takes a kernel_axes_of_any; one for few elements each, without splits and with teams
     * within a warp; and one that makes COLUMNS_A_THREAD neighbouring results at a time, of folds
     * on the ladder. */
    const void *(*along)(enum fold fold, enum element input, enum element accumulator);
    const void *(*few)(enum fold fold, enum element input, enum element accumulator);
    const void *(*columns)(enum fold fold, enum element input, enum element accumulator);

    /* The same arguments, of elements of the very type `input`: columns, of which a thread makes as
     * many as a load of 16 bytes takes; those that it makes alone; rows whose elements are
     * neighbours; and short ones of these that lie one after the other. `apart`: every second
     * column; rows of every second element; and short rows that lie apart, or whose elements do.
     */
    const void *(*typed_columns)(enum fold fold, enum element input, enum element accumulator,
                                 bool apart);
    const void *(*lone_columns)(enum fold fold, enum element input, enum element accumulator);
    const void *(*typed_rows)(enum fold fold, enum element input, enum element accumulator,
                              bool apart);
    const void *(*typed_short_rows)(enum fold fold, enum element input, enum element accumulator,
                                    bool apart);

    /* Of segments, of the same elements. The survey (kernel_segments) looks at offsets and finds
     * tiles' beginnings. Then (kernel_segments, heads, tails) has segments that lie in one tile
     * folded, and of others what lies in a tile, and once more what these become, or, where offsets
     * do not rise or nobody has looked, all segments one by one. Those two may follow: they were
     * compiled to wait for the launch before them. Tiles have elements `as_they_lie`, or what these
     * become. */
    bool (*segments_follow)(void);
    const void *(*survey)(void);
    const void *(*tiles)(enum fold fold, enum element input, enum element accumulator,
                         bool as_they_lie);
    const void *(*segments)(enum fold fold, enum element input, enum element accumulator);

    /* Merges states that lie one after the other: (states, n, partials, tickets, ending,
     * fold, accumulator). On the ladder the method's own kernel of flat arrays does it. */
    const void *(*merge)(void);

    /* A library's own function, of flat arrays only. */
    library_reduce *(*reducer)(enum fold fold, enum element input, enum element accumulator);

    /* Copies: of elements of type `input`, and of a layout of any type into one of the widest
     * accumulators. Arguments (array, n, target), and for a layout (..., accumulator, hidden,
     * shown, first): from position `first` on; `hidden`, a union scalar, goes where a mask hides an
     * element, and there is 0 in `shown` then, else 1; it may be null. */
    const void *(*copy_flat)(enum element input, enum element accumulator);
    const void *(*copy_gathered)(void);

    /* Arguments (state, reduction, struct finish, counted, type of out, out, ending), for one
     * thread. `counted` is the device's own count of what took part, null where finish.count says
     * it. What is posted is that the state is no longer needed. */
    const void *(*finish)(void);

    /* Stores values that lie one after the other in all of a layout, converted: arguments (values,
     * their type, bytes of one, n, layout). */
    const void *(*store)(void);

    /* Exact sums: of a flat array of a type, of the words that pieces have left, and one warp
     * that makes the result of words. Arguments as above, and then (fold, accumulator, watches,
     * exact_result, factors) and (accumulator); `watches` asks for whether there is anything but
     * -0. Only products have factors. */
    const void *(*exact_flat)(enum element input);
    const void *(*exact_merge)(enum element accumulator);
    const void *(*exact_finish)(void);

    /* All along axes, of the type's elements, which are aligned: (kernel_exact_along). Rows, whose
     * elements lie one after the other, by blocks; and any, by threads, without watching. */
    const void *(*exact_rows)(enum element input);
    const void *(*exact_columns)(enum element input);

    /* Exact sums of products, of the same kind: of two flat arrays of a type, or of one and itself;
     * of floats and complex numbers, and of any types that hold 64-bit integers by one kernel.
     * Arguments as of exact_flat, and then (type, factors' type), which only the kernel of integers
     * takes. */
    const void *(*exact_products)(enum element input);
    const void *(*exact_products_merge)(enum fold fold, enum element accumulator);
    const void *(*exact_products_finish)(void);

    /* The same in an accumulator's arithmetic, of any type; what states are, FOLD_sum's are. */
    const void *(*dot)(enum element input, enum element accumulator);

    /* Counts what a mask lets through: arguments (layout, n, counted). */
    const void *(*count)(void);

    /* Makes 8 n bytes of a mask from n bytes of its bits: arguments (bits, n, mask). */
    const void *(*unpack)(void);

    /* Reads and does nothing else: arguments (data, n in 16-byte packs, sink). */
    const void *(*read)(unsigned shape);
};

extern const struct kernels kernels_cuda, kernels_simulated;

/* For the simulated device, as kernels.flat: the same kernels, which tell what they access. NULL
 * but for sums by rungs that all GPUs have, of the types that these are compiled for. */
const void *counting_flat(enum fold fold, enum method_index method, enum element input,
                          enum element accumulator, unsigned block);

#ifdef __cplusplus
}
#endif
