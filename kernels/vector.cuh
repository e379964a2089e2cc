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

template <class Op, class Acc, class In>
__device__ __forceinline__ Acc fold_pack(Acc value, const pack<In> &elements)
{
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        value = Op::combine(value, Acc(elements.at[k]));
    return value;
}

/* How many elements lie before the first 16-byte boundary, at most n. */
template <class In, class Count>
__device__ __forceinline__ Count elements_to_boundary(global<const In> data, Count n)
{
    const Count elements = (16 - reinterpret_cast<uintptr_t>(data) % 16) % 16 / sizeof(In);
    return elements < n ? elements : n;
}

/* Packs rank, rank + threads, ... below `count`. */
template <class Op, class Acc, class In, class Count>
__device__ __forceinline__ Acc fold_packs(Acc value, global<const pack<In>> packs, Count count,
                                          Count rank, Count threads)
{
    Count i = rank;
    for (; i + (packs_in_flight - 1) * threads < count; i += packs_in_flight * threads) {
        pack<In> loaded[packs_in_flight];
#pragma unroll
        for (unsigned k = 0; k < packs_in_flight; k++)
            loaded[k] = packs[i + k * threads];
#pragma unroll
        for (unsigned k = 0; k < packs_in_flight; k++)
            value = fold_pack<Op>(value, loaded[k]);
    }
    for (; i < count; i += threads)
        value = fold_pack<Op>(value, packs[i]);
    return value;
}

/* This thread's share of the array. The few elements before the first boundary and after the last
 * go to the first threads of the grid, one each; the rest are packs. */
template <class Op, class Acc, class In>
__device__ __forceinline__ Acc fold_vectors(global<const In> data, uint64_t n)
{
    const uint64_t rank = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    const uint64_t head = elements_to_boundary(data, n);
    const uint64_t count = (n - head) / pack<In>::size;
    const uint64_t tail = head + count * pack<In>::size;
    const global<const pack<In>> packs = reinterpret_cast<const pack<In> *>(data + head);

    Acc value = Op::template identity<Acc>();
    if (rank < head)
        value = Op::combine(value, Acc(data[rank]));
    if (rank < n - tail)
        value = Op::combine(value, Acc(data[tail + rank]));
    return fold_packs<Op>(value, packs, count, rank, threads);
}

/* Gathered elements come one by one. */
template <class Op, class Acc>
__device__ __forceinline__ Acc fold_vectors(gathered data, uint64_t n)
{
    const uint64_t threads = uint64_t(gridDim.x) * blockDim.x;
    Acc value = Op::template identity<Acc>();
    for (uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < n; i += threads)
        value = Op::combine(value, load<Op, Acc>(data, i));
    return value;
}

/* A load from L2, past this multiprocessor's L1. */
template <class T>
__device__ __forceinline__ T load_shared_by_all(global<const T> at)
{
    return T(__ldcg(at));
}

template <class T>
__device__ __forceinline__ complex<T> load_shared_by_all(global<const complex<T>> at)
{
    return {load_shared_by_all(&at->real), load_shared_by_all(&at->imag)};
}

/* This thread's share of the partials that other blocks have just written, when one block folds
 * them all. They are read from L2, which all blocks share; this multiprocessor's L1 may hold older
 * values. */
template <class Op, class T>
__device__ __forceinline__ T fold_partials(global<const T> partials, unsigned count)
{
    T value = Op::template identity<T>();
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        value = Op::combine(value, load_shared_by_all(partials + i));
    return value;
}

} // namespace KERNELS
