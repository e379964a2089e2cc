/* Copies rows of elements of any type to a contiguous buffer, byte-swapped or not. Memory may be
 * read only between the first and the last byte of a row's elements. */
#pragma once

#include "registers.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{
namespace
{

template <class V>
FORCEINLINE void store(char *at, V value)
{
    memcpy(at, &value, sizeof value);
}

/* Elements of several parts, each of which is byte-swapped or not. */
template <class Part, unsigned Parts, bool Swapped>
struct row_copy {
    struct element {
        Part parts[Parts];
    };
    static constexpr unsigned size = sizeof(element), line = 64;

    NOINLINE static void copy(const char *at, int64_t stride, uint64_t n, char *to)
    {
        if (stride == size)
            return copy_contiguous(at, n * size, to);
        copy_strided(at, stride, n, to);
        for (uint64_t i = 0; Swapped && i < n * size; i += sizeof(Part))
            store(to + i, swapped(load<Part>(to + i)));
    }

  private:
    FORCEINLINE static Part swapped(Part x)
    {
        if constexpr (!Swapped)
            return x;
        else if constexpr (sizeof(Part) == 2)
            return __builtin_bswap16(x);
        else if constexpr (sizeof(Part) == 4)
            return __builtin_bswap32(x);
        else
            return __builtin_bswap64(x);
    }

    FORCEINLINE static void copy_contiguous(const char *__restrict at, uint64_t bytes,
                                            char *__restrict to)
    {
        for (uint64_t i = 0; i < bytes; i += sizeof(Part))
            store(to + i, swapped(load<Part>(at + i)));
    }

    /* Copies without byte swapping. At a stride of two elements, both are loaded and one is
     * dropped, except at the end, beyond which nothing may be read. */
    FORCEINLINE static void copy_strided(const char *at, int64_t stride, uint64_t n, char *to)
    {
        uint64_t i = 0;
        if constexpr (Parts == 1) {
            constexpr unsigned lanes = register_bytes / size;
            for (; stride == 2 * size && i + lanes < n; i += lanes)
                store(to + i * size, KERNELS::deinterleaved<Part>(at + i * (2 * size)).first);
        }
        at += (int64_t)i * stride;
        _Pragma("GCC unroll 4") for (; i < n; i++, at += stride)
            store(to + i * size, load<element>(at));
    }
};

/* ---- masks ---- */

#if defined(__AVX2__) && !defined(__clang__)
constexpr bool has_shuffles = true; /* with lane numbers known at run time */
#else
constexpr bool has_shuffles = false;
#endif

/* For each mask of `Lanes` bits, the numbers of the bits that are set, as the indices of a
 * shuffle. */
template <class Part, unsigned Lanes>
struct set_bits {
    Part at[1 << Lanes][Lanes] = {};

    constexpr set_bits()
    {
        for (unsigned bits = 0; bits < 1 << Lanes; bits++)
            for (unsigned k = 0, count = 0; k < Lanes; k++)
                if (bits >> k & 1)
                    at[bits][count++] = Part(k);
    }
};

template <class Part, unsigned Lanes>
constexpr set_bits<Part, Lanes> set_bit_indices;

/* Copies unmasked elements of rows that are not byte-swapped. */
template <class Part, unsigned Parts>
struct row_compaction {
    using plain = row_copy<Part, Parts, false>;
    static constexpr unsigned size = plain::size;

    /* Elements and mask are contiguous. Stores whole registers: there is room for masked elements
     * too. */
    NOINLINE static char *compact(const char *at, const unsigned char *mask, uint64_t n, char *to)
    {
        uint64_t i = 0;
        for (; i + BYTES_PER_LOAD <= n; i += BYTES_PER_LOAD)
            to = compact_16(at + i * size, bytes_to_bits(mask + i), to);
        for (; i < n; i++)
            to = compact_1(at + i * size, mask[i], to);
        return to;
    }

  private:
    static constexpr unsigned lanes = size < 8 ? 8 : 4; /* the table would be too large for more */

    /* 8 bytes are loaded to the lower half of a register. */
    FORCEINLINE static auto lanes_at(const void *at)
    {
        if constexpr (lanes * size == 8)
            return vector<Part, 16>(vector<uint64_t, 16>{load<uint64_t>(at)});
        else
            return load<vector<Part, lanes * size>>(at);
    }

