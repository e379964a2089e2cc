/* Copies to shared memory that nobody's registers are needed for, of 16 bytes each, where the GPU
 * has them; a thread waits for its own. */
#pragma once

#include "vector.cuh"

namespace KERNELS
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from)
{
    const unsigned at = unsigned(__cvta_generic_to_shared(to));
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
}

/* Until all copies that this thread has started are done. */
__device__ __forceinline__ void await_copies()
{
    asm volatile("cp.async.wait_all;" ::: "memory");
}

#else

__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from)
{
    *static_cast<pack<uint32_t> *>(to) = *static_cast<const pack<uint32_t> *>(from);
}

__device__ __forceinline__ void await_copies() {}

#endif

} // namespace KERNELS
