/* Instantiates every rung for one op, GRED_OP, and lists the addresses. One op a compilation, so
 * that they can be compiled side by side. */
#include "entries.h"
#include "entry.cuh"

#define GRED_KERNELS
#include "ladder.def"

namespace KERNELS
{
namespace
{

using rung_entries = const void *[BLOCK_SIZES];

enum pair {
    INT32_INT32,
    INT64_INT64,
    UINT64_UINT64,
    FLOAT32_FLOAT32,
    FLOAT64_FLOAT64,
    INT32_INT64,
    PAIRS,
};

/* Sums and products of int32 go to int64 by default; every other change of type is left to the
 * working copy. */
constexpr bool widens = std::is_same_v<GRED_OP, sum> || std::is_same_v<GRED_OP, prod>;

int pair_of(enum element input, enum element accumulator)
{
    if (input == accumulator)
        return input;
    return widens && input == ELEMENT_INT32 && accumulator == ELEMENT_INT64 ? INT32_INT64 : PAIRS;
}

/* A rung's template arguments depend on what it reads, its own working copy or the caller's array;
 * the block size is among them or not. */
#define IN_PLACE_any_block(name, T, block)     KERNEL_ENTRY(name<GRED_OP, T>)
#define IN_PLACE_each_block(name, T, block)    KERNEL_ENTRY(name<GRED_OP, T, block>)
#define READS_any_block(name, In, Acc, block)  KERNEL_ENTRY(name<GRED_OP, In, Acc>)
#define READS_each_block(name, In, Acc, block) KERNEL_ENTRY(name<GRED_OP, In, Acc, block>)

/* clang-format off */
#define FOR_BLOCKS(ENTRY, ...)                                            \
    {                                                                     \
        ENTRY(__VA_ARGS__, 32), ENTRY(__VA_ARGS__, 64),                   \
        ENTRY(__VA_ARGS__, 128), ENTRY(__VA_ARGS__, 256),                 \
        ENTRY(__VA_ARGS__, 512), ENTRY(__VA_ARGS__, 1024),                \
    }

/* An in-place rung's working copy is in the accumulator's type already. */
#define IN_PLACE(name, blocks)                                            \
    {                                                                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, int32_t),                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, int64_t),                     \
        FOR_BLOCKS(IN_PLACE_##blocks, name, uint64_t),                    \
        FOR_BLOCKS(IN_PLACE_##blocks, name, float),                       \
        FOR_BLOCKS(IN_PLACE_##blocks, name, double),                      \
        {},                                                               \
    }

/* Where the op does not widen, the last pair is there twice rather than missing. */
using widened = std::conditional_t<widens, int64_t, int32_t>;

#define READS(name, blocks)                                               \
    {                                                                     \
        FOR_BLOCKS(READS_##blocks, name, int32_t, int32_t),               \
        FOR_BLOCKS(READS_##blocks, name, int64_t, int64_t),               \
        FOR_BLOCKS(READS_##blocks, name, uint64_t, uint64_t),             \
        FOR_BLOCKS(READS_##blocks, name, float, float),                   \
        FOR_BLOCKS(READS_##blocks, name, double, double),                 \
        FOR_BLOCKS(READS_##blocks, name, int32_t, widened),               \
    }
/* clang-format on */

#define ENTRIES_levels      IN_PLACE
#define ENTRIES_in_place    IN_PLACE
#define ENTRIES_tiles       READS
#define ENTRIES_grid_stride READS
#define ENTRIES_one_atomic  READS
#define ENTRIES_last_block  READS
#define ENTRIES_cooperative READS

const rung_entries entries[METHODS][PAIRS] = {
#define RUNG(number, name, alias, schedule, blocks, ...) ENTRIES_##schedule(name, blocks),
#define HOST_METHOD(name, ...)                           {},
#define LIBRARY_METHOD(name, ...)                        {},
#include "ladder.def"
};

} // namespace

const void *GRED_ENTRY(enum method_index method, enum element input, enum element accumulator,
                       unsigned block)
{
    const int pair = pair_of(input, accumulator);
    return pair == PAIRS ? nullptr : entries[method][pair][__builtin_ctz(block / BLOCK_SIZE_MIN)];
}

} // namespace KERNELS
