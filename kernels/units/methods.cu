/* Instantiates every rung for one fold, GRED_FOLD, and lists the addresses. One fold a compilation,
 * so that they can be compiled side by side. GRED_WIDENS says whether integers are folded in 64
 * bits, GRED_AVERAGES whether means are made of it, for which they are folded in float64. */
#include "../entry.cuh"
#include "../load/strided_entry.cuh"
#include "common/kernels.h"

#include "../ladder.cuh"
#include "../reductions.cuh"

namespace KERNELS
{
namespace
{

using rung_entries = const void *[BLOCK_SIZES];

/* The default block size of rungs that work in tiles. */
constexpr unsigned tile_block = 256;

/* Sums and products of int32 go to int64 by default; every other change of type is made while
 * gathering. */
constexpr bool widens = GRED_WIDENS;

/* They are the same bits for both 64-bit integers, so unsigned ones are taken for signed. */
using uint64_as = std::conditional_t<widens, int64_t, uint64_t>;

/* Where the fold does not widen, the last pair is there twice rather than missing. */
using int32_into = std::conditional_t<widens, int64_t, int32_t>;

enum pair {
    INT32_INT32,
    INT64_INT64,
    UINT64_UINT64,
    FLOAT32_FLOAT32,
    FLOAT64_FLOAT64,
    INT32_INT64,
    PAIRS,
};

int pair_of_accumulator(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_INT32:
        return INT32_INT32;
    case ELEMENT_INT64:
        return INT64_INT64;
    case ELEMENT_UINT64:
        return UINT64_UINT64;
    case ELEMENT_FLOAT32:
        return FLOAT32_FLOAT32;
    case ELEMENT_FLOAT64:
        return FLOAT64_FLOAT64;
    default:
        return PAIRS;
    }
}

int pair_of(enum element input, enum element accumulator)
{
    if (input == accumulator)
        return pair_of_accumulator(input);
    return widens && input == ELEMENT_INT32 && accumulator == ELEMENT_INT64 ? INT32_INT64 : PAIRS;
}

/* A rung's template arguments depend on what it reads, its own working copy or the caller's array;
 * the block size is among them or not. */
#define IN_PLACE_any_block(name, T, block)   KERNEL_ENTRY(name<GRED_FOLD<T>>)
#define IN_PLACE_each_block(name, T, block)  KERNEL_ENTRY(name<GRED_FOLD<T>, block>)
#define FLAT_any_block(name, In, Acc, block) KERNEL_ENTRY(name<GRED_FOLD<Acc>, global<const In>>)
#define FLAT_each_block(name, In, Acc, block)                                                      \
    KERNEL_ENTRY(name<GRED_FOLD<Acc>, global<const In>, block>)
#define FLAT_default_block(name, In, Acc, block)                                                   \
    KERNEL_ENTRY(name<GRED_FOLD<Acc>, global<const In>, (block) == tile_block ? tile_block : 0>)

/* clang-format off */
#define FOR_BLOCKS(ENTRY, ...)                                            \
    {                                                                     \
        ENTRY(__VA_ARGS__, 32), ENTRY(__VA_ARGS__, 64),                   \
        ENTRY(__VA_ARGS__, 128), ENTRY(__VA_ARGS__, 256),                 \
        ENTRY(__VA_ARGS__, 512), ENTRY(__VA_ARGS__, 1024),                \
    }

/* An in-place rung's working copy is in the accumulator's type already. */
#define FLAT_IN_PLACE(name, blocks)                                       \
    {                                                                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, int32_t),                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, int64_t),                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, uint64_as),                   \
        FOR_BLOCKS(IN_PLACE_##blocks, name, float),                       \
        FOR_BLOCKS(IN_PLACE_##blocks, name, double),                      \
        {},                                                               \
    }

#define FLAT_READS(name, blocks)                                          \
    {                                                                     \
        FOR_BLOCKS(FLAT_##blocks, name, int32_t, int32_t),                \
        FOR_BLOCKS(FLAT_##blocks, name, int64_t, int64_t),                \
        FOR_BLOCKS(FLAT_##blocks, name, uint64_as, uint64_as),            \
        FOR_BLOCKS(FLAT_##blocks, name, float, float),                    \
        FOR_BLOCKS(FLAT_##blocks, name, double, double),                  \
        FOR_BLOCKS(FLAT_##blocks, name, int32_t, int32_into),                \
    }
/* clang-format on */

/* Rungs for later GPUs than the others are compiled apart. */
#define APART(name, blocks)                                                                        \
    {                                                                                              \
    }

#define KIND_levels(FORM)      FORM##_IN_PLACE
#define KIND_in_place(FORM)    FORM##_IN_PLACE
#define KIND_tiles(FORM)       FORM##_READS
#define KIND_grid_stride(FORM) FORM##_READS
#define KIND_one_atomic(FORM)  FORM##_READS
#define KIND_last_block(FORM)  FORM##_READS
#define KIND_cooperative(FORM) FORM##_READS
#define KIND_bulk(FORM)        APART
#define KIND_clusters(FORM)    APART

const rung_entries flat_entries[METHODS][PAIRS] = {
#define RUNG(number, name, alias, style, blocks, ...) KIND_##style(FLAT)(name, blocks),
#define HOST_METHOD(name, ...)                        {},
#define LIBRARY_METHOD(name, ...)                     {},
#include "common/ladder.def"
};

/* ---- the default method, for every element type ---- */

struct default_entry {
    enum element input, accumulator;
    const void *kernel;
};

/* Types that the other rungs are compiled for have their kernels there. */
#define FLAT(IN, In, ACC, Acc)                                                                     \
    {ELEMENT_##IN, ELEMENT_##ACC, KERNEL_ENTRY(last_block<GRED_FOLD<Acc>, global<const In>>)}

/* Unsigned 64-bit sums and products are the same bits as signed ones. Least and largest elements
 * need no more than the smallest accumulator. Complex products know their first element. */
const default_entry default_entries[] = {
#if GRED_WIDENS
    FLAT(BOOL, boolean, INT64, int64_t),
    FLAT(INT8, int8_t, INT64, int64_t),
    FLAT(INT16, int16_t, INT64, int64_t),
    FLAT(UINT8, uint8_t, UINT64, int64_t),
    FLAT(UINT16, uint16_t, UINT64, int64_t),
    FLAT(UINT32, uint32_t, UINT64, int64_t),
#else
    FLAT(BOOL, boolean, INT32, int32_t),
    FLAT(INT8, int8_t, INT32, int32_t),
    FLAT(INT16, int16_t, INT32, int32_t),
    FLAT(UINT8, uint8_t, INT32, int32_t),
    FLAT(UINT16, uint16_t, INT32, int32_t),
    FLAT(UINT32, uint32_t, INT64, int64_t),
#endif
    FLAT(FLOAT16, float16, FLOAT32, float),
    FLAT(BFLOAT16, bfloat16, FLOAT32, float),
    FLAT(COMPLEX64, complex<float>, COMPLEX64, complex<float>),
    FLAT(COMPLEX128, complex<double>, COMPLEX128, complex<double>),
#if GRED_AVERAGES
    FLAT(BOOL, boolean, FLOAT64, double),
    FLAT(INT8, int8_t, FLOAT64, double),
    FLAT(INT16, int16_t, FLOAT64, double),
    FLAT(INT32, int32_t, FLOAT64, double),
    FLAT(INT64, int64_t, FLOAT64, double),
    FLAT(UINT8, uint8_t, FLOAT64, double),
    FLAT(UINT16, uint16_t, FLOAT64, double),
    FLAT(UINT32, uint32_t, FLOAT64, double),
    FLAT(UINT64, uint64_t, FLOAT64, double),
    FLAT(FLOAT32, float, FLOAT64, double),
    FLAT(BOOL, boolean, FLOAT32, float),
    FLAT(INT8, int8_t, FLOAT32, float),
    FLAT(INT16, int16_t, FLOAT32, float),
    FLAT(INT32, int32_t, FLOAT32, float),
    FLAT(INT64, int64_t, FLOAT32, float),
    FLAT(UINT8, uint8_t, FLOAT32, float),
    FLAT(UINT16, uint16_t, FLOAT32, float),
    FLAT(UINT32, uint32_t, FLOAT32, float),
    FLAT(UINT64, uint64_t, FLOAT32, float),
#endif
};

const void *find_default(enum element input, enum element accumulator)
{
    for (const default_entry &entry : default_entries)
        if (entry.input == input && entry.accumulator == accumulator)
            return entry.kernel;
    return nullptr;
}

const void *flat_kernel(const kernel_key &key)
{
    const int pair = pair_of(key.input, key.accumulator);
    if (pair != PAIRS)
        return flat_entries[key.method][pair][__builtin_ctz(key.variant / BLOCK_SIZE_MIN)];
    return key.method == METHOD_last_block ? find_default(key.input, key.accumulator) : nullptr;
}

} // namespace

/* Under a name of its own in each unit: compilers may merge instances that a template argument of
 * an unnamed namespace tells apart. */
template <template <class> class Kernel>
struct OF_FOLD(strided) {
    static const void *of(const kernel_key &key)
    {
        return strided_all<GRED_FOLD, Kernel, uint64_as>(key.input, key.accumulator);
    }
};

const void *OF_FOLD(kernel)(kernel_key key)
{
    return key.kind == KERNEL_FLAT ? flat_kernel(key) : strided_kernel<OF_FOLD(strided)>(key);
}

} // namespace KERNELS
