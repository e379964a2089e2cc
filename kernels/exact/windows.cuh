/* A thread's windows: float64 accumulators near 1.5 * 2^k, which are multiples of 2^(k - 52).
 * Adding a number to one adds the number's upper part, rounded; the remainder is a float64 too and
 * is added in the next window. See csrc/common/exact.h for references.
 *
 * Why no bits are lost. While the first accumulator stays in [2^k, 2^(k + 1)), which is checked
 * after each addition, it is a multiple of u = 2^(k - 52), and the difference of two such values is
 * exact. So is the remainder of a number, which is at most u / 2 = 2^(k - 53) and a multiple of the
 * number's own unit. The next window, k' = k - 43, has room for 2^10 times as much: after at most
 * WINDOW_NUMBERS = 2^9 additions its sum is within 2^(k' - 1) of 1.5 * 2^k', and needs no check.
 * The last window's remainder must be 0. If a check fails, the accumulators are restored, and the
 * numbers are added in more windows, or one by one.
 *
 * Numbers that are multiples of u and less than 2^(k - WINDOW_HEADROOM) leave no remainder, and
 * need no check if the first accumulator is in the inner half of its range: 64 of them change it by
 * less than 2^(k - 4), and a quarter of the range is 2^(k - 2). */
#pragma once

#include "terms.cuh"

namespace KERNELS
{

enum { WINDOW_NUMBERS = 512 }; /* maximum additions per window */

__device__ __forceinline__ uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* The initial value of an accumulator. */
__device__ __forceinline__ double window_base(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    double base;
    memcpy(&base, &bits, sizeof base);
    return base;
}

/* Evidence, collected while numbers are added, of whether the windows held them. */
struct window_checks {
    uint32_t moved = 0;     /* bits of the first accumulators that have changed */
    bool remainder = false; /* whether a last window left a remainder */

    /* Whether some number did not fit. */
    __device__ __forceinline__ bool failed() const
    {
        return remainder || (moved & 0xfff00000);
    }
};

/* A thread's windows for several sums; `exponent` is that of each sum's first window. */
template <unsigned Sums, unsigned Windows>
struct exact_windows {
    double at[Sums][Windows];
    int exponent;

    __device__ __forceinline__ explicit exact_windows(int exponent) : exponent(exponent)
    {
#pragma unroll
        for (unsigned k = 0; k < Sums * Windows; k++)
            at[k / Windows][k % Windows] = window_base(exponent_of(k));
    }

    __device__ __forceinline__ int exponent_of(unsigned k) const
    {
        return exponent - int(k % Windows) * WINDOW_STEP;
    }

    /* Adds a number to a sum, in its first `Used` windows. */
    template <unsigned Used>
    __device__ __forceinline__ void add(unsigned s, double x, window_checks &checks)
    {
#pragma unroll
        for (unsigned w = 0; w < Used; w++) {
            const double sum = at[s][w] + x, added = sum - at[s][w];
            if (w == 0)
                checks.moved |= uint32_t((bits_of(sum) ^ bits_of(at[s][0])) >> 32);
            if (w + 1 < Used)
                x -= added;
            else
                checks.remainder |= added != x;
            at[s][w] = sum;
        }
    }

    /* Adds number(k) for each k below N, to the sums in turn. */
    template <unsigned Used, unsigned N, class Number>
    __device__ __forceinline__ void add_all(Number number, window_checks &checks)
    {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            add<Used>(k % Sums, double(number(k)), checks);
    }

    /* The same, if the windows hold all numbers; otherwise leaves them unchanged. */
    template <unsigned Used, unsigned N, class Number>
    __device__ __forceinline__ bool try_add_all(Number number)
    {
        const exact_windows before = *this;
        window_checks checks;
        add_all<Used, N>(number, checks);
        if (checks.failed())
            *this = before;
        return !checks.failed();
    }

    /* Whether the first accumulators are in the inner half of their range, a quarter from either
     * end. */
    __device__ __forceinline__ bool has_room() const
    {
        constexpr uint32_t quarter = 1 << 18,
                           half = 1 << 19; /* in the upper halves of their bits */
        bool room = true;
#pragma unroll
        for (unsigned s = 0; s < Sums; s++)
            room &= ((uint32_t(bits_of(at[s][0]) >> 32) + quarter) & half) != 0;
        return room;
    }

    /* The sum in window k, in its units: adjacent float64s have adjacent bits. */
    __device__ __forceinline__ int64_t units(unsigned k) const
    {
        return int64_t(bits_of(at[k / Windows][k % Windows]) -
                       bits_of(window_base(exponent_of(k))));
    }

