/* The entries of a rung of a user's own, for sums on the simulated device: what comes behind it.
 *
 *     GRED_RUNG(In, Acc, Block)     its kernel, as in my_rung<counted<sum<Acc>>, global<const In>>
 */
#pragma once

#include "own.cuh"

namespace KERNELS
{
namespace
{

template <class In, class Acc>
const void *entry(unsigned block)
{
    static const void *const entries[BLOCK_SIZES] = {
        KERNEL_ENTRY(GRED_RUNG(In, Acc, 32)),  KERNEL_ENTRY(GRED_RUNG(In, Acc, 64)),
        KERNEL_ENTRY(GRED_RUNG(In, Acc, 128)), KERNEL_ENTRY(GRED_RUNG(In, Acc, 256)),
        KERNEL_ENTRY(GRED_RUNG(In, Acc, 512)), KERNEL_ENTRY(GRED_RUNG(In, Acc, 1024)),
    };
    return entries[__builtin_ctz(block / BLOCK_SIZE_MIN)];
}

} // namespace
} // namespace KERNELS

/* As kernels.flat. Unsigned 64-bit sums are the same bits as signed ones. */
extern "C" __attribute__((visibility("default"))) const void *
lab_flat(enum fold fold, enum method_index, enum element input, enum element accumulator,
         unsigned block)
{
    using namespace KERNELS;
    if (fold != FOLD_sum)
        return nullptr;
    if (input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return entry<int32_t, int64_t>(block);
    if (input != accumulator)
        return nullptr;
    switch (input) {
    case ELEMENT_INT32:
        return entry<int32_t, int32_t>(block);
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return entry<int64_t, int64_t>(block);
    case ELEMENT_FLOAT32:
        return entry<float, float>(block);
    case ELEMENT_FLOAT64:
        return entry<double, double>(block);
    default:
        return nullptr;
    }
}
