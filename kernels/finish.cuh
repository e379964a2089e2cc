/* Results that stay on the device, and the merging of a few states. */
#pragma once

#include "ending.cuh"
#include "partial.cuh"

namespace KERNELS
{

/* Out of line: a switch over all types, which every finish needs once. */
static __device__ __noinline__ void store_answer(const struct scalar_wide &value,
                                                 enum element result, enum element out_type,
                                                 global<unsigned char> out)
{
    const union scalar rounded = scalar_narrow(value, result);
    scalar_store(out, scalar_convert(rounded, result, out_type), out_type);
}

/* One thread. `counted` is the device's own count of what took part, null where the host knows. */
template <class Finishing, class Fold>
__global__ void finish_on_device(global<const state_of<Fold>> state, struct finish how,
                                 global<const uint64_t> counted, enum element out_type,
                                 global<unsigned char> out, struct ending ending)
{
    struct answer answer;
    if (counted)
        how.count = *counted;
    Finishing::template apply<Fold>(how, *state, answer);
    store_answer(answer.values[0], how.result, out_type, out);
    post(ending, uint32_t(0));
}

/* One thread of the grid merges n states in their order; there are few. The arguments are those of
 * a pass. */
template <class Fold>
__global__ void merge_few(global<const state_of<Fold>> states, uint64_t n,
                          global<state_of<Fold>> merged, global<unsigned>)
{
    if (blockIdx.x || threadIdx.x)
        return;
    state_of<Fold> state = Fold::identity();
    for (uint64_t i = 0; i < n; i++)
        state = Fold::merge(state, states[i]);
    *merged = state;
}

} // namespace KERNELS
