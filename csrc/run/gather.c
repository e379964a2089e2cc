/* Gathering walks a layout in tiles: parts of its two innermost dimensions, so that short rows do
 * not cost a call each. What is not plain memory is first brought together in a small buffer, in
 * this machine's byte order, and then converted from there by a loop that a compiler can vectorise.
 */
#define _GNU_SOURCE

#include "run/gather.h"

#include "common/arithmetic.h"
#include "common/scalar.h"

#include <endian.h>
#include <string.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* A buffer lies on the stack, which may be a small one. */
enum { BUFFER_BYTES = 4096, ELEMENT_BYTES_MAX = 16 };

/* Rows of elements at equal distances. */
struct tile {
    const char *at;
    const unsigned char *mask; /* NULL: all elements take part */
    uint64_t rows, columns;
    int64_t row_stride, column_stride, mask_row_stride, mask_column_stride;
};

/* ---- the walk ---- */

struct walk {
    const struct layout *layout;
    uint64_t left;     /* positions */
    struct tile whole; /* all of the tile that the walk is in */
    uint64_t row, column;
    unsigned outer; /* dimensions outside the tile */
    uint64_t index[DIMENSIONS_MAX];
};

/* The tile at the layout's first element. */
static struct tile first_tile(const struct layout *layout)
{
    const unsigned dimensions = layout->dimensions;
    struct tile tile = {.at = layout->data, .mask = layout->mask, .rows = 1, .columns = 1};
    if (dimensions > 0) {
        tile.columns = layout->shape[dimensions - 1];
        tile.column_stride = layout->strides[dimensions - 1];
        tile.mask_column_stride = layout->mask_strides[dimensions - 1];
    }
    if (dimensions > 1) {
        tile.rows = layout->shape[dimensions - 2];
        tile.row_stride = layout->strides[dimensions - 2];
        tile.mask_row_stride = layout->mask_strides[dimensions - 2];
    }
    return tile;
}

/* Moves the walk's tile by `steps` along an outer dimension. */
static void shift_tile(struct walk *walk, unsigned k, int64_t steps)
{
    walk->whole.at += steps * walk->layout->strides[k];
    if (walk->whole.mask)
        walk->whole.mask += steps * walk->layout->mask_strides[k];
}

static void walk_start(struct walk *walk, const struct layout *layout, uint64_t start,
                       uint64_t length)
{
    walk->layout = layout;
    walk->left = length;
    if (length == 0)
        return;
    walk->whole = first_tile(layout);
    walk->outer = layout->dimensions > 2 ? layout->dimensions - 2 : 0;
    walk->column = start % walk->whole.columns;
    start /= walk->whole.columns;
    walk->row = start % walk->whole.rows;
    start /= walk->whole.rows;
    for (unsigned k = walk->outer; k-- > 0; start /= layout->shape[k]) {
        walk->index[k] = start % layout->shape[k];
        shift_tile(walk, k, (int64_t)walk->index[k]);
    }
}

/* To the next tile, like an odometer. */
static void enter_next_tile(struct walk *walk)
{
    walk->row = 0;
    for (unsigned k = walk->outer; k-- > 0;) {
        if (++walk->index[k] < walk->layout->shape[k]) {
            shift_tile(walk, k, 1);
            return;
        }
        shift_tile(walk, k, 1 - (int64_t)walk->layout->shape[k]);
        walk->index[k] = 0;
    }
}

static struct tile part_at(const struct walk *walk)
{
    const int64_t row = (int64_t)walk->row, column = (int64_t)walk->column;
    struct tile part = walk->whole;
    part.at += row * part.row_stride + column * part.column_stride;
    if (part.mask)
        part.mask += row * part.mask_row_stride + column * part.mask_column_stride;
    return part;
}

/* The next 1 to `most` positions: whole rows, or a part of one. Needs walk->left >= most >= 1. */
static struct tile walk_next(struct walk *walk, uint64_t most)
{
    const uint64_t columns = walk->whole.columns;
    if (walk->row == walk->whole.rows)
        enter_next_tile(walk);
    struct tile part = part_at(walk);
    if (walk->column || most < columns) {
        part.rows = 1;
        part.columns = least(columns - walk->column, most);
    } else {
        part.rows = least(part.rows - walk->row, most / columns);
    }
    walk->left -= part.rows * part.columns;
    walk->column += part.columns;
    if (walk->column == columns) {
        walk->column = 0;
        walk->row += part.rows;
    }
    return part;
}

