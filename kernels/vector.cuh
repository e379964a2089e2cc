/* Reading at memory bandwidth: 16-byte loads, several in flight, for any length and alignment of
 * the array. */
#pragma once

#include "load/packed.cuh"
#include "warp.cuh"

namespace KERNELS
{

/* Consecutive elements that one load or store moves: up to 16 bytes. A larger pack is aligned to 16
 * bytes. */
template <class T, unsigned N = 16 / sizeof(T)>
struct alignas(sizeof(T) * N < 16 ? sizeof(T) * N : 16) pack {
    static constexpr unsigned size = N;
    T at[N];
};

/* 16 bytes as 4-byte words; compilers would take single bytes apart and reassemble them. */
using vec16 = pack<uint32_t>;

/* Load a pack from any address, element by element. */
template <class In>
__device__ __forceinline__ pack<In> load_unaligned_pack(global<const In> from)
{
    pack<In> loaded;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        loaded.at[k] = from[k];
    return loaded;
}

template <class In>
__device__ __forceinline__ double element_to_double(In x)
{
    return double(x);
}

template <>
__device__ __forceinline__ double element_to_double(float16 x)
{
#ifdef __CUDA_ARCH__
    double wide;
    asm("cvt.f64.f16 %0, %1;" : "=d"(wide) : "h"(x.bits));
    return wide;
#else
    return double(float(x));
#endif
}

/* Loads in flight per thread. Four of 16 bytes and 1024 threads keep 64 KiB per multiprocessor in
 * flight. */
constexpr unsigned packs_in_flight = 4;

template <unsigned Packs, class In>
__device__ __forceinline__ word_batch<In, 4 * Packs> words_of(const pack<In> *loaded)
{
    uint32_t bits[4 * Packs];
    word_batch<In, 4 * Packs> words;
    memcpy(bits, loaded, sizeof bits);
#pragma unroll
    for (unsigned k = 0; k < 4 * Packs; k++)
        words.at[k] = packing<In>::from_bits(bits[k]);
    return words;
}

/* How many packs, at most `Packs`, are reduced together: their values must fit into registers, and
 * so must their widened values if the state is large. */
template <class Fold, class In, unsigned Packs>
__host__ __device__ constexpr unsigned packs_per_batch()
{
    using value = value_of<Fold>;
    constexpr bool large = sizeof(state_of<Fold>) > 40;
    constexpr size_t element_bytes = packed<Fold, In>::value ? sizeof(In) * (large ? 2 : 1)
                                     : large                 ? sizeof(wide_of<value>)
                                                             : sizeof(value);
    constexpr unsigned batch = 64 / (pack<In>::size * element_bytes);
    return batch == 0 ? 1 : batch < Packs ? batch : Packs;
}

/* Merge the valid ones of several values into the state; x[k] is the array's element at(k). */
template <class Fold, unsigned N, class Positions, class Valid>
__device__ __forceinline__ void
accumulate_values(state_of<Fold> &state, const value_of<Fold> (&x)[N], Positions at, Valid valid)
{
    if constexpr (has_accumulate<Fold>::value) {
        Fold::accumulate(state, x, at, valid);
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            state = Fold::merge(state, valid(k) ? Fold::lift(x[k], at(k)) : Fold::identity());
    }
}

/* Merge packs into the state. The first begins at position `first`, and their beginnings are
 * `pitch` elements apart. */
template <class Fold, unsigned Packs, class In>
__device__ __forceinline__ void accumulate_packs(state_of<Fold> &state,
                                                 const pack<In> (&loaded)[Packs], uint64_t first,
                                                 uint64_t pitch)
{
    constexpr unsigned size = pack<In>::size, batch = packs_per_batch<Fold, In, Packs>();
#pragma unroll
    for (unsigned p = 0; p < Packs; p += batch) {
        const run_positions<size> at = {first + p * pitch, pitch};
        if constexpr (packed<Fold, In>::value) {
            packed<Fold, In>::accumulate(state, words_of<batch>(loaded + p), at);
        } else {
            value_of<Fold> values[batch * size];
#pragma unroll
            for (unsigned k = 0; k < batch * size; k++)
                values[k] = value_of<Fold>(loaded[p + k / size].at[k % size]);
            accumulate_values<Fold>(state, values, at, all_valid());
        }
    }
}

/* Merge N values as a binary tree, neighbors first. */
template <class Op, unsigned N, class V, class Value>
__device__ __forceinline__ V pairwise_merge(Value value)
{
    V values[N];
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        values[k] = value(k);
#pragma unroll
    for (unsigned pitch = 1; pitch < N; pitch *= 2)
#pragma unroll
        for (unsigned k = 0; k + pitch < N; k += 2 * pitch)
            values[k] = Op::merge(values[k], values[k + pitch]);
    return values[0];
}

/* The number of elements before the first 16-byte boundary, at most n. */
template <class In, class Count>
__device__ __forceinline__ Count elements_to_boundary(global<const In> data, Count n)
{
    const Count elements = (16 - address_of(data) % 16) % 16 / sizeof(In);
    return elements < n ? elements : n;
}

/* Fold packs rank, rank + threads, ... below `count`, from any memory; pack 0 begins at position
 * `first`. */
template <class Fold, class In, class Packs, class Count>
__device__ __forceinline__ state_of<Fold> fold_packs(state_of<Fold> state, Packs packs, Count count,
                                                     Count rank, Count threads, uint64_t first)
{
    constexpr unsigned size = pack<In>::size;
    Count i = rank;
#pragma unroll 1
    for (; i + (packs_in_flight - 1) * threads < count; i += packs_in_flight * threads) {
        pack<In> loaded[packs_in_flight];
#pragma unroll
        for (unsigned k = 0; k < packs_in_flight; k++)
            loaded[k] = packs[i + k * threads];
        accumulate_packs<Fold>(state, loaded, first + uint64_t(i) * size, uint64_t(threads) * size);
    }
#pragma unroll 1
    for (; i < count; i += threads) {
        const pack<In> loaded[1] = {packs[i]};
        accumulate_packs<Fold>(state, loaded, first + uint64_t(i) * size, 0);
    }
    return state;
}

/* An array as aligned packs, and the elements before the first and after the last. These are fewer
 * than a warp has threads: the grid's first threads take one each. */
template <class In>
struct aligned_packs {
    global<const pack<In>> packs;
    uint64_t head, count, tail; /* elements before the packs, packs, position after the packs */

