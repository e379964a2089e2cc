/* Strided arrays at the memory's pace: the default's own way of reading rows that do not touch, or
 * whose elements do not.
 *
 * A group of neighbouring threads, its lanes, shares a row or a stretch of a long one, so that a
 * row's place is worked out once for many elements; short rows get small groups. Each thread has
 * several loads in flight, 16-byte ones where a row's elements touch. */
#pragma once

#include "vector.cuh"

namespace KERNELS
{

/* An array of one element type, known when the kernel is compiled, at any strides. */
template <class In>
struct strided {
    layout from;
};

constexpr unsigned strided_in_flight = 8;

/* A thread's full batches of loads in a stretch. */
constexpr unsigned strided_batches = 4;

/* `count` elements of one row. */
template <class In>
struct run_of {
    const char *data;
    const unsigned char *mask;
    int64_t stride, mask_stride;
    unsigned count;
};

template <class In>
__device__ __forceinline__ const In &element_at(const char *data)
{
    return *reinterpret_cast<const In *>(data);
}

/* Elements lane, lane + lanes, ... of a run. The mask's bytes come first, all at once, then the
 * elements that it lets through. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_apart(state_of<Fold> value, const run_of<In> &x,
                                                     unsigned lane, unsigned lanes)
{
    const int64_t step = int64_t(lanes) * x.stride;
    const char *data = x.data + int64_t(lane) * x.stride;
#pragma unroll 1
    for (unsigned first = lane; first < x.count; first += lanes * strided_in_flight) {
        bool shown[strided_in_flight];
        state_of<Fold> loaded[strided_in_flight];
#pragma unroll
        for (unsigned k = 0; k < strided_in_flight; k++)
            shown[k] = first + k * lanes < x.count;
        if (x.mask) {
#pragma unroll
            for (unsigned k = 0; k < strided_in_flight; k++)
                shown[k] = shown[k] && x.mask[int64_t(first + k * lanes) * x.mask_stride];
        }
#pragma unroll
        for (unsigned k = 0; k < strided_in_flight; k++)
            loaded[k] = shown[k] ? Fold::lift(value_of<Fold>(element_at<In>(data + k * step)), 1)
                                 : Fold::identity();
#pragma unroll
        for (unsigned k = 0; k < strided_in_flight; k++)
            value = Fold::merge(value, loaded[k]);
        data += strided_in_flight * step;
    }
    return value;
}

/* The same where elements touch: packs, and what lies before and after them. */
template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_touching(state_of<Fold> value, const run_of<In> &x,
                                                        unsigned lane, unsigned lanes)
{
    const global<const In> data = reinterpret_cast<const In *>(x.data);
    const unsigned head = elements_to_boundary(data, x.count);
    const unsigned count = (x.count - head) / pack<In>::size;
    const unsigned tail = head + count * pack<In>::size;
    const unsigned singles = head + (x.count - tail);
#pragma unroll 1
    for (unsigned i = lane; i < singles; i += lanes)
        value = Fold::merge(value,
                            Fold::lift(value_of<Fold>(data[i < head ? i : tail + (i - head)]), 1));
    return fold_packs<Fold>(value, reinterpret_cast<const pack<In> *>(data + head), count, lane,
                            lanes, 1);
}

/* How many threads share a row of this length: a power of two that divides the block. */
__device__ __forceinline__ unsigned lanes_for(uint64_t length, unsigned a_thread)
{
    unsigned lanes = 1;
    while (lanes < blockDim.x && uint64_t(lanes) * a_thread < length)
        lanes *= 2;
    return lanes;
}

template <class Fold, class In>
__device__ __forceinline__ state_of<Fold> fold_vectors(const strided<In> &array, uint64_t n)
{
    const layout &from = array.from;
    const unsigned inner = from.dimensions - 1;
    const uint64_t length = from.shape[inner];
    run_of<In> x = {nullptr, nullptr, from.strides[inner], from.mask_strides[inner], 0};
    const char *const data = static_cast<const char *>(from.data);
    const unsigned char *const mask = from.mask;
    const bool touching = x.stride == sizeof(In) && !mask;
    const unsigned a_thread = touching ? pack<In>::size * packs_in_flight : strided_in_flight;
    const unsigned lanes = lanes_for(length, a_thread), lane = threadIdx.x % lanes;
    const unsigned stretch = lanes * a_thread * strided_batches;
    const uint64_t stretches = divide(length + stretch - 1, stretch);
    const uint64_t items = divide(n, length) * stretches;
    const uint64_t groups = uint64_t(gridDim.x) * blockDim.x / lanes;
    state_of<Fold> value = Fold::identity();
    for (uint64_t item = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) / lanes; item < items;
         item += groups) {
        const uint64_t number = stretches == 1 ? item : inner == 0 ? 0 : divide(item, stretches);
        const uint64_t start = (item - number * stretches) * stretch;
        const offsets at = offsets_of(from, inner, number);
        x.count = length - start < stretch ? unsigned(length - start) : stretch;
        x.data = data + at.data + int64_t(start) * x.stride;
        x.mask = mask + at.mask + int64_t(start) * x.mask_stride;
        if (touching && reinterpret_cast<uintptr_t>(x.data) % sizeof(In) == 0)
            value = fold_touching<Fold>(value, x, lane, lanes);
        else
            value = fold_apart<Fold>(value, x, lane, lanes);
    }
    return value;
}

} // namespace KERNELS
