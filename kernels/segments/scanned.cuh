/* Segmented reduction of a tile in shared memory. Every thread folds the same number of elements,
 * however long segments are, and stores a segment's state in place of its last element. A scan adds
 * what earlier threads have accumulated of a segment that ends among the thread's elements. */
#pragma once

#include "../axes/along.cuh"
#include "../hopper.cuh"
#include "../load/copies.cuh"
#include "ragged.cuh"

namespace KERNELS
{

/* Elements per thread: an odd number of packs, so that neighboring threads read from different
 * banks. */
template <class V>
constexpr unsigned elements_per_thread = SCANNED_BYTES / sizeof(V);

static_assert(SCANNED_BYTES / sizeof(pack<float>) % 2 == 1);
static_assert(elements_per_thread<float> <= 32, "a word marks them");

/* ---- elements in shared memory ---- */

/* Brings elements to shared memory by copies that every thread starts. They have the same offset
 * from a 16-byte boundary as in global memory. */
struct thread_load {
    shared<const char> transfer;

    __device__ __forceinline__ explicit thread_load(shared<char>) {}

    template <class V>
    __device__ __forceinline__ void start(shared<char> buffer, global<const char> from,
                                          unsigned bytes)
    {
        transfer = start_copies(buffer, from, bytes);
    }

    __device__ __forceinline__ void wait() const
    {
        wait_for_copies();
    }
};

/* The first architecture with bulk copies. */
#define BULK_ARCHITECTURE 900

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= BULK_ARCHITECTURE

/* The same by one bulk copy that a single thread starts. */
struct bulk_load {
    shared<mbarrier> transfer;

    /* Called by all threads, before a barrier. */
    __device__ __forceinline__ explicit bulk_load(shared<char> barrier)
        : transfer(pointer_cast<mbarrier>(barrier))
    {
        if (threadIdx.x == 0) {
            mbarrier_init(transfer, 1);
            mbarrier_fence();
        }
    }

    /* The few elements outside of packs are copied separately. */
    template <class V>
    __device__ __forceinline__ void start(shared<char> buffer, global<const char> bytes_from,
                                          unsigned bytes) const
    {
        constexpr unsigned size = pack<V>::size;
        const global<const V> from = pointer_cast<const V>(bytes_from);
        const shared<V> to = pointer_cast<V>(buffer + address_of(from) % sizeof(pack<V>));
        const unsigned n = bytes / unsigned(sizeof(V)), before = elements_to_boundary(from, n),
                       inner = (n - before) / size * size, single = threadIdx.x,
                       place = single < before ? single : inner + single;
        if (threadIdx.x == 0) {
            mbarrier_arrive(transfer, inner * unsigned(sizeof(V)));
            if (inner > 0)
                bulk_copy(to + before, from + before, inner * unsigned(sizeof(V)), transfer);
        }
        if (single < 2 * size && place < n)
            start_copy<sizeof(V)>(to + place, from + place);
    }

    __device__ __forceinline__ void wait() const
    {
        wait_for_copies();
        mbarrier_wait(transfer, 0);
    }
};

#else

using bulk_load = thread_load;

#endif

/* The contents of a tile: the elements as they are, if they are values and a state fits in place of
 * one; otherwise states of one element each. */
template <class Fold, bool Unconverted>
using staged_type = std::conditional_t<Unconverted, value_of<Fold>, state_of<Fold>>;

/* A tile in shared memory. Places are counted from the pack that contains its first element. */
template <class Fold, bool Unconverted>
struct scanned_tile {
    using V = staged_type<Fold, Unconverted>;
    shared<V> data;         /* of place 0 */
    shared<uint32_t> marks; /* per thread: which of its elements end something */
    shared<uint16_t> ends;  /* segment ends, counted from the tile's first element */
    unsigned shift;         /* place of the tile's first element */
    std::conditional_t<Unconverted, bulk_load, thread_load> elements;

    /* Initially nothing is marked. */
    __device__ __forceinline__ scanned_tile()
        : marks(block_memory<uint32_t>()), elements(element_buffer() - SCAN_BARRIER)
    {
        marks[threadIdx.x] = 0;
    }

    static __device__ __forceinline__ shared<char> element_buffer()
    {
        return block_memory<char>() + blockDim.x * SCAN_MARKS + SCAN_OF_WARPS + SCAN_BARRIER;
    }

