/* The host's loops: one table per instruction set. Entries look up loops by type; NULL: none. */
#pragma once

#include "common/arithmetic.h"
#include "common/exact.h"
#include "common/quantile.h"
#include "common/reduction.h"

/* ---- moving elements ---- */

/* A strided matrix of elements. */
struct tile {
    const char *at;
    const unsigned char *mask; /* NULL: no mask */
    uint64_t rows, columns;
    int64_t row_stride, column_stride, mask_row_stride, mask_column_stride;
};

/* Copies a tile's elements to contiguous memory, in native byte order, and returns their number.
 * With a mask, the target must have room for the whole tile. */
typedef uint64_t move_tile(const struct tile *, char *target);

/* Replaces the masked ones of n elements by the identity. */
typedef void fill_masked(void *elements, uint64_t n, const unsigned char *mask,
                         const union scalar *neutral);

/* Converts n contiguous elements of any alignment. Source and target do not overlap. */
typedef void convert_elements(const char *from, uint64_t n, char *to);

enum { BYTES_PER_LOAD = 16 };

/* A bit per byte, the first byte's lowest: set if the byte is not 0. */
#ifdef __SSE2__

#include <emmintrin.h>

static inline unsigned bytes_to_bits(const unsigned char *bytes)
{
    const __m128i loaded = _mm_loadu_si128((const __m128i *)bytes);
    const __m128i zeros = _mm_cmpeq_epi8(loaded, _mm_setzero_si128());
    return ~(unsigned)_mm_movemask_epi8(zeros) & 0xffff;
}

#else

static inline unsigned bytes_to_bits(const unsigned char *bytes)
{
    unsigned bits = 0;
    for (unsigned k = 0; k < BYTES_PER_LOAD; k++)
        bits |= (unsigned)(bytes[k] != 0) << k;
    return bits;
}

#endif

/* ---- columns: adjacent results in the lanes of vector registers ---- */

/* The rows of all results are divided into 2^shift parts of nearly equal length; a slab has some of
 * them. The parts, and so the bits of sums, do not depend on how results are divided into slabs. */
struct slab_parts {
    uint64_t n; /* total rows */
    unsigned shift;
};

enum {
    SLAB_COLUMNS = 1024,       /* at most; half as many complex ones */
    SLAB_COLUMNS_SHORT = 4096, /* the same if there is only one part */
    SLAB_PART_ROWS = 16,       /* at most */
    SLAB_PARTS = 128,          /* at most */
    SLAB_PARTS_NARROW = 16,    /* the same for one-byte elements with positions */
};

static inline struct slab_parts slab_parts_of(uint64_t n)
{
    struct slab_parts parts = {n, 0};
    while ((n - 1) >> parts.shift >= SLAB_PART_ROWS)
        parts.shift++;
    return parts;
}

/* The first row of a part. */
static inline uint64_t slab_row(struct slab_parts parts, uint64_t part)
{
    return (uint64_t)((unsigned __int128)parts.n * part >> parts.shift);
}

/* Blocks of adjacent columns, each a result. The columns of a block are contiguous in each row. */
struct slab {
    const char *at;           /* first row of the first part */
    uint64_t blocks, columns; /* at least 1 each */
    struct slab_parts all;
    uint64_t first, count; /* parts; `count` is a power of 2 */
    uint64_t folded;       /* adjacent rows treated as one, which `columns` includes */
    uint64_t before;       /* rows before all parts, for positions */
    bool finishes;         /* states are final: sums start from 0 as in NumPy, and are never -0 */
    double divisor;        /* for floats that are finished; 0: none */
    int64_t block_stride, row_stride;
    const char *end;            /* memory is readable up to here */
    const unsigned char *valid; /* loops with a mask: a byte per element, row by row */
    void *room;                 /* slab_workspace bytes, cache-line aligned */
};

/* A loop that folds a slab to a state per result, in the order of blocks and columns. The loops of
 * kernels/cpu/ extend this struct. */
struct slab_loop {
    void (*fold)(const struct slab_loop *, const struct slab *, void *states);
    size_t bytes;         /* the lanes of a group of columns */
    unsigned step, parts; /* columns per group, and per result */
    bool is_tree;         /* the parts' states merge as a tree */
};

/* Bytes of workspace for a slab of that many results and parts (a power of 2). A tree needs a state
 * per level for each group of columns. */
static inline size_t slab_workspace(const struct slab_loop *loop, uint64_t results, uint64_t parts)
{
    const uint64_t groups = results * loop->parts / loop->step + 2;
    return groups * loop->bytes * (loop->is_tree ? ceil_log2(parts) + 1 : 1);
}

/* Copies a tile's elements like move_tile, but reads it by columns, which are closer together in
 * memory than rows. Memory is readable up to `end`. */
typedef void transpose_tile(const struct tile *, const char *end, char *target);

/* ---- dot products ---- */

/* Sums of products: integers modulo 2^64, floats in float64. For complex numbers: products of like
 * parts (real by real, imaginary by imaginary) and of unlike parts, indexed by the first factor's
 * part. Real numbers use only same[0]. */
union dotted {
    uint64_t integer;
    struct {
        double same[2], crossed[2];
    } parts;
};

/* 1 to CHUNK_MAX elements. Floats are added pairwise, as a tree. */
typedef void dot_elements(const void *a, const void *b, size_t n, union dotted *);

