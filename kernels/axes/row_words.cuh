/* Helpers for vectors, the elements that one load of up to 16 bytes takes. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* Element k of an array of words or of elements. */
template <class In, class Unit, unsigned N>
__device__ __forceinline__ In element_at(const Unit (&units)[N], unsigned k)
{
    In element;
    if constexpr (sizeof(In) >= sizeof(Unit)) {
        memcpy(&element, units + sizeof(In) / sizeof(Unit) * k, sizeof element);
    } else if constexpr (sizeof(In) == sizeof(uint8_t)) {
        const uint8_t bits = uint8_t(units[k / 4] >> k % 4 * 8);
        memcpy(&element, &bits, sizeof element);
    } else {
        const uint16_t bits = uint16_t(units[k / 2] >> k % 2 * 16);
        memcpy(&element, &bits, sizeof element);
    }
    return element;
}

/* A vector that repeats one element. */
template <class In>
__device__ __forceinline__ vec16 broadcast_vector(In element)
{
    pack<In> elements;
    vec16 vector;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        elements.at[k] = element;
    memcpy(&vector, &elements, sizeof vector);
    return vector;
}

/* 16 bytes from byte `begin` of 32; `begin` is a multiple of the element size. */
template <class In>
__device__ __forceinline__ vec16 extract_vector(const vec16 &low, const vec16 &high, unsigned begin)
{
    uint32_t words[8] = {low.at[0],  low.at[1],  low.at[2],  low.at[3],
                         high.at[0], high.at[1], high.at[2], high.at[3]};
    vec16 row;
#pragma unroll
    for (unsigned k = 0; k < 6; k++)
        words[k] = begin & 8 ? words[k + 2] : words[k];
#pragma unroll
    for (unsigned k = 0; k < 5 && sizeof(In) <= 4; k++)
        words[k] = begin & 4 ? words[k + 1] : words[k];
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        row.at[k] =
            sizeof(In) < 4 ? funnel_shift_right(words[k], words[k + 1], begin % 4) : words[k];
    return row;
}

/* Load `count` elements one by one; the rest of the vector repeats the first. */
template <class In>
__device__ __forceinline__ vec16 load_edge_row(const char *at, unsigned count)
{
    constexpr unsigned columns = pack<In>::size;
    pack<In> elements;
    vec16 row;
#pragma unroll
    for (unsigned c = 0; c < columns; c++)
        elements.at[c] = pointer_cast<const In>(at)[c < count ? c : 0];
    memcpy(&row, &elements, sizeof row);
    return row;
}

/* Call f with each power of two in `count`'s binary representation, largest first, as a
 * compile-time constant. `count` is less than 2 * Most. */
template <unsigned Most, class F>
__device__ __forceinline__ void for_each_static_power(unsigned count, F f)
{
    if (count & Most)
        f(std::integral_constant<unsigned, Most>());
    if constexpr (Most > 1)
        for_each_static_power<Most / 2>(count, f);
}

/* A word's bytes as numbers: booleans become 0 or 1. */
template <class In>
__device__ __forceinline__ uint32_t bytes_as_integers(uint32_t word)
{
    static_assert(sizeof(In) == 1, "bytes only");
    return std::is_same_v<In, boolean> ? nonzero_bytes(word) >> 7 : word;
}

/* The packing that adds and multiplies such numbers. */
template <class In>
using integer_packing = packing<std::conditional_t<std::is_same_v<In, uint8_t>, In, int8_t>>;

/* Transpose four rows of four bytes: byte k of column c is byte c of row k. */
struct transposed_bytes {
    uint32_t at[4];

    __device__ __forceinline__ transposed_bytes(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
    {
        const uint32_t low = permute_bytes(a, b, 0x5140),
                       low_of_others = permute_bytes(c, d, 0x5140),
                       high = permute_bytes(a, b, 0x7362),
                       high_of_others = permute_bytes(c, d, 0x7362);
        at[0] = permute_bytes(low, low_of_others, 0x5410);
        at[1] = permute_bytes(low, low_of_others, 0x7632);
        at[2] = permute_bytes(high, high_of_others, 0x5410);
        at[3] = permute_bytes(high, high_of_others, 0x7632);
    }
};

/* Call visit(column, word) with the bytes of up to four rows of a column in one word; missing rows
 * are 0. */
template <unsigned Rows, class Vector, class Visit>
__device__ __forceinline__ void for_each_byte_column(const Vector (&rows)[Rows], Visit visit)
{
    constexpr unsigned words = sizeof(Vector) / sizeof(uint32_t);
#pragma unroll
    for (unsigned first = 0; first < Rows; first += 4) {
        Vector few[4] = {};
#pragma unroll
        for (unsigned r = 0; r < 4 && r < Rows; r++)
            few[r] = rows[first + r];
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            const transposed_bytes columns(few[0].at[w], few[1].at[w], few[2].at[w], few[3].at[w]);
#pragma unroll
            for (unsigned c = 0; c < 4; c++)
                visit(4 * w + c, columns.at[c]);
        }
    }
}

} // namespace KERNELS
