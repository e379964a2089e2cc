/* Code that the segment kernels share: launches that overlap the previous one, and tiles of the
 * merged sequence of elements and segment ends (struct kernel_segments). */
#pragma once

#include "../axes/along.cuh"
#include "../epilogue/results.cuh"

namespace KERNELS
{

/* Counterpart of struct kernel_segments. */
struct ragged : kernel_segments {};

__device__ __forceinline__ uint64_t end_of_segment(const segments &of, uint64_t k)
{
    return k + 1 < of.count ? uint64_t(of.offsets[k + 1]) : of.elements;
}

/* ---- launches ---- */

/* The first architecture with programmatic dependent launch. */
#define WAITING_ARCHITECTURE 900

/* Wait until the previous launch has ended, if this one may have begun before that. */
__device__ __forceinline__ void wait_for_previous_launch()
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= WAITING_ARCHITECTURE
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

/* Allow the next launch to begin once all blocks have called this. */
__device__ __forceinline__ void allow_next_launch()
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

constexpr unsigned elements_per_batch = 4;

/* Call visit(values, positions, valid) with this thread's share of contiguous elements: every
 * 2^team-th, four at a time. */
template <class Fold, class Count, class Visit>
__device__ __forceinline__ void for_each_batch(const ragged &x, const char *at, Count n,
                                               unsigned number, unsigned team, Visit visit)
{
    constexpr unsigned N = elements_per_batch;
    const std::make_signed_t<Count> step = std::make_signed_t<Count>(1) << (team + x.bytes);
    at += Count(number) << x.bytes;
#pragma unroll 1
    for (Count i = number; i < n; i += N << team, at += N * step) {
        typename slot<value_of<Fold>>::type words[N];
        value_of<Fold> values[N];
        const Count left = ((n - i - 1) >> team) + 1;
        const strided_positions positions = {i, uint64_t(1) << team};
        if (left >= N) {
            load_words(words, 1u << x.bytes, all_slots{at, step, false});
            decode(values, words, x.input);
            visit(values, positions, all_valid());
        } else {
            const uint32_t present = low_bits(unsigned(left));
            load_words(words, 1u << x.bytes, some_slots{at, step, present});
            decode(values, words, x.input);
            visit(values, positions, valid_bits{present});
        }
    }
}

template <class Fold, class Count>
__device__ __forceinline__ void accumulate_elements(state_of<Fold> &state, const ragged &x,
                                                    const char *at, Count n, unsigned number,
                                                    unsigned team)
{
    for_each_batch<Fold>(x, at, n, number, team,
                         [&](const auto &values, const auto &positions, auto valid) {
                             accumulate_values<Fold>(state, values, positions, valid);
                         });
}

template <class Fold>
__device__ __forceinline__ void store_segment(const ragged &x, const state_of<Fold> &state,
                                              uint64_t n, uint64_t k)
{
    if (n > 0)
        store_result<Fold>(x.result, state, n, int64_t(k));
    else
        store_wide(x.empty_result, x.result.finish.result, x.result.bytes[0],
                   result_at(x.result, 0, int64_t(k)));
}

/* ---- tiles ---- */

/* A tile: some elements and segment ends. The first segment may have begun in an earlier tile. */
struct segment_tile {
    uint64_t element, segment; /* indices of the first of each */
    unsigned elements, ends;

    segment_tile() = default;

    /* `first` and `last` are the numbers of ends before this tile and before the next. */
    __device__ __forceinline__ segment_tile(const ragged &x, uint64_t number, uint64_t first,
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

/* The beginning of a tile's first segment. */
struct first_segment {
    uint64_t begins;
    unsigned lead;     /* elements of the tile before the segment */
    bool is_continued; /* it began in an earlier tile */

    __device__ __forceinline__ first_segment(const ragged &x, const segment_tile &tile)
        : begins(tile.segment < x.of.count ? uint64_t(x.of.offsets[tile.segment]) : x.of.elements)
    {
        const uint64_t pitch = begins > tile.element ? begins - tile.element : 0;
        lead = pitch < tile.elements ? unsigned(pitch) : tile.elements;
        is_continued = begins < tile.element;
    }
};

/* The part of a segment in a tile; after the last end, of the segment that continues beyond it. */
struct segment_part {
    unsigned begin, n;
    bool is_complete;
    bool is_single; /* an empty range: its first element */

    __device__ __forceinline__ segment_part(const ragged &x, const segment_tile &tile,
                                            const first_segment &first,
                                            shared<const uint16_t> ends_of, unsigned k)
        : is_complete(k < tile.ends)
    {
        const unsigned end = is_complete ? ends_of[k] : tile.elements;
        begin = k > 0 ? ends_of[k - 1] : first.lead;
        n = end - begin;
        is_single = n == 0 && is_complete && !x.of.may_be_empty && !(k == 0 && first.is_continued);
        if (is_single)
            n = 1;
    }
};

template <class Fold>
__device__ __forceinline__ void
store_part(const ragged &x, const segment_tile &tile, bool is_continued, const segment_part &part,
           unsigned k, const state_of<Fold> &state, global<state_of<Fold>> heads,
           global<state_of<Fold>> tails)
{
    if (!part.is_complete)
        tails[blockIdx.x] = state;
    else if (k == 0 && is_continued)
        heads[blockIdx.x] = state;
    else
        store_segment<Fold>(x, state, part.n, tile.segment + k);
}

enum { TILE_THREADS = 256 };

/* Resident blocks per multiprocessor, given the registers that values take; older ones hold 1024
 * threads. */
constexpr unsigned tile_blocks_per_sm(size_t value_bytes)
{
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
    return value_bytes > 0 ? 4 : 0;
#else
    return value_bytes > sizeof(float) ? 4 : 6;
#endif
}

} // namespace KERNELS