/* ---- dot products of many results ---- */

/* A float sum is high + low. For each addition, the error of low is less than an ulp of `taken`,
 * the sum of the addends' magnitudes; unless sums are exact, low may be 0. Integers use only
 * `integer`, modulo 2^64. */
struct dot_sum {
    double high, low, taken;
    uint64_t integer;
};

enum { DOT_COLUMNS = 256 };

/* n factors per result. In rows, the factors of a result are contiguous and results are `step`
 * bytes apart; in columns, which are at most DOT_COLUMNS, results are adjacent and a result's
 * factors are `step` bytes apart. */
struct dot_slab {
    const void *a, *b;
    int64_t step_a, step_b;
    size_t n, results;
};

/* Adds 1 to CHUNK_MAX products to each sum. */
typedef void add_dot_slab(const struct dot_slab *, struct dot_sum *);

/* ---- quantiles ---- */

/* Element i of result b of block a: `at` + a * outer_stride + i * stride + b * inner_stride. */
struct selection {
    struct quantiles of;
    const char *at;
    uint64_t outer, n, inner;
    int64_t outer_stride, stride, inner_stride;
    char *out; /* quantile k of result r has index k * results + r */
};

/* One result. `numbers` counts its elements, without NaNs if these are skipped. `keys` receives the
 * keys of both ranks of each quantile: rank k belongs to quantile k / 2. */
struct selected {
    uint64_t result, numbers;
    char *keys;
};

/* Counts of a part of a long result's elements: below the bracket, kept, and NaNs. */
struct selection_part {
    uint64_t less, kept, nans;
};

enum { SELECTION_PART = 1 << 13 };

/* Sorts the columns of n rows of SORTED_ROW bytes of unsigned integers. */
typedef void sort_columns(void *keys, uint64_t n);

enum {
    SORTED_ROW = 128,
    SORTED_MAX = 512 /* keys per result */
};

/* ---- the table ---- */

struct cpu_kernels {
    /* Contiguous elements, folded in the accumulator. */
    fold_values *(*values)(enum fold, enum element input, enum element accumulator);

    /* Adjacent results, folded in the accumulator. Results instead of states if the accumulator is
     * a narrow element's own type, or ELEMENT_BOOL for extremes of truth values. `few`: at most
     * SLAB_PART_ROWS rows, where complex numbers without a vectorized loop have a state each.
     * `masked`: takes a mask. */
    const struct slab_loop *(*columns)(enum fold, enum element input, enum element accumulator,
                                       bool few, bool masked);

    transpose_tile *(*transpose)(size_t size);

    /* For elements of `size` bytes, swapping the bytes of each `part` of them; 1: no swap. */
    move_tile *(*move)(size_t size, size_t part, bool masked);

    fill_masked *(*fill)(size_t size);

    /* Converts to `type`, and then to its accumulator. */
    convert_elements *(*convert)(enum element input, enum element type);

    dot_elements *(*dot)(enum element);

    /* float32 and float64, in rows or columns, exact or not; 64-bit integers in rows. */
    add_dot_slab *(*dot_slabs)(enum element, bool columns, bool exactly);

    /* Exact sums of real floats with a number of windows, skipping NaNs or not. */
    window_values *(*windows)(enum element, unsigned windows, bool skips_nan);
    window_products *(*product_windows)(enum element, unsigned windows);

    /* Always report rounding on processors whose inexact flag cannot be read. */
    unrounded_values *(*unrounded_sums)(enum element, bool skips_nan);
    unrounded_columns *(*unrounded_column_sums)(enum element);

    /* Unsigned integers of `size` bytes. */
    sort_columns *(*sort)(size_t size);
};

#define CPU_KERNELS_OF(instructions) cpu_kernels_##instructions
#define CPU_KERNELS(instructions)    CPU_KERNELS_OF(instructions)

#ifdef __cplusplus
extern "C" {
#endif

#define DECLARE_CPU_KERNELS(name) extern const struct cpu_kernels CPU_KERNELS(name);
INSTRUCTION_SETS(DECLARE_CPU_KERNELS)
#undef DECLARE_CPU_KERNELS

const struct cpu_kernels *cpu_kernels(enum instructions);

/* Selects one result's quantiles. The workspace holds twice its keys and those of its ranks; only
 * the latter if the elements are sorted. */
void select_quantiles(const struct selection *, uint64_t result, char *workspace);

/* The same for `count` results of at most SORTED_MAX elements each, from `first` on: at most as
 * many as a row of keys has. The workspace holds these rows. */
void select_quantiles_few(const struct selection *, sort_columns *, uint64_t first, uint64_t count,
                          char *workspace);

/* The same for one long result, in parts of SELECTION_PART elements. `kept` holds all of its keys
 * and those of its ranks. `filter` calls selection_filter for each part and joins the kept keys. */
typedef struct selection_part filter_parts(void *context, const uint64_t bracket[2]);
void select_quantiles_long(const struct selection *, const struct selected *, char *kept,
                           filter_parts *filter, void *context);

/* Keeps the keys of a part that are within a bracket. The workspace has room for as many. */
struct selection_part selection_filter(const struct selection *, const struct selected *,
                                       uint64_t part, const uint64_t bracket[2], char *kept,
                                       char *workspace);

#ifdef __cplusplus
}
#endif
