/* The host's loops: one table of them for each set of instructions. Each entry looks a loop up by
 * types that are known when a call is made; NULL: there is none of these. */
#pragma once

#include "common/arithmetic.h"
#include "common/exact.h"
#include "common/quantile.h"
#include "common/reduction.h"

/* ---- moving elements ---- */

/* Rows of elements at equal distances. */
struct tile {
    const char *at;
    const unsigned char *mask; /* NULL: all elements take part */
    uint64_t rows, columns;
    int64_t row_stride, column_stride, mask_row_stride, mask_column_stride;
};

/* Writes a tile's elements one after the other, in this machine's byte order, and returns how many;
 * with a mask, there must be room for all of the tile. */
typedef uint64_t move_tile(const struct tile *, char *target);

/* What a mask, whose bytes lie at a distance, hides of n elements becomes the neutral element. */
typedef void fill_hidden(void *elements, uint64_t n, const unsigned char *mask, int64_t step,
                         const union scalar *neutral);

/* Converts n elements that lie one after the other, of any alignment, at a distance from where they
 * go. */
typedef void convert_elements(const char *from, uint64_t n, char *to);

enum { BYTES_AT_ONCE = 16 };

/* Of so many bytes, a bit each, the first the lowest: whether it is not 0. */
#ifdef __SSE2__

#include <emmintrin.h>

static inline unsigned bits_of_bytes(const unsigned char *bytes)
{
    const __m128i loaded = _mm_loadu_si128((const __m128i *)bytes);
    const __m128i zeros = _mm_cmpeq_epi8(loaded, _mm_setzero_si128());
    return ~(unsigned)_mm_movemask_epi8(zeros) & 0xffff;
}

#else

static inline unsigned bits_of_bytes(const unsigned char *bytes)
{
    unsigned bits = 0;
    for (unsigned k = 0; k < BYTES_AT_ONCE; k++)
        bits |= (unsigned)(bytes[k] != 0) << k;
    return bits;
}

#endif

/* ---- results side by side: a vector register holds as much of each of many ---- */

/* All rows of results are cut into 2^shift parts of nearly one length, of which a slab has some: so
 * what parts are, and the bits of sums, do not depend on how results are cut into slabs. */
struct slab_parts {
    uint64_t n; /* rows in all */
    unsigned shift;
};

enum {
    SLAB_COLUMNS = 1024,         /* at most, of complex numbers half as many, ... */
    SLAB_COLUMNS_OF_PART = 4096, /* and where there is only one part */
    SLAB_PART_ROWS = 16,         /* at most */
    SLAB_PARTS = 128,            /* at most, ... */
    SLAB_PARTS_OF_BYTES = 16,    /* and of elements of a byte where positions matter */
};

static inline struct slab_parts slab_parts_of(uint64_t n)
{
    struct slab_parts parts = {n, 0};
    while ((n - 1) >> parts.shift >= SLAB_PART_ROWS)
        parts.shift++;
    return parts;
}

/* A part's first row. */
static inline uint64_t slab_row(struct slab_parts parts, uint64_t part)
{
    return (uint64_t)((unsigned __int128)parts.n * part >> parts.shift);
}

/* Row `row` of the result in `column` of a block; a row's columns lie one after the other. */
struct slab {
    const char *at;           /* the first part's first row */
    uint64_t blocks, columns; /* 1 or more of each */
    struct slab_parts all;
    uint64_t first, count; /* parts; the latter is a power of 2 */
    uint64_t folded;       /* neighbouring rows that are taken for one, whose columns these are */
    uint64_t before;       /* rows before the first of all: positions count those, too */
    bool finishes;         /* states are results: NumPy's sums begin with 0, and so are never -0 */
    double divisor;        /* of those that are floats; 0: none */
    int64_t block_stride, row_stride;
    const char *end;            /* up to here memory may be read, whatever it means */
    const unsigned char *valid; /* of loops that take a mask: a byte for each element, row by row */
    void *room; /* slab_room's bytes, aligned to a cache line, for the loop's own use */
};

/* What folds a slab to a state for each result, in the order of blocks and columns: one of those of
 * kernels/cpu/, which know more of it. */
struct slab_loop {
    void (*fold)(const struct slab_loop *, const struct slab *, void *states);
    size_t bytes;         /* of the lanes of a group of columns */
    unsigned step, parts; /* columns of a group, and of a result */
    bool is_tree;         /* what parts have put away merges as a tree */
};

/* Bytes for slabs of up to so many results and parts, the latter a power of 2: of a tree, for as
 * many states of each group of columns as it has levels. */
static inline size_t slab_room(const struct slab_loop *loop, uint64_t results, uint64_t parts)
{
    const uint64_t groups = results * loop->parts / loop->step + 2;
    return groups * loop->bytes * (loop->is_tree ? exponent_up(parts) + 1 : 1);
}

/* Rows of n elements, at any distances, to columns. */
struct transposition {
    const char *at;
    uint64_t rows, n;
    int64_t row_stride, stride; /* the latter of a row's elements */
    const char *end;            /* as above */
};

/* Writes element k of row r at target + (k * columns + r) * size. */
typedef void transpose_rows(const struct transposition *, uint64_t columns, char *target);