/* ---- moving elements, whatever they mean ---- */

typedef struct {
    uint32_t real, imag;
} pair32;

typedef struct {
    uint64_t real, imag;
} pair64;

#define AS_IS(x)       (x)
#define SWAP_PAIR32(x) ((pair32){__builtin_bswap32((x).real), __builtin_bswap32((x).imag)})
#define SWAP_PAIR64(x) ((pair64){__builtin_bswap64((x).real), __builtin_bswap64((x).imag)})

#define MOVE(type, ORDER, to, from)                                                                \
    do {                                                                                           \
        type moved;                                                                                \
        memcpy(&moved, from, sizeof moved);                                                        \
        moved = ORDER(moved);                                                                      \
        memcpy(to, &moved, sizeof moved);                                                          \
    } while (0)

/* Writes a tile's elements one after the other and returns how many; with a mask, there must be
 * room for all of the tile. */
typedef uint64_t mover(const struct tile *, char *restrict target);

#define DEFINE_MOVERS(NAME, type, ORDER)                                                           \
    INLINE void row_##NAME(const char *restrict at, int64_t stride, uint64_t n,                    \
                           char *restrict target)                                                  \
    {                                                                                              \
        for (uint64_t i = 0; i < n; i++)                                                           \
            MOVE(type, ORDER, target + i * sizeof(type), at + (int64_t)i * stride);                \
    }                                                                                              \
                                                                                                   \
    static uint64_t move_##NAME(const struct tile *tile, char *restrict target)                    \
    {                                                                                              \
        const uint64_t columns = tile->columns;                                                    \
        const char *at = tile->at;                                                                 \
        for (uint64_t row = 0; row < tile->rows; row++, at += tile->row_stride)                    \
            if (tile->column_stride == sizeof(type))                                               \
                row_##NAME(at, sizeof(type), columns, target + row * columns * sizeof(type));      \
            else                                                                                   \
                row_##NAME(at, tile->column_stride, columns,                                       \
                           target + row * columns * sizeof(type));                                 \
        return tile->rows * columns;                                                               \
    }                                                                                              \
                                                                                                   \
    static uint64_t masked_##NAME(const struct tile *tile, char *restrict target)                  \
    {                                                                                              \
        const char *at = tile->at;                                                                 \
        const unsigned char *mask = tile->mask;                                                    \
        char *end = target;                                                                        \
        for (uint64_t row = 0; row < tile->rows; row++) {                                          \
            for (uint64_t column = 0; column < tile->columns; column++) {                          \
                MOVE(type, ORDER, end, at + (int64_t)column * tile->column_stride);                \
                end += mask[(int64_t)column * tile->mask_column_stride] ? sizeof(type) : 0;        \
            }                                                                                      \
            at += tile->row_stride;                                                                \
            mask += tile->mask_row_stride;                                                         \
        }                                                                                          \
        return (uint64_t)(end - target) / sizeof(type);                                            \
    }

/* MOVERS(name, type, byte order) */
#define EACH_MOVER(MOVERS)                                                                         \
    MOVERS(1, uint8_t, AS_IS)                                                                      \
    MOVERS(2, uint16_t, AS_IS)                                                                     \
    MOVERS(4, uint32_t, AS_IS)                                                                     \
    MOVERS(8, uint64_t, AS_IS)                                                                     \
    MOVERS(16, pair64, AS_IS)                                                                      \
    MOVERS(2_swapped, uint16_t, __builtin_bswap16)                                                 \
    MOVERS(4_swapped, uint32_t, __builtin_bswap32)                                                 \
    MOVERS(8_swapped, uint64_t, __builtin_bswap64)                                                 \
    MOVERS(4_4_swapped, pair32, SWAP_PAIR32)                                                       \
    MOVERS(8_8_swapped, pair64, SWAP_PAIR64)

EACH_MOVER(DEFINE_MOVERS)

