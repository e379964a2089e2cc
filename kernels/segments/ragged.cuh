/* What kernels of segments have in common: launches that begin early, and tiles, so many of the
 * sequence that elements and ends of segments are (struct kernel_segments). */
#pragma once

#include "../axes/along.cuh"
#include "../epilogue/results.cuh"

namespace KERNELS
{

/* A struct kernel_segments, under a name of this namespace. */
struct ragged : kernel_segments {};

__device__ __forceinline__ uint64_t end_of_segment(const segments &of, uint64_t k)
{
    return k + 1 < of.count ? uint64_t(of.offsets[k + 1]) : of.elements;
}

/* ---- launches ---- */

/* From there on kernels are compiled with a way to wait for others. */
#define WAITING_ARCHITECTURE 900

/* Until the launch before this one has ended, where it need not have before this one began. */
__device__ __forceinline__ void await_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= WAITING_ARCHITECTURE
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Lets the next launch begin, once all blocks have come this far. */
__device__ __forceinline__ void let_next_begin()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= WAITING_ARCHITECTURE
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

/* ---- elements and results ---- */

__device__ __forceinline__ const char *element_at(const ragged &x, uint64_t element)
{
    return static_cast<const char *>(x.data) + (element << x.bytes);
}

constexpr unsigned neighbours_at_once = 4;

/* Calls take(values, places, valid) with this thread's share of neighbours: every 2^team-th, four
 * at a time. */
template <class Fold, class Count, class Take>
__device__ __forceinline__ void each_neighbours(const ragged &x, const char *at, Count n,
                                                unsigned number, unsigned team, Take take)
{
    constexpr unsigned N = neighbours_at_once;
    const std::make_signed_t<Count> step = std::make_signed_t<Count>(1) << (team + x.bytes);
    at += Count(number) << x.bytes;
#pragma unroll 1
    for (Count i = number; i < n; i += N << team, at += N * step) {
        typename slot<value_of<Fold>>::type words[N];
        value_of<Fold> values[N];
        const Count left = ((n - i - 1) >> team) + 1;
        const in_steps places = {i, uint64_t(1) << team};
        if (left >= N) {
            load_words(words, 1u << x.bytes, all_slots{at, step, false});
            decode(values, words, x.input);
            take(values, places, all_valid());
        } else {
            const uint32_t there = low_bits(unsigned(left));
            load_words(words, 1u << x.bytes, some_slots{at, step, there});
            decode(values, words, x.input);
            take(values, places, valid_bits{there});
        }
    }
}

template <class Fold, class Count>
__device__ __forceinline__ void take_neighbours(state_of<Fold> &state, const ragged &x,
                                                const char *at, Count n, unsigned number,
                                                unsigned team)
{
    each_neighbours<Fold>(x, at, n, number, team,
                          [&](const auto &values, const auto &places, auto valid) {
                              take_values<Fold>(state, values, places, valid);
                          });
}

template <class Fold>
__device__ __forceinline__ void store_segment(const ragged &x, const state_of<Fold> &state,
                                              uint64_t n, uint64_t k)
{
    if (n > 0)
        store_result<Fold>(x.result, state, n, int64_t(k));
    else
        store_wide(x.of_none, x.result.finish.result, x.result.bytes[0],
                   result_at(x.result, 0, int64_t(k)));
}

/* ---- tiles ---- */

/* What a tile has: elements, and ends of segments, of which the first may have begun before it. */
struct tile_of_segments {
    uint64_t element, segment; /* the first of either */
    unsigned elements, ends;

    tile_of_segments() = default;

    /* So many ends come before it, and before the next. */
    __device__ __forceinline__ tile_of_segments(const ragged &x, uint64_t number, uint64_t first,
                                                uint64_t last)
    {
        const uint64_t all = x.of.elements + x.of.count, place = number * x.tile,
                       next = number + 1 < x.tiles ? place + x.tile : all;
        segment = first;
        element = place - segment;
        ends = unsigned(last - segment);
        elements = unsigned(next - last - element);
    }
};

/* Where a tile's first segment begins. */
struct first_segment {
    uint64_t begins;
    unsigned lead; /* elements of the tile before it */
    bool carries;  /* it has begun in an earlier tile */

    __device__ __forceinline__ first_segment(const ragged &x, const tile_of_segments &tile)
        : begins(tile.segment < x.of.count ? uint64_t(x.of.offsets[tile.segment]) : x.of.elements)
    {
        const uint64_t pitch = begins > tile.element ? begins - tile.element : 0;
        lead = pitch < tile.elements ? unsigned(pitch) : tile.elements;
        carries = begins < tile.element;
    }
};

/* What a tile has of a segment; after the last end, of the one that goes on. */
struct part_of_segment {
    unsigned begin, n;
    bool ends;
    bool alone; /* it has no end of its own, and is the element that it begins with */

    __device__ __forceinline__ part_of_segment(const ragged &x, const tile_of_segments &tile,
                                               const first_segment &first,
                                               shared<const uint16_t> ends_of, unsigned k)
        : ends(k < tile.ends)
    {
        const unsigned end = ends ? ends_of[k] : tile.elements;
        begin = k > 0 ? ends_of[k - 1] : first.lead;
        n = end - begin;
        alone = n == 0 && ends && !x.of.may_be_empty && !(k == 0 && first.carries);
        if (alone)
            n = 1;
    }
};

template <class Fold>
__device__ __forceinline__ void
store_part(const ragged &x, const tile_of_segments &tile, bool carries, const part_of_segment &part,
           unsigned k, const state_of<Fold> &state, global<state_of<Fold>> heads,
           global<state_of<Fold>> tails)
{
    if (!part.ends)
        tails[blockIdx.x] = state;
    else if (k == 0 && carries)
        heads[blockIdx.x] = state;
    else
        store_segment<Fold>(x, state, part.n, tile.segment + k);
}

enum { TILE_THREADS = 256 };

/* Of so many threads a multiprocessor has room for at a time, with the registers that values take;
 * an older one has it for 1024 threads. */
constexpr unsigned blocks_of_tiles(size_t value_bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return value_bytes > 0 ? 4 : 0;
#else
    return value_bytes > sizeof(float) ? 4 : 6;
#endif
}

} // namespace KERNELS
