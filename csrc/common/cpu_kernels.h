/* The host's loops: one table of them for each set of instructions. Each entry looks a loop up by
 * types that are known when a call is made; NULL: there is none of these. */
#pragma once

#include "common/exact.h"
#include "common/slab.h"

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

/* ---- dot products ---- */

/* Sums of products. Of integers, modulo 2^64. Of floats, in float64: of complex numbers, whose
 * parts lie in turn, of what is in the same places, real parts in even ones, and of what is in each
 * other's, apart by where the first factor was; of real numbers the first is all. */
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

/* ---- order statistics: elements of given ranks among those of each result ---- */

/* Elements i of result b of block a lie at `at` + a * outer_stride + i * stride + b * inner_stride,
 * bytes. NaNs are the greatest. */
struct selection {
    enum element type;
    const char *at;
    uint64_t outer, n, inner;
    int64_t outer_stride, stride, inner_stride;
    const int64_t *ranks; /* rank k of result r at k * rank_pitch + r * rank_step */
    uint64_t count;       /* of these; below 0, and from n on: NaN, or 0 */
    int64_t rank_pitch, rank_step;
    char *out;     /* rank k of result r is number k * results + r */
    int64_t *nans; /* how many each result has */
};

/* Part of one long result's elements: those that may have a rank are kept. */
struct selection_part {
    uint64_t less, kept, nans;
};

enum { SELECTION_AT_ONCE = 16, SELECTION_PART = 1 << 13 };

/* ---- the table ---- */

struct cpu_kernels {
    /* Of elements that lie one after the other, folded in the accumulator. */
    fold_values *(*values)(enum fold, enum element input, enum element accumulator);

    /* Of results side by side: folded in the accumulator, or results as they are, where that is the
     * elements' own type, or whose truth values' extremes are, where it is ELEMENT_BOOL. */
    const struct slab_loop *(*columns)(enum fold, enum element input, enum element accumulator);

    /* The same of complex numbers that no lanes take: a state each, of at most SLAB_PART_ROWS rows.
     */
    const struct slab_loop *(*columns_of_states)(enum fold, enum element type);

    transpose_rows *(*transpose)(size_t size);

    /* Of elements of so many bytes whose bytes are swapped in every `part` of them; 1: not. */
    move_tile *(*move)(size_t size, size_t part, bool masked);

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

/* Whether there is no such rank of a result, which then is NaN, or 0. */
bool selection_skip(const struct selection *, uint64_t result, uint64_t rank);

/* Results first to first + count - 1, of one block, at most SELECTION_AT_ONCE; in room for the
 * elements of all and of one more. */
void selection_of(const struct selection *, uint64_t first, uint64_t count, char *workspace);

/* The same of one result, in parts of SELECTION_PART elements. Keys between which ranks number
 * `first` to `last` are supposed to lie; there is room for a part. */
void selection_bracket(const struct selection *, uint64_t result, uint64_t first, uint64_t last,
                       uint64_t bracket[2], char *room);

/* Keeps the keys of a part that lie in a bracket; a workspace has room for as many. */
struct selection_part selection_filter(const struct selection *, uint64_t result, uint64_t part,
                                       const uint64_t bracket[2], char *kept, char *workspace);

/* Ranks number `first` to `last`, from n keys that are kept, which `less` others are below. False:
 * they are not among them. */
bool selection_among(const struct selection *, uint64_t result, uint64_t first, uint64_t last,
                     char *kept, uint64_t n, uint64_t less);

/* The last rank, from number `first` on, that is near enough to be found with it. */
uint64_t selection_group(const struct selection *, uint64_t result, uint64_t first);

#ifdef __cplusplus
}
#endif