    __device__ __forceinline__ aligned_packs(global<const In> data, uint64_t n)
        : head(elements_to_boundary(data, n)), count((n - head) / pack<In>::size),
          tail(head + count * pack<In>::size)
    {
        packs = pointer_cast<const pack<In>>(data + head);
    }

    /* The position of a thread's single element; n or more if it has none. */
    __device__ __forceinline__ uint64_t single(uint64_t rank) const
    {
        return rank < head ? rank : tail + (rank - head);
    }
};

__device__ __forceinline__ uint64_t rank_in_grid()
{
    return uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
}

__device__ __forceinline__ uint64_t threads_in_grid()
{
    return uint64_t(gridDim.x) * blockDim.x;
}

/* Merge a thread's single element, if it has one, into the state of its packs. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold>
merged_with_single(state_of<Fold> state, positioned<In> data, uint64_t n, uint64_t single)
{
    if (single < n)
        state = Fold::merge(state, Fold::lift(value_of<Fold>(data.at[single]), data.base + single));
    return state;
}

/* Fold this thread's share: packs, in rising order of positions, and at most one element. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_vectors(positioned<In> data, uint64_t n)
{
    const uint64_t rank = rank_in_grid();
    const aligned_packs<In> x(data.at, n);
    const uint64_t single = x.single(rank);
    const state_of<Fold> state = fold_packs<Fold, In>(Fold::identity(), x.packs, x.count, rank,
                                                      threads_in_grid(), data.base + x.head);
    return merged_with_single<Fold>(state, data, n, single);
}

template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_vectors(global<const In> data, uint64_t n)
{
    return fold_vectors<Fold>(positioned<In>{data, 0}, n);
}

/* Take the block's ticket, one of `count`: whether it is the last. Orders what the thread has seen
 * before and will see after. The counter wraps around to 0 for the next launch. */
__device__ __forceinline__ bool takes_last_ticket(global<unsigned> tickets, unsigned count)
{
    unsigned ticket;
#ifdef __CUDA_ARCH__
    asm volatile("atom.inc.acq_rel.gpu.global.u32 %0, [%1], %2;"
                 : "=r"(ticket)
                 : "l"(tickets), "r"(count - 1)
                 : "memory");
#else
    __threadfence();
    ticket = atomicInc(tickets, count - 1);
    __threadfence();
#endif
    return ticket == count - 1;
}

/* Whether this block is the last of `count` to call this; if so, it sees everything that the others
 * have stored, since barriers extend one thread's order to its block. Called by all threads of a
 * block. */
__device__ __forceinline__ bool is_last_block(global<unsigned> tickets, unsigned count)
{
    __syncthreads();
    return __syncthreads_or(threadIdx.x == 0 && takes_last_ticket(tickets, count));
}

/* A load that bypasses L1, which may hold older values; all multiprocessors share L2. */
template <class T>
__device__ __forceinline__ T load_from_l2(global<const T> at)
{
    const global<const word_of<T>> from = pointer_cast<const word_of<T>>(at);
    words<T> loaded;
#pragma unroll
    for (unsigned k = 0; k < words<T>::count; k++)
        loaded.at[k] = __ldcg(from + k);
    T value;
    memcpy(&value, &loaded, sizeof value);
    return value;
}

/* Fold this thread's share of the partial results that other blocks have just written. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_partials(global<const state_of<Fold>> partials,
                                                        unsigned count)
{
    state_of<Fold> value = Fold::identity();
#pragma unroll 1
    for (unsigned i = threadIdx.x; i < count; i += blockDim.x)
        value = Fold::merge(value, load_from_l2(partials + i));
    return value;
}

} // namespace KERNELS
