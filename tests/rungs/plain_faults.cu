/* A correct kernel in ordinary CUDA, except for array lengths that select a mistake. */
#include <cuda_runtime.h>

#include <stdio.h>

#define BLOCK 64

__device__ float warp_sum(float value)
{
    for (int offset = warpSize / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(0xffffffff, value, offset);
    return value;
}

__device__ void add(volatile float *x, int tid, int stride)
{
    if (tid < stride)
        x[tid] += x[tid + stride]; // tree
}

__global__ void __launch_bounds__(BLOCK)
    total(float *__restrict__ out, const float *__restrict__ in, unsigned int n)
{
    __shared__ float tile[BLOCK], spare[2], last;
    unsigned tid = threadIdx.x, i = blockIdx.x * blockDim.x + tid;
    const float *own = in + blockIdx.x * blockDim.x;
    if (n == 101)
        spare[0] = tid; // race of stores
    if (n == 102)
        tile[tid] = spare[1]; // uninitialized
    if (n == 103)
        tile[0] = in[n + tid]; // out of bounds
    tile[tid] = i < n ? own[tid] : 0.0f;
    if (n != 108)
        __syncthreads();
    if (n == 105)
        spare[2 + 4 * tid] = 1; // beyond shared memory
    if (n == 106)
        *(volatile int *)0 = 1; // null pointer
    if (n == 107)
        last = tid; // scalar
    for (int stride = max(blockDim.x / 2, 1u); stride >= warpSize; stride >>= 1) {
        add(tile, tid, stride);
        __syncthreads();
    }
    float sum = tid < warpSize ? warp_sum(tile[tid]) : 0;
    if (tid == 0)
        *(out + blockIdx.x) = n == 109 ? sum + sum : sum;
}
