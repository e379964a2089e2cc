/* Asynchronous copies to shared memory, of 4, 8 or 16 bytes each, which use no registers; ordinary
 * copies on GPUs that have none. A thread waits for its own. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

template <unsigned Bytes = 16>
__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from)
{
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    if constexpr (Bytes == 16)
        asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
    else
        asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(Bytes)
                     : "memory");
}

/* Wait for all copies that this thread has started. */
__device__ __forceinline__ void wait_for_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

template <unsigned Bytes = 16>
__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from)
{
    using unit = pack<uint32_t, Bytes / 4>;
    *static_cast<unit *>(to) = *static_cast<const unit *>(from);
}

__device__ __forceinline__ void wait_for_copies() {}

#endif

/* Start copying bytes to shared memory, where they have the same offset from a 16-byte boundary as
 * in global memory. Returns where they begin. */
__device__ __forceinline__ shared<const char> start_copies(shared<char> to, global<const char> from,
                                                           unsigned bytes)
{
    constexpr unsigned size = sizeof(pack<unsigned>);
    const shared<char> begin = to + address_of(from) % size;
    const unsigned before = elements_to_boundary(from, bytes), packs = (bytes - before) / size;
#pragma unroll 8
    for (unsigned k = threadIdx.x; k < packs; k += blockDim.x)
        start_copy(begin + before + k * size, from + before + k * size);
    const unsigned after = before + packs * size, single = threadIdx.x;
    if (single < before)
        begin[single] = from[single];
    else if (single - before < bytes - after)
        begin[after + single - before] = from[after + single - before];
    return begin;
}

} // namespace KERNELS
