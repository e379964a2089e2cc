/* The CUDA features that gred's kernels use, on a CPU, on top of csrc/common/simulated_words.h.
 * Each reports its source line if accesses are counted. Not modeled: timing, lockstep, and the
 * weaker memory model of a GPU. csrc/simulated/counter.c models memory banks and sectors. */
#pragma once

#include "common/simulated_words.h"

#include <stddef.h>
#include <string.h>
#include <type_traits>

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

/* The last parameters of a function: the caller's source line. */
#define CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

#ifdef GRED_COUNTING
#include "counting.h"
#endif

namespace KERNELS
{

#ifdef GRED_COUNTING
constexpr bool counting = true;
#else
constexpr bool counting = false;

inline void count(enum simulator_event, const volatile void *, size_t, const char *, unsigned,
                  const void * = nullptr, unsigned = 0)
{
}

template <class T>
using plain_value = T;

#endif

/* Plain pointers, whose accesses are not counted. */
template <class T>
T *plain(T *at)
{
    return at;
}

template <class T>
void count_at(enum simulator_event, T *, size_t, const char *, unsigned, const void * = nullptr)
{
}

/* ---- memory ---- */

inline void __threadfence()
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

inline void store_for_host(uint64_t *at, uint64_t word)
{
    __atomic_store_n(at, word, __ATOMIC_RELAXED);
}

template <class P>
auto __ldcg(P from, CALLER)
{
    count_at(SIMULATOR_GLOBAL_LOAD, from, sizeof *plain(from), file, line);
    return *plain(from);
}

template <class P, class T>
T atomicCAS(P at, T expected, T desired, CALLER)
{
    count_at(SIMULATOR_ATOMIC, at, sizeof(T), file, line, &desired);
    __atomic_compare_exchange_n(plain(at), &expected, desired, false, __ATOMIC_SEQ_CST,
                                __ATOMIC_SEQ_CST);
    return expected;
}

/* Atomically replaces the value at an address by update(value), and returns the old value. */
template <class P, class Update>
auto atomic_update(P at, Update update, const char *file, unsigned line)
{
    auto *const address = plain(at);
    std::remove_reference_t<decltype(*address)> old, updated;
    __atomic_load(address, &old, __ATOMIC_SEQ_CST);
    updated = update(old);
    count_at(SIMULATOR_ATOMIC, at, sizeof updated, file, line, &updated);
    while (!__atomic_compare_exchange(address, &old, &updated, false, __ATOMIC_SEQ_CST,
                                      __ATOMIC_SEQ_CST))
        updated = update(old);
    return old;
}

template <class P, class X>
auto atomicAdd(P at, const X &x, CALLER)
{
    const plain_value<X> value = x;
    const auto update = [=](auto old) { return decltype(old)(old + decltype(old)(value)); };
    return atomic_update(at, update, file, line);
}

template <class P, class T>
T atomicMax(P at, T value, CALLER)
{
    return atomic_update(at, [=](T old) { return old < value ? value : old; }, file, line);
}

template <class P>
unsigned atomicOr(P at, unsigned bits, CALLER)
{
    return atomic_update(at, [=](unsigned old) { return old | bits; }, file, line);
}

template <class P>
unsigned atomicInc(P at, unsigned limit, CALLER)
{
    return atomic_update(at, [=](unsigned old) { return old >= limit ? 0 : old + 1; }, file, line);
}

/* ---- bits ---- */

inline int __clz(int word)
{
    return word ? __builtin_clz(unsigned(word)) : 32;
}

inline unsigned __popc(unsigned word)
{
    return unsigned(__builtin_popcount(word));
}

/* ---- barriers ---- */

inline void __syncthreads(CALLER)
{
    count(SIMULATOR_BLOCK_BARRIER, nullptr, 0, file, line);
    simulator_barrier_block();
}

inline int __syncthreads_or(int vote, CALLER)
{
    count(SIMULATOR_BLOCK_BARRIER, nullptr, 0, file, line);
    return simulator_barrier_block_or(vote != 0);
}

inline void __syncwarp(unsigned mask = 0xffffffff, CALLER)
{
    count(SIMULATOR_WARP_BARRIER, nullptr, 0, file, line);
    simulator_barrier_warp(mask);
}

/* Counted like device.cuh's barrier on a GPU: each block increments a counter, and all but the last
 * one poll it at least once. */
template <class P>
void grid_barrier(P arrived, CALLER)
{
    if constexpr (counting)
        __syncthreads(file, line);
    if (counting && threadIdx.x == 0) {
        count_at(SIMULATOR_ATOMIC, arrived, sizeof(unsigned), file, line);
        if (blockIdx.x > 0)
            count_at(SIMULATOR_GLOBAL_LOAD, arrived, sizeof(unsigned), file, line);
    }
    count(SIMULATOR_GRID_BARRIER, nullptr, 0, file, line);
    simulator_barrier_grid();
    if constexpr (counting)
        __syncthreads(file, line);
}

/* ---- shuffles, optionally within segments of a warp ---- */

inline int lane_index()
{
    return int(threadIdx.x % SIMULATOR_WARP);
}

/* Lane `to` if it is in the own segment, else the own lane. */
inline unsigned segment_lane(int own, int to, int width)
{
    return unsigned((own & -width) == (to & -width) ? to : own);
}

template <class X>
auto shuffle_lanes(unsigned mask, const X &x, unsigned from, const char *file, unsigned line)
{
    plain_value<X> value = x;
    static_assert(sizeof value <= sizeof(uint64_t), "a shuffle moves at most 8 bytes");
    uint64_t word = 0;
    count(SIMULATOR_SHUFFLE, nullptr, sizeof value, file, line, &value, from);
    memcpy(&word, &value, sizeof value);
    word = simulator_shuffle(mask, word, from);
    memcpy(&value, &word, sizeof value);
    return value;
}

template <class X>
auto __shfl_down_sync(unsigned mask, const X &x, unsigned offset, int width = 32, CALLER)
{
    const int own = lane_index();
    return shuffle_lanes(mask, x, segment_lane(own, own + int(offset), width), file, line);
}

template <class X>
auto __shfl_up_sync(unsigned mask, const X &x, unsigned offset, int width = 32, CALLER)
{
    const int own = lane_index();
    return shuffle_lanes(mask, x, segment_lane(own, own - int(offset), width), file, line);
}

template <class X>
auto __shfl_xor_sync(unsigned mask, const X &x, int bits, int width = 32, CALLER)
{
    const int own = lane_index();
    return shuffle_lanes(mask, x, segment_lane(own, own ^ bits, width), file, line);
}

template <class X>
auto __shfl_sync(unsigned mask, const X &x, int lane, int width = 32, CALLER)
{
    const int first = lane_index() & -width;
    return shuffle_lanes(mask, x, unsigned(first + (lane & (width - 1))), file, line);
}

/* Collects all lanes' votes by a butterfly exchange. */
inline unsigned __ballot_sync(unsigned mask, int vote)
{
    const unsigned own = unsigned(lane_index());
    unsigned votes = unsigned(vote != 0) << own;
    for (unsigned bit = 1; bit < SIMULATOR_WARP; bit *= 2)
        votes |= unsigned(simulator_shuffle(mask, votes, own ^ bit));
    return votes;
}

inline int __any_sync(unsigned mask, int vote)
{
    return __ballot_sync(mask, vote) != 0;
}

/* ---- clusters ---- */

inline unsigned cluster_size()
{
    return simulator_here()->cluster_size;
}

inline unsigned cluster_rank()
{
    return simulator_here()->cluster_rank;
}

inline void cluster_barrier(CALLER)
{
    count(SIMULATOR_CLUSTER_BARRIER, nullptr, 0, file, line);
    simulator_barrier_cluster();
}

/* Accesses to another block's shared memory are counted like those to the block's own. */
template <class P>
P map_shared_rank(unsigned rank, P here)
{
    return P(static_cast<decltype(plain(here))>(simulator_map_shared_rank(plain(here), rank)));
}

/* ---- asynchronous bulk copies and mbarriers ---- */

using mbarrier = simulator_mbarrier;

template <class P>
void mbarrier_init(P barrier, unsigned arrivals)
{
    simulator_mbarrier_init(plain(barrier), arrivals);
}

inline void mbarrier_fence() {}

template <class P>
void mbarrier_arrive(P barrier, unsigned bytes)
{
    simulator_mbarrier_arrive(plain(barrier), bytes);
}

template <class P>
void mbarrier_wait(P barrier, unsigned parity, CALLER)
{
    count(SIMULATOR_MBARRIER_WAIT, nullptr, 0, file, line);
    simulator_mbarrier_wait(plain(barrier), parity);
}

template <class To, class From, class Barrier>
void bulk_copy(To to, From from, unsigned bytes, Barrier barrier, CALLER)
{
    count_at(SIMULATOR_BULK_COPY, from, bytes, file, line, plain(to));
    simulator_bulk_copy(plain(to), plain(from), bytes, plain(barrier));
}

} // namespace KERNELS

#undef CALLER
