/* Compute a result that stays on the device from a state. One kernel for all reductions and types:
 * compiling a switch over types for each reduction took longer than everything else. */
#pragma once

#include "../accumulators.cuh"
#include "../mailbox.cuh"
#include "../reductions.cuh"

namespace KERNELS
{

/* One thread. `counted` is the device's count of the elements, null if the host knows it. */
__global__ void finish_on_device(global<const void> state, enum reduction reduction,
                                 struct finish how, global<const uint64_t> counted,
                                 enum element out_type, global<unsigned char> out,
                                 struct epilogue epilogue)
{
    struct answer answer;
    if (counted)
        how.count = *counted;
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        visit_##fold(how.accumulator, [&](auto v) {                                                \
            using fold_type = fold<decltype(v)>;                                                   \
            finishing<REDUCTION_##name>::template apply<fold_type>(                                \
                how, *static_cast<const state_of<fold_type> *>(state), answer);                    \
        });                                                                                        \
        break;
#include "common/reductions.def"
    default:
        break;
    }
    const union scalar rounded = scalar_narrow(answer.values[0], how.result);
    scalar_store(out, scalar_convert(rounded, how.result, out_type), out_type);
    post(epilogue, uint32_t(0));
}

} // namespace KERNELS
