/* Reading at the memory's pace: 16 bytes a load, several loads in flight, whatever the array's
 * length and alignment. */
#pragma once

#include "warp.cuh"

namespace KERNELS
{

/* As many elements as 16 bytes hold. */
template <class T>
struct alignas(16) pack {
    static constexpr unsigned size = 16 / sizeof(T);
    T at[size];
};

/* Loads in flight a thread. Four of 16 bytes and 1024 threads keep 64 KiB a multiprocessor on their
 * way. */
constexpr unsigned packs_in_flight = 4;

/* Takes packs in, `apart` elements from each other, the first of which begins at position `first`.
 */
template <class Fold, unsigned Packs, class In>
__device__ __forceinline__ void take_packs(state_of<Fold> &state, const pack<In> (&loaded)[Packs],
                                           uint64_t first, uint64_t apart)
{
    constexpr unsigned size = pack<In>::size;
    const in_runs<size> at = {first, apart};
    if constexpr (absorbs<Fold>::value) {
        value_of<Fold> values[Packs * size];
#pragma unroll
        for (unsigned k = 0; k < Packs * size; k++)
            values[k] = value_of<Fold>(loaded[k / size].at[k % size]);
        Fold::absorb(state, values, at);
    } else {
#pragma unroll
        for (unsigned k = 0; k < Packs * size; k++)
            state = Fold::merge(state,
                                Fold::lift(value_of<Fold>(loaded[k / size].at[k % size]), at(k)));
    }
}

/* How many elements lie before the first 16-byte boundary, at most n. */
template <class In, class Count>
__device__ __forceinline__ Count elements_to_boundary(global<const In> data, Count n)
{
    const Count elements = (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16 / sizeof(In);
    return elements < n ? elements : n;
}

/* Packs rank, rank + threads, ... below `count`; the first pack of all begins at position `first`.
 */
template <class Fold, class In, class Count>
__device__ __forceinline__ state_of<Fold> fold_packs(state_of<Fold> state,
                                                     global<const pack<In>> packs, Count count,
                                                     Count rank, Count threads, uint64_t first)
{
    constexpr unsigned size = pack<In>::size;
    Count i = rank;
    for (; i + (packs_in_flight - 1) * threads < count; i += packs_in_flight * threads) {
        pack<In> loaded[packs_in_flight];
#pragma unroll
        for (unsigned k = 0; k < packs_in_flight; k++)
            loaded[k] = packs[i + k * threads];
        take_packs<Fold>(state, loaded, first + uint64_t(i) * size, uint64_t(threads) * size);
    }
    for (; i < count; i += threads) {
        const pack<In> loaded[1] = {packs[i]};
        take_packs<Fold>(state, loaded, first + uint64_t(i) * size, 0);
    }
    return state;
}

/* This thread's share of the array. The few elements before the first boundary and after the last
 * go to the first threads of the grid, one each; the rest are packs. Positions rise. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_positioned(global<const In> data, uint64_t n,
                                                          uint64_t base)
{
    const uint64_t rank = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t head = elements_to_boundary(data, n);
    const uint64_t count = (n - head) / pack<In>::size;
    const uint64_t tail = head + count * pack<In>::size;
    const global<const pack<In>> packs = reinterpret_cast<const pack<In> *>(data + head);

    state_of<Fold> state = Fold::identity();
    if (rank < head)
        state = Fold::merge(state, Fold::lift(value_of<Fold>(data[rank]), base + rank));
    state = fold_packs<Fold>(state, packs, count, rank, threads, base + head);
    if (rank < n - tail)
        state =
            Fold::merge(state, Fold::lift(value_of<Fold>(data[tail + rank]), base + tail + rank));
    return state;
}

template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_vectors(global<const In> data, uint64_t n)
{
    return fold_positioned<Fold>(data, n, 0);
}

template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_vectors(positioned<In> data, uint64_t n)
{
    return fold_positioned<Fold>(data.at, n, data.base);
}

/* Gathered elements come one by one. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_vectors(gathered data, uint64_t n)
{
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    state_of<Fold> state = Fold::identity();
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
        state = Fold::merge(state, load<Fold>(data, i));
    return state;
}

/* A load from L2, past this multiprocessor's L1. */
template <class T>
__device__ __forceinline__ T load_shared_by_all(global<const T> at)
{
    const global<const word_of<T>> from = reinterpret_cast<const word_of<T> *>(at);
    words<T> loaded;
#pragma unroll
    for (unsigned k = 0; k < words<T>::count; k++)
        loaded.at[k] = __ldcg(from + k);
    T value;
    memcpy(&value, &loaded, sizeof value);
    return value;
}

/* This thread's share of the partials that other blocks have just written, when one block folds
 * them all. They are read from L2, which all blocks share; this multiprocessor's L1 may hold older
 * values. */
template <class Fold, class T>
__device__ __forceinline__ T fold_partials(global<const T> partials, unsigned count)
{
    T value = Fold::identity();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        value = Fold::merge(value, load_shared_by_all(partials + i));
    return value;
}

} // namespace KERNELS