    FORCEINLINE static char *compact_1(const char *at, bool is_valid, char *to)
    {
        store(to, load<typename plain::element>(at));
        return to + (is_valid ? size : 0);
    }

    FORCEINLINE static char *compact_lanes(const char *at, unsigned bits, char *to)
    {
        const auto packed =
            __builtin_shuffle(lanes_at(at), lanes_at(set_bit_indices<Part, lanes>.at[bits]));
        memcpy(to, &packed, lanes * size);
        return to + unsigned(__builtin_popcount(bits)) * size;
    }

    /* Often all or none are valid, since masks have long runs. */
    FORCEINLINE static char *compact_16(const char *at, unsigned bits, char *to)
    {
        if (bits == 0)
            return to;
        if (bits == 0xffff) {
            memcpy(to, at, 16 * size);
            return to + 16 * size;
        }
        if constexpr (has_shuffles && Parts == 1)
            for (unsigned k = 0; k < 16; k += lanes)
                to = compact_lanes(at + k * size, bits >> k & ((1u << lanes) - 1), to);
        else
            for (unsigned k = 0; k < 16; k++)
                to = compact_1(at + k * size, bits >> k & 1, to);
        return to;
    }
};

/* Elements and mask bytes that are not contiguous are copied to a buffer first, in blocks. A mask
 * that is constant along the row selects all of it or nothing. */
template <class Part, unsigned Parts, bool Swapped>
FORCEINLINE char *masked_row(const struct tile *tile, const char *at, const unsigned char *mask,
                             char *to)
{
    using rows = row_copy<Part, Parts, Swapped>;
    constexpr unsigned size = rows::size, block = 2048 / size;
    const uint64_t n = tile->columns;
    const bool in_place = tile->column_stride == size && !Swapped,
               mask_in_place = tile->mask_column_stride == 1;
    if (tile->mask_column_stride == 0) {
        if (!*mask)
            return to;
        rows::copy(at, tile->column_stride, n, to);
        return to + n * size;
    }
    if (in_place && mask_in_place)
        return row_compaction<Part, Parts>::compact(at, mask, n, to);
    for (uint64_t i = 0; i < n; i += block) {
        alignas(64) char elements[block * size];
        alignas(64) char bytes[block];
        const uint64_t length = n - i < block ? n - i : block;
        const char *from = at + (int64_t)i * tile->column_stride;
        const char *valid = (const char *)mask + (int64_t)i * tile->mask_column_stride;
        if (!in_place) {
            rows::copy(from, tile->column_stride, length, elements);
            from = elements;
        }
        if (!mask_in_place) {
            row_copy<uint8_t, 1, false>::copy(valid, tile->mask_column_stride, length, bytes);
            valid = bytes;
        }
        to = row_compaction<Part, Parts>::compact(from, (const unsigned char *)valid, length, to);
    }
    return to;
}

/* ---- tiles ---- */

template <class Part, unsigned Parts, bool Swapped>
uint64_t copy_all(const struct tile *tile, char *target)
{
    using rows = row_copy<Part, Parts, Swapped>;
    const char *at = tile->at;
    for (uint64_t row = 0; row < tile->rows; row++, at += tile->row_stride)
        rows::copy(at, tile->column_stride, tile->columns,
                   target + row * tile->columns * rows::size);
    return tile->rows * tile->columns;
}

template <class Part, unsigned Parts, bool Swapped>
uint64_t copy_valid(const struct tile *tile, char *target)
{
    const char *at = tile->at;
    const unsigned char *mask = tile->mask;
    char *end = target;
    for (uint64_t row = 0; row < tile->rows; row++) {
        end = masked_row<Part, Parts, Swapped>(tile, at, mask, end);
        at += tile->row_stride;
        mask += tile->mask_row_stride;
    }
    return uint64_t(end - target) / (sizeof(Part) * Parts);
}

/* ---- masked elements ---- */

/* Selects by bit operations, which compilers vectorize; a branch would be mispredicted. */
template <class Bits>
void fill(void *elements, uint64_t n, const unsigned char *mask, const union scalar *neutral)
{
    const Bits replacement = load<Bits>(neutral);
    Bits *const x = static_cast<Bits *>(elements);
    for (uint64_t k = 0; k < n; k++)
        x[k] = Bits((x[k] & -Bits(mask[k] != 0)) | (replacement & (Bits(mask[k] != 0) - 1)));
}

} // namespace
} // namespace KERNELS
