/* Reductions of registers: a warp by shuffles, a block by one word of shared memory per warp. */
#pragma once

#include "grid_stride.cuh"

namespace KERNELS
{

/* The widest words that a state's size is a multiple of. */
template <class T>
using word_of = std::conditional_t<sizeof(T) % sizeof(uint64_t) == 0, unsigned long long, unsigned>;

template <class T>
struct words {
    static constexpr unsigned count = sizeof(T) / sizeof(word_of<T>);
    word_of<T> at[count];
};

/* Apply `move`, such as a shuffle, to each of a value's words. */
template <class T, class Move>
__device__ __forceinline__ T map_words(T value, Move move)
{
    words<T> moved;
    memcpy(&moved, &value, sizeof value);
#pragma unroll
    for (unsigned k = 0; k < words<T>::count; k++)
        moved.at[k] = move(moved.at[k]);
    memcpy(&value, &moved, sizeof value);
    return value;
}

template <class T>
__device__ __forceinline__ T shuffle_down(T value, unsigned offset)
{
    return map_words(value, [=](auto word) { return __shfl_down_sync(whole_warp, word, offset); });
}

template <class T>
__device__ __forceinline__ T shuffle_up(T value, unsigned offset)
{
    return map_words(value, [=](auto word) { return __shfl_up_sync(whole_warp, word, offset); });
}

template <class T>
__device__ __forceinline__ T shuffle_xor(T value, unsigned bits)
{
    return map_words(value, [=](auto word) { return __shfl_xor_sync(whole_warp, word, bits); });
}

/* How many levels of a warp's tree are unrolled: merging single words takes a few instructions,
 * merging larger states so many that a loop is better. */
__host__ __device__ constexpr unsigned unrolled_levels(size_t state_bytes)
{
    return state_bytes > sizeof(uint64_t) ? 1 : 5;
}

/* Fold the warp's values; the result is in lane 0. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> warp_fold(state_of<Fold> value)
{
#pragma unroll(unrolled_levels(sizeof(state_of<Fold>)))
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2)
        value = Fold::merge(value, shuffle_down(value, offset));
    return value;
}

/* Fold the values of 2^team consecutive threads of a warp; the result is in the first of them. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_team(unsigned team, state_of<Fold> value)
{
#pragma unroll 1
    for (unsigned offset = 1u << team >> 1; offset > 0; offset /= 2)
        value = Fold::merge(value, shuffle_down(value, offset));
    return value;
}

/* Fold the block's values; the result is in thread 0. A second call requires a barrier in
 * between. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> block_fold(state_of<Fold> value)
{
    const shared<state_of<Fold>> warp_states = block_memory<state_of<Fold>>();
    const unsigned lane = threadIdx.x % warp_size;
    value = warp_fold<Fold>(value);
    if (lane == 0)
        warp_states[threadIdx.x / warp_size] = value;
    __syncthreads();
    if (threadIdx.x < warp_size) {
        value = lane < blockDim.x / warp_size ? warp_states[lane] : Fold::identity();
        value = warp_fold<Fold>(value);
    }
    return value;
}

} // namespace KERNELS