/* ---- dot products ---- */

/* Sums of products: of integers modulo 2^64, and of floats in float64. Of complex numbers they are
 * products of parts of one kind, and of different kinds, apart by the first factor's; of real
 * numbers the first is all. */
union dotted {
    uint64_t integer;
    struct {
        double same[2], crossed[2];
    } parts;
};

/* Of 1 to LOOP_MOST elements. Floats are added as a tree. */
typedef void dot_elements(const void *a, const void *b, size_t n, union dotted *);

/* ---- dot products of many results ---- */

/* Of floats high + low. What low has lost is less than the last place of `taken`, the magnitudes of
 * all that was added to it, for each addition; unless it is exact, low may be 0. Of integers, which
 * are added modulo 2^64, `integer` alone. */
struct dot_sum {
    double high, low, taken;
    uint64_t integer;
};

enum { DOT_COLUMNS = 256 };

/* n factors of each of some results; of columns, of at most DOT_COLUMNS. In rows, a result's lie
 * one after the other, and results `step` bytes apart; in columns, neighbouring results' do, and a
 * result's factors. */
struct dot_slab {
    const void *a, *b;
    int64_t step_a, step_b;
    size_t n, results;
};

/* Adds to the sums of 1 to LOOP_MOST elements each. */
typedef void add_dot_slab(const struct dot_slab *, struct dot_sum *);

/* ---- quantiles of each result's elements ---- */

/* Elements i of result b of block a lie at `at` + a * outer_stride + i * stride + b * inner_stride,
 * bytes. */
struct selection {
    struct quantiles of;
    const char *at;
    uint64_t outer, n, inner;
    int64_t outer_stride, stride, inner_stride;
    char *out; /* quantile k of result r is number k * results + r */
};

/* One result, of `numbers` elements that are not NaN, or of all of them: keys that it has found, of
 * both ranks of each quantile, rank k being one of quantile k / 2. */
struct selected {
    uint64_t result, numbers;
    char *keys;
};

/* Part of one long result's elements: those that may have a rank are kept. */
struct selection_part {
    uint64_t less, kept, nans;
};

enum { SELECTION_PART = 1 << 13 };

/* Sorts the columns of n rows of SORTED_ROW bytes each, of unsigned integers. */
typedef void sort_columns(void *keys, uint64_t n);

enum {
    SORTED_ROW = 128,
    SORTED_MOST = 512 /* keys of a result */
};

/* ---- the table ---- */

struct cpu_kernels {
    /* Of elements that lie one after the other, folded in the accumulator. */
    fold_values *(*values)(enum fold, enum element input, enum element accumulator);

    /* Of results side by side: folded in the accumulator, or results as they are, where that is the
     * elements' own type, or whose truth values' extremes are, where it is ELEMENT_BOOL. `few`: of
     * at most SLAB_PART_ROWS rows; then complex numbers that no lanes take have a state each.
     * `masked`: what takes a mask. */
    const struct slab_loop *(*columns)(enum fold, enum element input, enum element accumulator,
                                       bool few, bool masked);

    transpose_rows *(*transpose)(size_t size);

    /* Of elements of so many bytes whose bytes are swapped in every `part` of them; 1: not. */
    move_tile *(*move)(size_t size, size_t part, bool masked);

    fill_hidden *(*fill)(size_t size);

    /* To `type`, and then widened to its accumulator. */
    convert_elements *(*convert)(enum element input, enum element type);

    dot_elements *(*dot)(enum element);

    /* Of float32 and float64, in rows or columns, exactly or not, and of 64-bit integers in rows.
     */
    add_dot_slab *(*dot_slabs)(enum element, bool columns, bool exactly);

    /* Of floats of a real type, in so many windows; NaNs are left out or not. */
    window_values *(*windows)(enum element, unsigned windows, bool leaves_out);
    window_products *(*product_windows)(enum element, unsigned windows);

    /* Where nobody knows how to ask the processor, these say that something was rounded. */
    unrounded_values *(*unrounded_sums)(enum element, bool leaves_out);
    unrounded_columns *(*unrounded_column_sums)(enum element);

    /* Of integers of so many bytes. */
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

/* One result; in room for twice its elements, and for the keys of its ranks. A sorted one needs
 * only this. */
void selection_of(const struct selection *, uint64_t result, char *workspace);

/* So many results from number `first` on, of at most SORTED_MOST elements each, and as many as a
 * row of keys has; in room for these rows. */
void selection_of_few(const struct selection *, sort_columns *, uint64_t first, uint64_t count,
                      char *workspace);

/* The same of one long result, in parts of SELECTION_PART elements, with room for all of their keys
 * and of its ranks; `filter` has selection_filter done for each part, and puts what they have kept
 * together. */
typedef struct selection_part filter_parts(void *context, const uint64_t bracket[2]);
void selection_of_long(const struct selection *, const struct selected *, char *kept,
                       filter_parts *filter, void *context);

/* Keeps the keys of a part that lie in a bracket; a workspace has room for as many. */
struct selection_part selection_filter(const struct selection *, const struct selected *,
                                       uint64_t part, const uint64_t bracket[2], char *kept,
                                       char *workspace);

#ifdef __cplusplus
}
#endif
