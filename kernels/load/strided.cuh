/* The default method for arrays that are not flat, at memory bandwidth: rows that are not
 * contiguous, strided elements, and masks.
 *
 * A group of neighboring threads (lanes), at most a warp, shares a row or a stretch of a long one,
 * so that a row's offset is computed once for many elements; short rows get small groups. The group
 * moves through it window by window; each thread fills its slots with independent loads. The host
 * chooses the sizes. */
#pragma once

#include "../vector.cuh"
#include "counted.cuh"
#include "slots.cuh"

namespace KERNELS
{

/* Counterpart of struct kernel_rows. */
struct strided : kernel_rows {};

/* A stretch of a row. */
struct stretch {
    const char *data; /* element 0 of the row */
    const unsigned char *mask;
    uint64_t position; /* of element 0 in the array */
    int64_t begin;     /* negative if the stretch begins before the row */
    bool in_runs;      /* it is aligned, so runs can be loaded */
};

/* Stretch number `item`; elements are at offset `base` from the array's. */
template <class Layout>
__device__ __forceinline__ stretch stretch_of(const Layout &from, const kernel_stretches &array,
                                              uint64_t item, const offsets &base)
{
    const unsigned inner = from.dimensions - 1;
    const uint64_t number = array.stretches == 1 ? item : inner == 0 ? 0 : item / array.stretches;
    const offsets at = offsets_of(from, inner, number);
    const char *const data = static_cast<const char *>(from.data) + base.data + at.data;
    const unsigned before = unsigned(reinterpret_cast<uintptr_t>(data) % 16) >> array.bytes;
    const unsigned lead = array.aligns ? before : 0;
    return {data, from.mask ? from.mask + base.mask + at.mask : nullptr,
            array.base + number * from.shape[inner],
            int64_t((item - number * array.stretches) << array.stretch) - lead,
            array.run > 0 && before == lead};
}

/* The end of a stretch, at most that of its row. */
template <class Layout>
__device__ __forceinline__ int64_t end_of(const Layout &from, const kernel_stretches &array,
                                          const stretch &x)
{
    const int64_t end = x.begin + (int64_t(1) << array.stretch),
                  length = from.shape[from.dimensions - 1];
    return end < length ? end : length;
}

/* Whether several narrow elements are loaded per slot, out of order: if the fold has a small state,
 * there are registers for it. */
template <class Fold>
constexpr bool loads_packed =
    !is_indexed<Fold>::value && sizeof(state_of<Fold>) <= sizeof(uint64_t) &&
    sizeof(value_of<Fold>) <= sizeof(uint64_t);

/* Whether the fold is used for means of floats, so that unmasked elements are counted; the host's
 * counterpart is fold_gives_mean. Other folds lack the registers to count. */
template <class Fold>
constexpr bool used_for_means = false;

template <class V>
constexpr bool used_for_means<sum<V>> = !std::is_integral_v<V>;

/* Accumulate a thread's part (`lane` of its group) of the window that begins at element `begin` of
 * the row, in a stretch that ends at `end`. Returns the number of elements in the window and, if
 * `Counts`, adds the number of unmasked ones to `valid`. If `FastPath`, a second copy of the code
 * handles the case that all slots are filled without checking them. */
template <class Fold, bool Counts = used_for_means<Fold>, bool FastPath = true, class Layout>
__device__ __forceinline__ unsigned
accumulate_window(state_of<Fold> &state, unsigned &valid, const Layout &from,
                  const kernel_stretches &array, const stretch &x, int64_t begin, int64_t end,
                  unsigned lane)
{
    constexpr unsigned N = slots_per_thread<value_of<Fold>>;
    using word = typename slot<value_of<Fold>>::type;
    const unsigned inner = from.dimensions - 1, window = N << array.lanes;
    const int64_t stride = from.strides[inner], rest = end - begin;
    const bool whole = begin >= 0 && rest >= window;
    const bool packed = loads_packed<Fold> && x.in_runs && !x.mask && begin >= 0 &&
                        rest >= int64_t(window) << array.packing;
    const unsigned packing = packed ? array.packing : 0;
    const unsigned run = packed ? 4 - array.bytes : whole && x.in_runs ? array.run : 0;
    const unsigned pitch = run + array.lanes;
    const int offset = int(lane << run);
    const slot_positions slots = {x.position + uint64_t(begin + offset), run, pitch};
    const char *const at = x.data + (begin + offset) * stride;
    const int64_t step = stride * (int64_t(1) << pitch);
    uint32_t present = low_bits(N);
    word words[N];
    if (whole) {
        load_words(words, 1u << (array.bytes + packing), all_slots{at, step, run > 0});
    } else {
        present = slots.before(rest < window ? int(rest) - offset : int(window)) &
                  ~slots.before(begin < 0 ? int(-begin) - offset : 0);
        load_words(words, 1u << array.bytes, some_slots{at, step, present});
    }
    if (x.mask) {
        const int64_t mask_stride = from.mask_strides[inner];
        const unsigned char *const mask = x.mask + (begin + offset) * mask_stride;
        if (N >= 4 && run >= 2 && mask_stride == 1 && begin >= 4 &&
            int64_t(from.shape[inner]) - begin >= window + 4)
            present = mask_by_words<N>(mask, slots);
        else
            present = mask_by_bytes<N>(mask, mask_stride, slots, present);
        if (Counts)
            valid += __popc(present);
    }
    for (unsigned part = 0;;) {
        value_of<Fold> values[N];
        decode(values, words, from.input);
        if (FastPath && present == low_bits(N))
            accumulate_values<Fold>(state, values, slots, all_valid());
        else
            accumulate_values<Fold>(state, values, slots, valid_bits{present});
        if (++part >> packing)
            return window << packing;
        shift_words(words, 1u << array.bytes);
    }
}

template <class Fold>
__device__ __forceinline__ state_of<Fold> fold_vectors(const strided &rows, uint64_t)
{
    const layout &from = rows.from;
    const kernel_stretches &array = rows.how;
    const uint64_t groups = threads_in_grid() >> array.lanes;
    const unsigned lane = threadIdx.x & ((1u << array.lanes) - 1);
    state_of<Fold> state = Fold::identity();
    unsigned valid = 0;
#pragma unroll 1
    for (uint64_t item = rank_in_grid() >> array.lanes; item < array.items; item += groups) {
        const stretch x = stretch_of(from, array, item, {0, 0});
        const int64_t end = end_of(from, array, x);
#pragma unroll 1
        for (int64_t i = x.begin; i < end;)
            i += accumulate_window<Fold>(state, valid, from, array, x, i, end, lane);
    }
    if (used_for_means<Fold> && array.counted)
        add_count(array.counted, valid);
    return state;
}

} // namespace KERNELS
