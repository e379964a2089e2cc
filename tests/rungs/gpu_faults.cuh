/* A correct rung, except on a GPU for array lengths that select a mistake;
 * launched like shared_sequential. It is correct on the simulated device. */
#pragma once

#include "../tile.cuh"

namespace KERNELS
{

#ifdef __CUDACC__

template <class T, class Array>
__device__ void misbehave(Array data, uint64_t n, shared<T> x)
{
    const unsigned tid = threadIdx.x;
    switch (n) {
    case 101:
        x[tid] = data[n + (uint64_t(1) << 44)]; // out of bounds
        return;
    case 102: // misaligned
        x[tid] = T(*pointer_cast<const volatile uint64_t>(pointer_cast<const char>(data) + 1));
        return;
    case 103:
        __trap();
    case 104:
        for (volatile unsigned k = 0;;)
            k = k;
    case 105:
        *pointer_cast<volatile T>(static_cast<T *>(nullptr)) = x[tid]; // no memory at all
        return;
    case 106:
        if (tid == 5)
            x[tid] = T(0); // an element is lost
        return;
    }
}

#else

template <class T, class Array>
void misbehave(Array, uint64_t, shared<T>)
{
}

#endif

template <class Fold, class Array>
__global__ void gpu_faults(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);
    misbehave<state_of<Fold>>(data, n, x);
    __syncthreads();
    fold_sequential<Fold>(x);
    store_partial(partials, x[0]);
}

} // namespace KERNELS