    __device__ __forceinline__ void mark(unsigned place) const
    {
        atomicOr(marks + place / elements_per_thread<V>, 1u << place % elements_per_thread<V>);
    }

    /* Start copying the elements. */
    __device__ __forceinline__ void start(const ragged &x, const segment_tile &tile)
    {
        const char *const from = element_at(x, tile.element);
        const unsigned bytes = tile.elements * unsigned(sizeof(V));
        data = pointer_cast<V>(element_buffer());
        ends = pointer_cast<uint16_t>(element_buffer() + (bytes + 2 * 15) / 16 * 16);
        shift = 0;
        if constexpr (Unconverted) {
            shift = unsigned(address_of(from) % sizeof(pack<V>) / sizeof(V));
            elements.template start<V>(element_buffer(), from, bytes);
        } else {
            const shared<char> raw_elements = pointer_cast<char>(ends + (tile.ends + 7) / 8 * 8);
            elements.template start<V>(raw_elements, from, tile.elements << x.bytes);
        }
    }

    /* Convert elements to states. */
    __device__ __forceinline__ void convert_elements(const ragged &x, unsigned n) const
    {
        __syncthreads();
        for_each_batch<Fold>(x, elements.transfer, n, threadIdx.x, x.block,
                             [&](const auto &values, const auto &positions, auto valid) {
#pragma unroll
                                 for (unsigned k = 0; k < elements_per_batch; k++)
                                     if (valid(k))
                                         data[positions(k)] = Fold::lift(values[k], 0);
                             });
    }

