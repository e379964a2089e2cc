/* Results that stay on the device. One kernel for all reductions and types: a switch over types at
 * its end, compiled once a reduction, took longer than all else. */
#pragma once

#include "../mailbox.cuh"
#include "finishing.cuh"

namespace KERNELS
{

/* One thread. `counted` is the device's own count of what took part, null where the host knows. */
__global__ void finish_on_device(global<const void> state, enum reduction reduction,
                                 struct finish how, global<const uint64_t> counted,
                                 enum element out_type, global<unsigned char> out,
                                 struct epilogue epilogue)
{
    struct answer answer;
    if (counted)
        how.count = *counted;
    finish_state(reduction, how, state, answer);
    const union scalar rounded = scalar_narrow(answer.values[0], how.result);
    scalar_store(out, scalar_convert(rounded, how.result, out_type), out_type);
    post(epilogue, uint32_t(0));
}

} // namespace KERNELS
