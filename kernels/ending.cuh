/* How a launch's end becomes known to a host that is waiting for it, without a copy and without a
 * synchronisation: through memory that both see. */
#pragma once

#include "device.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Posts a state: every 4 bytes of it in one store of 8, of which the others are the launch's tag.
 * Such a store arrives whole or not at all, so whoever finds the tag in a word has its 4 bytes, and
 * no fence is needed between the words. By one thread, the last thing that it does. */
template <class T>
__device__ __forceinline__ void post(const struct ending &ending, const T &state)
{
    static_assert(sizeof(T) % sizeof(uint32_t) == 0, "states are made of 4-byte words");
    constexpr unsigned count = sizeof(T) / sizeof(uint32_t);
    uint32_t words[count];
    if (!ending.mailbox)
        return;
    memcpy(words, &state, sizeof state);
#pragma unroll
    for (unsigned k = 0; k < count; k++)
        store_for_host(ending.mailbox + k, uint64_t(ending.tag) << 32 | words[k]);
}

} // namespace KERNELS