    /* Adds piece `k` of a window's sum, given in units, to the words. */
    template <class Layout>
    __device__ __forceinline__ void deposit_units(shared<exact_word> words, unsigned window,
                                                  int64_t units, unsigned k) const
    {
        const int unit = exponent_of(window) - 52;
        deposit_piece(words + window / Windows * Layout::part,
                      units < 0 ? uint64_t(-units) : uint64_t(units),
                      unsigned(unit - Layout::lowest), units < 0, k);
    }
};

/* ---- reductions across a warp, returned to all lanes ---- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

__device__ __forceinline__ uint32_t warp_sum(uint32_t x)
{
    return __reduce_add_sync(whole_warp, x);
}

__device__ __forceinline__ uint32_t warp_max(uint32_t x)
{
    return __reduce_max_sync(whole_warp, x);
}

#else

__device__ __forceinline__ uint32_t warp_sum(uint32_t x)
{
#pragma unroll
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(whole_warp, x, offset);
    return x;
}

__device__ __forceinline__ uint32_t warp_max(uint32_t x)
{
#pragma unroll
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2) {
        const uint32_t other = __shfl_xor_sync(whole_warp, x, offset);
        x = other > x ? other : x;
    }
    return x;
}

#endif

/* Adds up windows' units, which are at most 2^51 in magnitude. */
__device__ __forceinline__ int64_t warp_sum_units(int64_t x)
{
    constexpr unsigned half = 26;
    const uint32_t low = warp_sum(uint32_t(x) & ((1u << half) - 1)),
                   high = warp_sum(uint32_t(x >> half));
    return int64_t(int32_t(high)) * (int64_t(1) << half) + low;
}

/* Called by all threads of a warp: adds their windows' sums to the words, each piece by another
 * lane. */
template <class Layout, unsigned Sums, unsigned Windows>
__device__ __forceinline__ void flush_windows(shared<exact_word> words,
                                              const exact_windows<Sums, Windows> &sums)
{
    static_assert(Sums * Windows * EXACT_PIECES <= warp_size, "there are lanes enough");
    const unsigned lane = threadIdx.x % warp_size, window = lane / EXACT_PIECES;
    int64_t units = 0;
#pragma unroll
    for (unsigned k = 0; k < Sums * Windows; k++) {
        const int64_t total = warp_sum_units(sums.units(k));
        units = window == k ? total : units;
    }
    if (units)
        sums.template deposit_units<Layout>(words, window, units, lane % EXACT_PIECES);
}

/* ---- the exponents of windows ---- */

/* The upper half of a magnitude's bits. */
__device__ __forceinline__ uint32_t magnitude_bits(double x)
{
    return uint32_t(bits_of(x) >> 32) & 0x7fffffff;
}

/* The largest finite and the smallest nonzero magnitude of the numbers that it sees. */
struct exact_range {
    static constexpr uint32_t infinity = 0x7ff00000;
    uint32_t greatest = 0, least = infinity;

    __device__ __forceinline__ void add(double x)
    {
        const uint32_t magnitude = magnitude_bits(x);
        greatest = magnitude < infinity && magnitude > greatest ? magnitude : greatest;
        least = magnitude && magnitude < least ? magnitude : least;
    }
};

/* The powers of two between which numbers with `bits` significant bits fit in `windows` windows
 * without checks. Numbers below 2^least may leave a remainder in the last window; numbers of 2^end
 * and more may move the first accumulator out of its range. */
struct exact_bounds {
    int least, end;

    __device__ __forceinline__ exact_bounds(int exponent, unsigned windows, unsigned bits)
        : least(exponent - int(windows - 1) * WINDOW_STEP - 52 + int(bits) - 1),
          end(exponent - WINDOW_HEADROOM)
    {
    }
};

/* The number of windows, and the first one's exponent. If the numbers' magnitudes differ widely:
 * the windows that hold any number, or, if there are none, 0, and numbers are added one by one. */
struct exact_choice {
    unsigned windows;
    int exponent;
};

/* Called by all threads of a warp: chooses windows with room above and below the given numbers. The
 * wider the spread of these, the wider is the spread expected of those to come. One more window
 * costs less than a lane that adds a tile again while its warp waits. */
template <class Term>
__device__ __forceinline__ exact_choice choose_windows(exact_range range)
{
    constexpr unsigned min_windows = Term::min_windows, max_windows = min_windows + 1;
    constexpr int min_spare = 12, min_room = 6, max_room = 32, single_room = 3;
    constexpr int highest = 1022;
    const uint32_t greatest = warp_max(range.greatest), least = ~warp_max(~range.least);
    const int top = int(greatest >> 20) - 1022; /* all numbers are less than 2^top */
    const int spread = top - (int(least >> 20) - 1022), bits = spread + int(Term::bits);
    const int spare = spread > min_spare ? spread : min_spare;
    unsigned windows = min_windows;
    int capacity = WINDOW_STEP * int(windows) - 1;
    for (; windows < max_windows && capacity < bits + spare; windows++)
        capacity += WINDOW_STEP;
    int room = (capacity - bits) / (windows == min_windows ? 4 : 2);
    /* If one window suffices for the numbers seen, it is placed to hold nearly all others too. */
    if (Term::tests_tiles && windows > 1 && bits + single_room <= WINDOW_STEP - 1)
        room = single_room;
    if (capacity < bits + spare) {
        room = room < min_room ? min_room : room;
        const int lane_bottom = int(range.least >> 20) - 1022 - int(Term::bits);
        /* Most lanes' numbers should fit if the first window holds the warp's largest one. */
        if (warp_sum(lane_bottom >= top + room - capacity) < warp_size * 3 / 4)
            return {Term::full_windows, Term::full_top + WINDOW_HEADROOM};
    }
    room = room < max_room ? room : max_room;
    /* The windows' units have a digit, and the accumulators are normal and finite. */
    const int lowest = Term::lowest + 52 + int(windows - 1) * WINDOW_STEP;
    int exponent = top + room + WINDOW_HEADROOM;
    exponent = exponent < lowest ? lowest : exponent;
    return {windows, exponent < highest ? exponent : highest};
}

} // namespace KERNELS
