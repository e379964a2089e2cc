/* Copies to shared memory that nobody's registers are needed for, of 16 bytes each, where the GPU
 * has them; a thread waits for its own. */
#pragma once

#include "vector.cuh"

namespace KERNELS
{

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

/* Starts to copy 16 bytes, or to make them 0 where there is nothing. */
__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from, bool there)
{
    const unsigned at = unsigned(__cvta_generic_to_shared(to)), bytes = there ? 16 : 0;
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(at), "l"(from), "r"(bytes)
                 : "memory");
}

/* What this thread has started since the last such call is a group of copies. */
__device__ __forceinline__ void end_copies()
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

/* Until all but so many of this thread's groups, the latest, are done. */
template <unsigned Latest>
__device__ __forceinline__ void await_copies()
{
    asm volatile("cp.async.wait_group %0;" ::"n"(Latest) : "memory");
}

#else

__device__ __forceinline__ void start_copy(shared<void> to, global<const void> from, bool there)
{
    pack<uint32_t> copied = {};
    if (there)
        copied = *static_cast<const pack<uint32_t> *>(from);
    memcpy(to, &copied, sizeof copied);
}

__device__ __forceinline__ void end_copies() {}

template <unsigned Latest>
__device__ __forceinline__ void await_copies()
{
}

#endif

/* One copy that is a group. */
__device__ __forceinline__ void copy_ahead(shared<void> to, global<const void> from, bool there)
{
    start_copy(to, from, there);
    end_copies();
}

} // namespace KERNELS