static mover *mover_of(const struct layout *layout)
{
#define MOVERS(NAME)                                                                               \
    {                                                                                              \
        move_##NAME, masked_##NAME                                                                 \
    }
    static mover *const plain[][2] = {
        [1] = MOVERS(1), [2] = MOVERS(2), [4] = MOVERS(4), [8] = MOVERS(8), [16] = MOVERS(16)};
    static mover *const swapped[][2] = {
        [1] = MOVERS(1), [2] = MOVERS(2_swapped), [4] = MOVERS(4_swapped), [8] = MOVERS(8_swapped)};
    static mover *const swapped_parts[][2] = {[8] = MOVERS(4_4_swapped),
                                              [16] = MOVERS(8_8_swapped)};
#undef MOVERS
    const size_t size = element_size(layout->input);
    const bool masked = layout->mask != NULL;
    if (!layout->swapped)
        return plain[size][masked];
    return element_is_complex(layout->input) ? swapped_parts[size][masked] : swapped[size][masked];
}

/* The walk's next positions, up to `most`, brought together; there must be room for all. Returns
 * how many the mask let through. */
static uint64_t collect(struct walk *walk, uint64_t most, void *target)
{
    mover *const move = mover_of(walk->layout);
    const size_t size = element_size(walk->layout->input);
    uint64_t kept = 0, left = least(most, walk->left);
    while (left) {
        const struct tile tile = walk_next(walk, left);
        kept += move(&tile, (char *)target + kept * size);
        left -= tile.rows * tile.columns;
    }
    return kept;
}

/* Masked elements go through a buffer, so that no byte is written behind the last one. */
uint64_t gather_unconverted(const struct layout *layout, uint64_t start, uint64_t length,
                            void *target)
{
    _Alignas(ELEMENT_BYTES_MAX) char buffer[BUFFER_BYTES];
    const size_t size = element_size(layout->input);
    struct walk walk;
    walk_start(&walk, layout, start, length);
    if (!layout->mask)
        return collect(&walk, length, target);
    char *end = target;
    while (walk.left) {
        const size_t bytes = collect(&walk, BUFFER_BYTES / size, buffer) * size;
        memcpy(end, buffer, bytes);
        end += bytes;
    }
    return (uint64_t)(end - (char *)target) / size;
}

/* Whether the elements can be read as they lie, aligned or not. */
static bool is_plain(const struct layout *layout)
{
    return !layout->swapped && !layout->mask &&
           (layout->dimensions == 0 ||
            (layout->dimensions == 1 &&
             layout->strides[0] == (int64_t)element_size(layout->input)));
}

/* ---- bits ---- */

enum { BYTES_AT_ONCE = 16 };

/* Of so many bytes, a bit each: whether it is not 0. */
#ifdef __SSE2__
static uint16_t bits_of(const unsigned char *bytes)
{
    const __m128i loaded = _mm_loadu_si128((const __m128i *)bytes);
    return (uint16_t)~_mm_movemask_epi8(_mm_cmpeq_epi8(loaded, _mm_setzero_si128()));
}
#else
static uint16_t bits_of(const unsigned char *bytes)
{
    unsigned bits = 0;
    for (unsigned k = 0; k < BYTES_AT_ONCE; k++)
        bits |= (unsigned)(bytes[k] != 0) << k;
    return (uint16_t)bits;
}
#endif

static void pack(const unsigned char *bytes, uint64_t n, unsigned char *target)
{
    unsigned char rest[BYTES_AT_ONCE] = {0};
    uint64_t at = 0;
    uint16_t bits;
    for (; n - at >= BYTES_AT_ONCE; at += BYTES_AT_ONCE) {
        bits = htole16(bits_of(bytes + at));
        memcpy(target + at / MASK_BITS, &bits, sizeof bits);
    }
    memcpy(rest, bytes + at, n - at);
    bits = htole16(bits_of(rest));
    memcpy(target + at / MASK_BITS, &bits, divide_up(n - at, MASK_BITS));
}

void gather_bits(const struct layout *layout, uint64_t start, uint64_t length,
                 unsigned char *target)
{
    unsigned char buffer[BUFFER_BYTES];
    struct walk walk;
    if (is_plain(layout)) {
        pack((const unsigned char *)layout->data + start, length, target);
        return;
    }
    walk_start(&walk, layout, start, length);
    for (; walk.left; target += BUFFER_BYTES / MASK_BITS)
        pack(buffer, collect(&walk, BUFFER_BYTES, buffer), target);
}

/* ---- conversion ---- */

typedef void converter(const char *restrict from, uint64_t n, char *restrict to);

