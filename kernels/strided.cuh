/* Strided arrays at the memory's pace: the default's own way of reading rows whose elements do not
 * touch.
 *
 * A group of neighbouring threads shares a row, or a stretch of a long one, so that a row's place
 * is worked out once for many elements; each thread has several loads in flight. Short rows get
 * small groups. */
#pragma once

#include "vector.cuh"

namespace KERNELS
{

/* An array of one element type, known when the kernel is compiled, at any strides. */
template <class In>
struct strided {
    global<const source> from;
};

constexpr unsigned strided_in_flight = 8;

/* One row, or a stretch of one. */
template <class In>
struct row {
    const char *data;
    const unsigned char *mask;
    int64_t stride, mask_stride;
};

template <class Op, class Acc, class In>
__device__ __forceinline__ Acc load(const row<In> &x, uint64_t j)
{
    if (x.mask && !x.mask[int64_t(j) * x.mask_stride])
        return Op::template identity<Acc>();
    return Acc(*reinterpret_cast<const In *>(x.data + int64_t(j) * x.stride));
}

/* Elements start + lane, start + lane + lanes, ... of a row, below `end`: as many as may be in
 * flight at most. */
template <class Op, class Acc, class In>
__device__ __forceinline__ Acc fold_stretch(Acc value, const row<In> &x, uint64_t start,
                                            uint64_t end, unsigned lanes)
{
    const uint64_t first = start + threadIdx.x % lanes;
    Acc loaded[strided_in_flight];
#pragma unroll
    for (unsigned k = 0; k < strided_in_flight; k++)
        loaded[k] = first + k * lanes < end ? load<Op, Acc>(x, first + k * lanes)
                                            : Op::template identity<Acc>();
#pragma unroll
    for (unsigned k = 0; k < strided_in_flight; k++)
        value = Op::combine(value, loaded[k]);
    return value;
}

/* How many threads share a row of this length: a power of two that divides the block. */
__device__ __forceinline__ unsigned lanes_for(uint64_t length)
{
    unsigned lanes = 1;
    while (lanes < blockDim.x && lanes * strided_in_flight < length)
        lanes *= 2;
    return lanes;
}

template <class Op, class Acc, class In>
__device__ __forceinline__ Acc fold_vectors(strided<In> array, uint64_t n)
{
    const global<const source> from = array.from;
    const unsigned inner = from->dimensions - 1;
    const uint64_t length = from->shape[inner];
    const unsigned lanes = lanes_for(length);
    const uint64_t stretch = uint64_t(lanes) * strided_in_flight;
    const uint64_t stretches = divide(length + stretch - 1, stretch);
    const uint64_t items = divide(n, length) * stretches;
    const uint64_t groups = uint64_t(gridDim.x) * blockDim.x / lanes;
    row<In> x = {nullptr, nullptr, from->strides[inner], from->mask_strides[inner]};
    Acc value = Op::template identity<Acc>();
    for (uint64_t item = (uint64_t(blockIdx.x) * blockDim.x + threadIdx.x) / lanes; item < items;
         item += groups) {
        const uint64_t number = stretches == 1 ? item : divide(item, stretches);
        const uint64_t start = (item - number * stretches) * stretch;
        const uint64_t end = start + stretch < length ? start + stretch : length;
        const place at = place_of(from, inner, number);
        x.data = static_cast<const char *>(from->data) + at.data;
        x.mask = from->mask ? from->mask + at.mask : nullptr;
        value = fold_stretch<Op>(value, x, start, end, lanes);
    }
    return value;
}

} // namespace KERNELS
