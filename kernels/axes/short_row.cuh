/* Access to the elements of a short row (row_folds.cuh): in registers, or in shared memory, where a
 * team, one thread or a few of a warp, reads it. */
#pragma once

#include "../load/copies.cuh"

namespace KERNELS
{

/* The type in which folds of rows take elements: words for bytes. */
template <class In>
using unit_of = std::conditional_t<sizeof(In) == 1, uint32_t, In>;

/* Call f with `size` as a compile-time constant; it is a power of two from Least to Most. */
template <unsigned Most, unsigned Least, class F>
__device__ __forceinline__ void with_static_power(unsigned size, F f)
{
    if constexpr (Most > Least)
        if (size != Most)
            return with_static_power<Most / 2, Least>(size, f);
    f(std::integral_constant<unsigned, Most>());
}

/* ---- rows in registers ---- */

/* The first `count` bytes of a word, padded with those of `fill`. */
__device__ __forceinline__ uint32_t padded_elements(uint32_t word, unsigned count, uint32_t fill)
{
#ifdef __CUDA_ARCH__
    return __byte_perm(word, fill, 0x4444 << 4 * count | (0x3210 & ((1 << 4 * count) - 1)));
#else
    const uint32_t mask = (1u << 8 * count) - 1;
    return (word & mask) | (fill & ~mask);
#endif
}

/* A row of few elements in one thread's registers. */
template <class In, unsigned N>
struct row_in_registers {
    const unit_of<In> *units;
    unsigned first;

    __device__ __forceinline__ row_in_registers(const unit_of<In> *load, unsigned row)
        : units(load), first(row * N)
    {
    }

    __device__ __forceinline__ unsigned begin() const
    {
        return 0;
    }

    static __host__ __device__ constexpr unsigned step()
    {
        return 1;
    }

    template <class F>
    __device__ __forceinline__ void for_each(uint32_t fill, F f) const
    {
        constexpr unsigned per_unit = sizeof(unit_of<In>) / sizeof(In);
        unit_of<In> x[(N + per_unit - 1) / per_unit];
#pragma unroll
        for (unsigned k = 0; k < N; k += per_unit) {
            const unsigned at = first + k, offset = at % per_unit,
                           count = N - k < per_unit ? N - k : per_unit;
            auto unit = units[at / per_unit];
            if constexpr (per_unit > 1) {
                if (offset)
                    unit = funnel_shift_right(unit, offset + count > 4 ? units[at / 4 + 1] : 0,
                                              offset);
                if (count < per_unit)
                    unit = padded_elements(unit, count, fill);
            }
            x[k / per_unit] = unit;
        }
        f(x, 0);
    }

    template <class T, class F>
    __device__ __forceinline__ T all_reduce(T x, F) const
    {
        return x;
    }
};

/* ---- rows in shared memory ---- */

/* Swizzle of packs in shared memory: a pack's place among eight, which span all banks, also depends
 * on its row, so that several threads read packs from different banks. */
struct swizzle {
    unsigned mask, shift;

    __device__ __forceinline__ unsigned operator()(unsigned number) const
    {
        return number ^ (number >> shift & mask);
    }
};

/* A thread's parameters for all of its rows. */
struct team_share {
    unsigned n, loads; /* elements of a row, and full loads */
    unsigned team, number;
    swizzle swizzled;
};

template <class In>
struct row_of_team {
    const team_share &share;
    shared<const char> at;

    static __host__ __device__ constexpr unsigned step()
    {
        return 1;
    }

    /* merge must be commutative. */
    template <class T, class F>
    __device__ __forceinline__ T all_reduce(T x, F merge) const
    {
#pragma unroll 1
        for (unsigned bits = 1u << share.team >> 1; bits > 0; bits /= 2)
            x = merge(x, shuffle_xor(x, bits));
        return x;
    }
};

/* A row that is a multiple of `Bytes`, the size of a load, read by a team or by one thread. */
template <class In, unsigned Bytes, bool SingleThread>
struct row_of_loads : row_of_team<In> {
    using row_of_team<In>::share;
    using row_of_team<In>::at;
    static constexpr unsigned elements = Bytes / sizeof(In), units = Bytes / sizeof(unit_of<In>),
                              at_once = Bytes < 16 ? 4 : 1;
    using load = pack<unit_of<In>, units>;
    unsigned before; /* loads in front of the row */

    __device__ __forceinline__ row_of_loads(const team_share &all, shared<const char> staged,
                                            unsigned row)
        : row_of_team<In>{all, staged}, before(row * all.loads)
    {
    }

    __device__ __forceinline__ unsigned begin() const
    {
        return share.number * elements;
    }

    __device__ __forceinline__ shared<const load> load_at(unsigned k) const
    {
        const unsigned number = before + k;
        return pointer_cast<const load>(at) + (Bytes == 16 ? share.swizzled(number) : number);
    }

    template <class F>
    __device__ __forceinline__ void for_each(uint32_t, F f) const
    {
        const unsigned step = SingleThread ? 1 : 1u << share.team;
        unsigned k = SingleThread ? 0 : share.number;
        if constexpr (SingleThread && at_once > 1) {
#pragma unroll 1
            for (; k + at_once <= share.loads; k += at_once) {
                unit_of<In> x[at_once * units];
#pragma unroll
                for (unsigned j = 0; j < at_once; j++) {
                    const load loaded = *load_at(k + j);
#pragma unroll
                    for (unsigned i = 0; i < units; i++)
                        x[j * units + i] = loaded.at[i];
                }
                f(x, k * elements);
            }
        }
#pragma unroll(SingleThread ? 1 : 4)
        for (; k < share.loads; k += step) {
            const load loaded = *load_at(k);
            f(loaded.at, k * elements);
        }
    }
};

/* A row of 1-byte elements at any alignment. */
struct row_of_bytes : row_of_team<int8_t> {
    __device__ __forceinline__ row_of_bytes(const team_share &all, shared<const char> staged,
                                            unsigned row)
        : row_of_team<int8_t>{all, staged + row * all.n}
    {
    }

    template <class F>
    __device__ __forceinline__ void for_each(uint32_t fill, F f) const
    {
        const unsigned offset = unsigned(address_of(at) % 4), words = share.n / 4;
        const shared<const uint32_t> from = pointer_cast<const uint32_t>(at - offset);
        const unsigned step = 1u << share.team;
        unsigned k = share.number;
#pragma unroll 4
        for (; k < words; k += step) {
            const uint32_t x[1] = {funnel_shift_right(from[k], from[k + 1], offset)};
            f(x, 4 * k);
        }
        const unsigned rest = share.n % 4;
        if (k == words && rest) {
            const uint32_t x[1] = {
                padded_elements(funnel_shift_right(from[k], from[k + 1], offset), rest, fill)};
            f(x, 4 * k);
        }
    }
};

} // namespace KERNELS
