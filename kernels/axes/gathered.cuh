/* Short rows that are not contiguous, or whose elements are not, are packed into shared memory: by
 * copies as wide as the contiguous units of memory; if every second element counts and rows
 * continue at that stride, by packs. */
#pragma once

#include "../load/copies.cuh"
#include "../load/stride2.cuh"
#include "along.cuh"
#include "short_row.cuh"

namespace KERNELS
{

/* Where byte k of the packs is stored. */
__device__ __forceinline__ unsigned swizzled_byte(const swizzle &swizzled, unsigned k)
{
    constexpr unsigned size = sizeof(vec16);
    return swizzled(k / size) * size + k % size;
}

/* ---- units ---- */

/* The contiguous units of the rows: units per row, and the strides in bytes of units and of
 * rows. */
struct row_units {
    global<const char> from;
    unsigned count;
    int64_t stride, pitch;
};

struct unit_cursor {
    global<const char> at;
    unsigned number, step; /* of the unit in its row, and the increment */
    int64_t stride, wrap;  /* bytes per step, and more at a row's end */

    __device__ __forceinline__ unit_cursor(const row_units &units, unsigned first, unsigned threads)
    {
        const unsigned row = first / units.count, rows = threads / units.count;
        number = first - row * units.count;
        step = threads - rows * units.count;
        at = units.from + row * units.pitch + number * units.stride;
        stride = rows * units.pitch + step * units.stride;
        wrap = units.pitch - units.count * units.stride;
    }

    __device__ __forceinline__ void advance(unsigned count)
    {
        number += step;
        at += stride;
        if (number >= count) {
            number -= count;
            at += wrap;
        }
    }
};

/* Copy units to shared memory, several at a time. Units below 4 bytes pass through registers. */
template <unsigned Bytes>
__device__ __forceinline__ void copy_units(shared<char> buffer, const row_units &units,
                                           unsigned rows, const swizzle &swizzled)
{
    constexpr unsigned at_once = 8;
    using unit = std::conditional_t<Bytes == 1, uint8_t, uint16_t>;
    const unsigned all = rows * units.count;
    unit_cursor walk(units, threadIdx.x, blockDim.x);
    unsigned k = threadIdx.x;
    if constexpr (Bytes < 4) {
#pragma unroll 1
        for (; k + (at_once - 1) * blockDim.x < all; k += at_once * blockDim.x) {
            unit some[at_once];
#pragma unroll
            for (unsigned u = 0; u < at_once; u++) {
                some[u] = *pointer_cast<const unit>(walk.at);
                walk.advance(units.count);
            }
#pragma unroll
            for (unsigned u = 0; u < at_once; u++)
                *pointer_cast<unit>(
                    buffer + swizzled_byte(swizzled, (k + u * blockDim.x) * Bytes)) = some[u];
        }
    }
#pragma unroll(Bytes < 4 ? 1 : 4)
    for (; k < all; k += blockDim.x) {
        const shared<char> to = buffer + swizzled_byte(swizzled, k * Bytes);
        if constexpr (Bytes < 4)
            *pointer_cast<unit>(to) = *pointer_cast<const unit>(walk.at);
        else
            start_copy<Bytes>(to, walk.at);
        walk.advance(units.count);
    }
}

/* ---- every second element ---- */

/* Selected elements: the block's, all before them, and all from the block's first on. */
struct every_second_share {
    unsigned n;
    uint64_t before, left;
};

/* Copy every second element to shared memory by aligned packs, except those that extend beyond the
 * whole array; the elements of these are copied singly. */
template <class In>
__device__ __forceinline__ shared<const char>
copy_every_second(shared<char> buffer, global<const In> from, const every_second_share &share,
                  const swizzle &swizzled)
{
    constexpr unsigned size = pack<In>::size, at_once = 2;
    const unsigned lead = unsigned(address_of(from) % sizeof(vec16) / sizeof(In)),
                   before = lead / 2, count = (before + share.n + size - 1) / size;
    const uint64_t available = (lead + 2 * share.left - 1) / (2 * size);
    const unsigned first = lead > 2 * share.before,
                   last = available < count ? unsigned(available) : count;
    const bool odd = is_odd(from);
    const auto packs = pointer_cast<const vec16>(from - lead);
    const auto to = pointer_cast<vec16>(buffer);
#pragma unroll 1
    for (unsigned k = first + threadIdx.x; k < last; k += at_once * blockDim.x) {
        vec16 some[at_once];
#pragma unroll
        for (unsigned u = 0; u < at_once; u++)
            if (k + u * blockDim.x < last)
                some[u] = load_every_second<In>(packs, k + u * blockDim.x, odd);
#pragma unroll
        for (unsigned u = 0; u < at_once; u++)
            if (k + u * blockDim.x < last)
                to[swizzled(k + u * blockDim.x)] = some[u];
    }
    const unsigned head = first * (size - before) < share.n ? first * (size - before) : share.n,
                   behind = last * size > before ? last * size - before : 0,
                   tail = head > behind ? head : behind,
                   single = threadIdx.x < head ? threadIdx.x : tail + (threadIdx.x - head);
    if (single < share.n)
        *pointer_cast<In>(buffer +
                          swizzled_byte(swizzled, (before + single) * unsigned(sizeof(In)))) =
            from[2 * single];
    return buffer + before * sizeof(In);
}

/* ---- rows ---- */

/* Bring a block's rows to shared memory. */
template <class In, class Rows>
__device__ __forceinline__ shared<const char> gather_rows(const kernel_axes &x, const Rows &rows,
                                                          const swizzle &swizzled)
{
    const shared<char> buffer = block_memory<char>();
    const int64_t stride = x.from.strides[0], pitch = x.outer.strides[rows.last(x)];
    const global<const char> from = rows.from + int64_t(rows.first) * pitch;
    const unsigned unit = x.launch.row.unit;
    const row_units units = {from, unsigned(x.launch.row.bytes) / unit,
                             stride == int64_t(sizeof(In)) ? unit : stride, pitch};
    shared<const char> at = buffer;
    if (x.launch.step == 2) {
        const uint64_t n = x.from.shape[0];
        at = copy_every_second(buffer, pointer_cast<const In>(from),
                               {unsigned(rows.count * n), rows.first * n, rows.left * n}, swizzled);
    } else {
        with_static_power<16, sizeof(In)>(unit, [&](auto bytes) {
            copy_units<decltype(bytes)::value>(buffer, units, rows.count, swizzled);
        });
    }
    wait_for_copies();
    __syncthreads();
    return at;
}

} // namespace KERNELS