/* With constant types, what is left of the three calls is the conversion itself. */
INLINE void convert(const char *restrict from, enum element input, enum element type,
                    enum element accumulator, size_t step, size_t width, uint64_t n,
                    char *restrict to)
{
    for (uint64_t i = 0; i < n; i++) {
        const union scalar value = scalar_convert(scalar_load(from + i * step, input), input, type);
        scalar_store(to + i * width, scalar_convert(value, type, accumulator), accumulator);
    }
}

#define DEFINE_ELEMENT(NAME, type, name, member) typedef type element_##NAME;
ELEMENT_TYPES(DEFINE_ELEMENT)

#define DEFINE_CONVERT(IN, TYPE, ACC)                                                              \
    static void convert_##IN##_##TYPE(const char *restrict from, uint64_t n, char *restrict to)    \
    {                                                                                              \
        convert(from, ELEMENT_##IN, ELEMENT_##TYPE, ELEMENT_##ACC, sizeof(element_##IN),           \
                sizeof(element_##ACC), n, to);                                                     \
    }
#define CONVERT_ENTRY(IN, TYPE, ACC) [ELEMENT_##TYPE] = convert_##IN##_##TYPE,

/* TO(IN, type, accumulator) for every type. */
#define TO_EACH(TO, IN)                                                                            \
    TO(IN, BOOL, INT32)                                                                            \
    TO(IN, INT8, INT32)                                                                            \
    TO(IN, INT16, INT32)                                                                           \
    TO(IN, INT32, INT32)                                                                           \
    TO(IN, INT64, INT64)                                                                           \
    TO(IN, UINT8, INT32)                                                                           \
    TO(IN, UINT16, INT32)                                                                          \
    TO(IN, UINT32, INT64)                                                                          \
    TO(IN, UINT64, UINT64)                                                                         \
    TO(IN, FLOAT16, FLOAT32)                                                                       \
    TO(IN, BFLOAT16, FLOAT32)                                                                      \
    TO(IN, FLOAT32, FLOAT32)                                                                       \
    TO(IN, FLOAT64, FLOAT64)                                                                       \
    TO(IN, COMPLEX64, COMPLEX64)                                                                   \
    TO(IN, COMPLEX128, COMPLEX128)

#define DEFINE_CONVERTS(NAME, type, name, member) TO_EACH(DEFINE_CONVERT, NAME)
#define CONVERT_ROW(NAME, type, name, member)     [ELEMENT_##NAME] = {TO_EACH(CONVERT_ENTRY, NAME)},
ELEMENT_TYPES(DEFINE_CONVERTS)
static converter *const converters[ELEMENTS][ELEMENTS] = {ELEMENT_TYPES(CONVERT_ROW)};

uint64_t gather(const struct layout *layout, uint64_t start, uint64_t length, void *target)
{
    _Alignas(ELEMENT_BYTES_MAX) char buffer[BUFFER_BYTES];
    const enum element accumulator = element_accumulator(layout->type);
    const size_t step = element_size(layout->input), width = element_size(accumulator);
    converter *const convert_all = converters[layout->input][layout->type];
    if (layout->input == layout->type && layout->type == accumulator)
        return gather_unconverted(layout, start, length, target);
    if (is_plain(layout)) {
        convert_all((const char *)layout->data + start * step, length, target);
        return length;
    }
    uint64_t kept = 0;
    struct walk walk;
    walk_start(&walk, layout, start, length);
    while (walk.left) {
        const uint64_t collected = collect(&walk, BUFFER_BYTES / step, buffer);
        convert_all(buffer, collected, (char *)target + kept * width);
        kept += collected;
    }
    return kept;
}

/* ---- counting ---- */

static uint64_t count_row(const unsigned char *mask, int64_t stride, uint64_t n)
{
    uint64_t count = 0;
    if (stride == 1)
        for (uint64_t i = 0; i < n; i++)
            count += mask[i] != 0;
    else
        for (uint64_t i = 0; i < n; i++)
            count += mask[(int64_t)i * stride] != 0;
    return count;
}

uint64_t gather_count(const struct layout *layout, uint64_t start, uint64_t length)
{
    if (!layout->mask)
        return length;
    uint64_t count = 0;
    struct walk walk;
    walk_start(&walk, layout, start, length);
    while (walk.left) {
        const struct tile tile = walk_next(&walk, walk.left);
        for (uint64_t row = 0; row < tile.rows; row++)
            count += count_row(tile.mask + (int64_t)row * tile.mask_row_stride,
                               tile.mask_column_stride, tile.columns);
    }
    return count;
}
