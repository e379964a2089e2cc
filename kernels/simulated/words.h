/* CUDA's words on a CPU, as far as gred's kernels use them: each is a few lines on top of
 * csrc/common/simulated_words.h. Not modelled: time, lockstep, and the weaker memory order of
 * a GPU; memory's banks and sectors are in counting.h. */
#pragma once

#include "common/simulated_words.h"

#include <string.h>

#define __global__ static
#define __host__
#define __device__
#define __forceinline__ inline
#define __noinline__    __attribute__((noinline))
#define __launch_bounds__(...)

#define threadIdx (simulator_here()->thread)
#define blockIdx  (simulator_here()->block)
#define blockDim  (simulator_here()->block_size)
#define gridDim   (simulator_here()->grid_size)

inline void __syncthreads()
{
    simulator_barrier_block();
}

inline int __syncthreads_or(int vote)
{
    return simulator_barrier_block_or(vote != 0);
}

inline void __syncwarp(unsigned mask = 0xffffffff)
{
    simulator_barrier_warp(mask);
}

inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

/* The lane `offset` further on; the own one where that is past the warp's end, as on a GPU. */
inline unsigned lane_below(unsigned offset)
{
    const unsigned lane = threadIdx.x % SIMULATOR_WARP;
    return lane + offset < SIMULATOR_WARP ? lane + offset : lane;
}

/* The value of any lane. */
template <class T>
T __shfl_sync(unsigned mask, T value, unsigned lane)
{
    static_assert(sizeof(T) <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
    uint64_t word = 0;
    memcpy(&word, &value, sizeof value);
    word = simulator_shuffle(mask, word, lane % SIMULATOR_WARP);
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned offset)
{
    return __shfl_sync(mask, value, lane_below(offset));
}

/* Of the lane `offset` before; the own one where there is none. */
template <class T>
T __shfl_up_sync(unsigned mask, T value, unsigned offset)
{
    const unsigned lane = threadIdx.x % SIMULATOR_WARP;
    return __shfl_sync(mask, value, lane < offset ? lane : lane - offset);
}

template <class T>
T __shfl_xor_sync(unsigned mask, T value, unsigned bits)
{
    return __shfl_sync(mask, value, threadIdx.x ^ bits);
}

/* All lanes' votes, by bits that are exchanged with more and more of them. */
inline unsigned __ballot_sync(unsigned mask, int vote)
{
    unsigned votes = unsigned(vote != 0) << threadIdx.x % SIMULATOR_WARP;
    for (unsigned bit = 1; bit < SIMULATOR_WARP; bit *= 2)
        votes |= __shfl_xor_sync(mask, votes, bit);
    return votes;
}

inline int __any_sync(unsigned mask, int vote)
{
    return __ballot_sync(mask, vote) != 0;
}

template <class T>
T __ldcg(const T *address)
{
    return *address;
}

template <class T>
T atomicCAS(T *address, T expected, T desired)
{
    __atomic_compare_exchange_n(address, &expected, desired, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return expected;
}

inline unsigned atomicInc(unsigned *address, unsigned limit)
{
    unsigned seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (!__atomic_compare_exchange_n(address, &seen, seen >= limit ? 0 : seen + 1, false,
                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}

inline int __clz(int word)
{
    return word ? __builtin_clz(unsigned(word)) : 32;
}

inline unsigned __popc(unsigned word)
{
    return unsigned(__builtin_popcount(word));
}

template <class T>
T atomicAdd(T *address, T value)
{
    T seen, sum;
    __atomic_load(address, &seen, __ATOMIC_SEQ_CST);
    do {
        sum = seen + value;
    } while (!__atomic_compare_exchange(address, &seen, &sum, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_SEQ_CST));
    return seen;
}

template <class T>
T atomicMax(T *address, T value)
{
    T seen = __atomic_load_n(address, __ATOMIC_SEQ_CST);
    while (seen < value && !__atomic_compare_exchange_n(address, &seen, value, false,
                                                        __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)) {
    }
    return seen;
}

inline unsigned atomicOr(unsigned *address, unsigned bits)
{
    return __atomic_fetch_or(address, bits, __ATOMIC_SEQ_CST);
}