    /* Load the tile and mark where segments end; also the elements before the first segment, and
     * those of the segment that continues after the tile. Called by all threads. */
    __device__ __forceinline__ first_segment load(const ragged &x, const segment_tile &tile)
    {
        start(x, tile);
        for (unsigned j = threadIdx.x; j < tile.ends; j += blockDim.x) {
            const uint64_t k = tile.segment + j, end = end_of_segment(x.of, k);
            const unsigned within = unsigned(end - tile.element), place = shift + within;
            ends[j] = uint16_t(within);
            if (uint64_t(x.of.offsets[k]) != end && place > 0)
                mark(place - 1);
        }
        const first_segment first(x, tile);
        if (threadIdx.x == 0 && shift + first.lead > 0)
            mark(shift + first.lead - 1);
        if (threadIdx.x == 0 && tile.elements > 0)
            mark(shift + tile.elements - 1);
        elements.wait();
        if constexpr (!Unconverted)
            convert_elements(x, tile.elements);
        __syncthreads();
        return first;
    }
};

/* ---- the scan ---- */

/* Fold a thread's elements, and store the state at each mark. Returns the state after the last
 * mark. */
template <class Fold, bool Unconverted>
__device__ __forceinline__ state_of<Fold> fold_to_marks(shared<staged_type<Fold, Unconverted>> data,
                                                        uint32_t marks)
{
    using packed = pack<staged_type<Fold, Unconverted>>;
    constexpr unsigned packs = SCANNED_BYTES / sizeof(packed);
    const shared<const packed> from = pointer_cast<const packed>(data);
    packed loaded[packs];
    state_of<Fold> state = Fold::identity();
#pragma unroll
    for (unsigned p = 0; p < packs; p++)
        loaded[p] = from[p];
#pragma unroll
    for (unsigned k = 0; k < packs * packed::size; k++) {
        const auto x = loaded[k / packed::size].at[k % packed::size];
        if constexpr (Unconverted)
            state = Fold::merge(state, Fold::lift(x, 0));
        else
            state = Fold::merge(state, x);
        if (marks >> k & 1) {
            *pointer_cast<state_of<Fold>>(data + k) = state;
            state = Fold::identity();
        }
    }
    return state;
}

/* What earlier threads have accumulated since the last mark. By all threads of a block. */
template <class Fold>
__device__ __forceinline__ state_of<Fold> carry_in(state_of<Fold> open_state, bool marked)
{
    struct warp_state {
        state_of<Fold> open_state;
        unsigned marked;
    };
    static_assert(sizeof(warp_state) * (TILE_THREADS / warp_size) <= SCAN_OF_WARPS);
    const shared<warp_state> warp_states =
        pointer_cast<warp_state>(block_memory<char>() + blockDim.x * SCAN_MARKS);
    const unsigned lane = threadIdx.x % warp_size, warp = threadIdx.x / warp_size,
                   votes = __ballot_sync(whole_warp, marked),
                   since = warp_size - 1 - __clz(int((votes & low_bits(lane + 1)) | 1));
#pragma unroll
    for (unsigned offset = 1; offset < warp_size; offset *= 2) {
        const state_of<Fold> other = shuffle_up(open_state, offset);
        if (lane >= since + offset)
            open_state = Fold::merge(other, open_state);
    }
    if (lane == warp_size - 1)
        warp_states[warp] = {open_state, votes};
    __syncthreads();
    state_of<Fold> carried = shuffle_up(open_state, 1);
    if (lane == 0)
        carried = Fold::identity();
    if (votes & low_bits(lane))
        return carried;
#pragma unroll 1
    for (unsigned k = warp; k-- > 0;) {
        carried = Fold::merge(warp_states[k].open_state, carried);
        if (warp_states[k].marked)
            break;
    }
    return carried;
}

/* ---- the kernel ---- */

/* The state of a tile's part of a segment, once states have been stored in place of elements. */
template <class Fold, bool Unconverted>
__device__ __forceinline__ state_of<Fold> state_of_part(const ragged &x, const segment_tile &tile,
                                                        const segment_part &part,
                                                        shared<const state_of<Fold>> last)
{
    const char *const single = element_at(x, tile.element + part.begin);
    state_of<Fold> state = Fold::identity();
    if (!part.is_single)
        return part.n > 0 ? *last : state;
    if constexpr (Unconverted)
        state = Fold::lift(*pointer_cast<const value_of<Fold>>(single), 0);
    else
        accumulate_elements<Fold>(state, x, single, 1u, 0, 0);
    return state;
}

/* Find this block's tile; returns false if offsets are not sorted. All words are loaded together,
 * before it is known whether the splits have been stored; they are 0 if not. */
__device__ __forceinline__ bool find_tile(const ragged &x, segment_tile &tile)
{
    const uint64_t number = blockIdx.x;
    const volatile uint64_t *const splits = x.splits + number;
    const uint64_t first = splits[0], last = splits[1];
    const unsigned unsorted = *static_cast<const volatile unsigned *>(x.order);
    tile = segment_tile(x, number, first, last);
    return !unsorted;
}

template <class Fold, bool Unconverted>
__global__ void __launch_bounds__(TILE_THREADS, tile_blocks_per_sm(sizeof(value_of<Fold>)))
    scan_tiles(SHARED_PARAMETER(ragged) x, global<state_of<Fold>> heads,
               global<state_of<Fold>> tails)
{
    using staged_element = staged_type<Fold, Unconverted>;
    scanned_tile<Fold, Unconverted> staged;
    segment_tile tile;
    __syncthreads();
    wait_for_previous_launch();
    if (!find_tile(x, tile))
        return;
    const first_segment head = staged.load(x, tile);
    allow_next_launch();
    const unsigned first = threadIdx.x * elements_per_thread<staged_element>;
    const shared<staged_element> thread_data = staged.data + first;
    const uint32_t marks = staged.marks[threadIdx.x];
    state_of<Fold> open_state = Fold::identity();
    if (first < staged.shift + tile.elements)
        open_state = fold_to_marks<Fold, Unconverted>(thread_data, marks);
    const state_of<Fold> carried = carry_in<Fold>(open_state, marks != 0);
    if (marks != 0) {
        const unsigned lowest = warp_size - 1 - __clz(int(marks & (0 - marks)));
        const shared<state_of<Fold>> target = pointer_cast<state_of<Fold>>(thread_data + lowest);
        *target = Fold::merge(carried, *target);
    }
    __syncthreads();
#pragma unroll 1
    for (unsigned k = threadIdx.x; k <= tile.ends; k += blockDim.x) {
        const segment_part part(x, tile, head, staged.ends, k);
        const state_of<Fold> state = state_of_part<Fold, Unconverted>(
            x, tile, part,
            pointer_cast<const state_of<Fold>>(staged.data + staged.shift + part.begin + part.n -
                                               1));
        store_part<Fold>(x, tile, head.is_continued, part, k, state, heads, tails);
    }
}

} // namespace KERNELS
