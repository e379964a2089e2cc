/* Instantiates the rungs for sums once more, for the simulated device alone, with pointers that
 * count. What is counted does not depend on a block size that is known at compile time, so only the
 * one rung has it that cannot do without. */
#define GRED_COUNTING

#include "../entry.cuh"
#include "common/kernels.h"

#include "../lab/counted_fold.cuh"
#include "../ladder.cuh"
#include "../ladder/23_bulk.cuh"
#include "../ladder/24_cluster.cuh"
#include "../reductions/sum.cuh"

namespace KERNELS
{

namespace
{

/* The one rung whose code depends on the block size. */
template <class T>
const void *template_entry(unsigned block)
{
    static const void *const entries[BLOCK_SIZES] = {
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 32>),
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 64>),
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 128>),
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 256>),
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 512>),
        KERNEL_ENTRY(template_unroll8<counted<sum<T>>, 1024>),
    };
    return entries[__builtin_ctz(block / BLOCK_SIZE_MIN)];
}

#define IN_PLACE_any_block(name)  KERNEL_ENTRY(name<counted<sum<Acc>>>)
#define IN_PLACE_each_block(name) template_entry<Acc>(block)
#define READS_any_block(name)     KERNEL_ENTRY(name<counted<sum<Acc>>, global<const In>>)
#define READS_each_block(name)    KERNEL_ENTRY(name<counted<sum<Acc>>, global<const In>, 0>)
#define READS_default_block(name) READS_each_block(name)
#define ELEMENTS_any_block(name)  KERNEL_ENTRY(name<counted<sum<Acc>>, In>)

#define KIND_levels(blocks)      IN_PLACE_##blocks
#define KIND_in_place(blocks)    IN_PLACE_##blocks
#define KIND_tiles(blocks)       READS_##blocks
#define KIND_grid_stride(blocks) READS_##blocks
#define KIND_one_atomic(blocks)  READS_##blocks
#define KIND_last_block(blocks)  READS_##blocks
#define KIND_cooperative(blocks) READS_##blocks
#define KIND_bulk(blocks)        ELEMENTS_##blocks
#define KIND_clusters(blocks)    ELEMENTS_##blocks

template <class In, class Acc>
const void *entry(enum method_index method, unsigned block)
{
    switch (method) {
#define RUNG(number, name, alias, style, blocks, ...)                                              \
    case METHOD_##name:                                                                            \
        return KIND_##style(blocks)(name);
#define HOST_METHOD(name, ...)
#define LIBRARY_METHOD(name, ...)
#include "common/ladder.def"
    default:
        return nullptr;
    }
}

} // namespace
} // namespace KERNELS

/* Unsigned 64-bit sums are the same bits as signed ones. */
const void *counting_flat(struct kernel_key key)
{
    using namespace KERNELS;
    if (key.fold != FOLD_sum)
        return nullptr;
    if (key.input == ELEMENT_INT32 && key.accumulator == ELEMENT_INT64)
        return entry<int32_t, int64_t>(key.method, key.variant);
    if (key.input != key.accumulator)
        return nullptr;
    switch (key.input) {
    case ELEMENT_INT32:
        return entry<int32_t, int32_t>(key.method, key.variant);
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return entry<int64_t, int64_t>(key.method, key.variant);
    case ELEMENT_FLOAT32:
        return entry<float, float>(key.method, key.variant);
    case ELEMENT_FLOAT64:
        return entry<double, double>(key.method, key.variant);
    default:
        return nullptr;
    }
}
