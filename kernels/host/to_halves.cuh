/* Floats rounded to halves, several side by side without a branch, as half_of_double rounds one. */
#pragma once

#include "registers.cuh"

namespace KERNELS
{
namespace
{

constexpr unsigned halves_abreast = 4;

template <class T>
using abreast = vector<T, halves_abreast * sizeof(T)>;

/* Cut off, but odd if anything was: what is rounded to nearest after that is rounded right. */
LANES_FUNCTION abreast<float> as_floats(abreast<double> x)
{
    using bits = abreast<uint64_t>;
    constexpr uint64_t last = uint64_t(1) << 29, below = last - 1;
    const bits cut = (bits(x) & ~below) | (((bits(x) & below) + below) & last);
    return __builtin_convertvector(abreast<double>(cut), abreast<float>);
}

LANES_FUNCTION abreast<float> as_floats(abreast<float> x)
{
    return x;
}

/* Exponents get the other bias, and what is dropped rounds the rest; to add what leaves no room for
 * smaller bits rounds subnormal ones. */
template <class Float>
LANES_FUNCTION abreast<uint16_t> to_halves(abreast<Float> numbers)
{
    using bits = abreast<uint32_t>;
    using compared = abreast<int32_t>;
    constexpr int32_t least_normal = 0x38800000, beyond = 0x47800000, infinity = 0x7f800000;
    const bits x = bits(as_floats(numbers)), sign = x >> 16 & 0x8000, magnitude = x & INT32_MAX,
               odd = magnitude >> 13 & 1, room = bits(abreast<float>{} + 0.5f);
    const bits normal = (magnitude + odd + 0xfff - (112u << 23)) >> 13,
               subnormal = bits(abreast<float>(magnitude) + 0.5f) - room,
               nan = (magnitude >> 13 & 0x3ff) | 0x7e00, infinite = bits{} + 0x7c00u;
    const compared size = compared(magnitude);
    const bits finite = size < least_normal ? subnormal : normal,
               number = size >= beyond ? infinite : finite,
               half = (size > infinity ? nan : number) | sign;
    return __builtin_convertvector(half, abreast<uint16_t>);
}

} // namespace
} // namespace KERNELS
