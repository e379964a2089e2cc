/* A thread's windows: float64s that are kept near 1.5 * 2^k and so hold only multiples of
 * 2^(k - 52). What such a one takes of a number that is added to it is the number's upper part,
 * rounded, and what is left is a float, too, for the next window; see csrc/common/exact.h for
 * where this is from.
 *
 * Why nothing is lost. While the first accumulator stays in [2^k, 2^(k + 1)), which is looked at
 * after every addition, it is a multiple of u = 2^(k - 52) and the difference of two such values is
 * exact. So is what is left of a number, at most u / 2 = 2^(k - 53) and a multiple of the number's
 * own unit. The next window is for 2^10 times as much, k' = k - 43: after at most WINDOW_NUMBERS =
 * 2^9 additions its sum is no more than 2^(k' - 1) from 1.5 * 2^k', and nobody needs to look. What
 * the last window leaves has to be 0. Where any of this fails, the accumulators are put back, and
 * the numbers are added in more windows, or one by one.
 *
 * Numbers that are multiples of u, and less than 2^(k - WINDOW_HEAD), leave nothing, and nobody
 * needs to look after them either where the first accumulator is in the inner half of its range: 64
 * of them change it by less than 2^(k - 4), and a quarter of the range is 2^(k - 2). */
#pragma once

#include "terms.cuh"

namespace KERNELS
{

enum { WINDOW_NUMBERS = 512 }; /* that a window takes, at most */

__device__ __forceinline__ uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* What an accumulator is when nothing has been added to it. */
__device__ __forceinline__ double window_base(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    double base;
    memcpy(&base, &bits, sizeof base);
    return base;
}

/* What is gathered while numbers are added, to be looked at afterwards. */
struct exact_doubts {
    uint32_t moved = 0; /* bits in which the first accumulators have changed */
    bool left = false;  /* the last ones have left something */

    /* Whether one did not hold a number. */
    __device__ __forceinline__ bool any() const
    {
        return left || (moved & 0xfff00000);
    }
};

/* A thread's windows of so many sums, the first of which have that exponent. */
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

    /* Adds a number to a sum in its first so many windows. */
    template <unsigned Used>
    __device__ __forceinline__ void add(unsigned s, double x, exact_doubts &doubts)
    {
#pragma unroll
        for (unsigned w = 0; w < Used; w++) {
            const double sum = at[s][w] + x, taken = sum - at[s][w];
            if (w == 0)
                doubts.moved |= uint32_t((bits_of(sum) ^ bits_of(at[s][0])) >> 32);
            if (w + 1 < Used)
                x -= taken;
            else
                doubts.left |= taken != x;
            at[s][w] = sum;
        }
    }

    /* Adds number(k) of each k below N, to the sums in turn. */
    template <unsigned Used, unsigned N, class Number>
    __device__ __forceinline__ void add_all(Number number, exact_doubts &doubts)
    {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            add<Used>(k % Sums, double(number(k)), doubts);
    }

    /* The same if these windows hold them all; else all is as it was. */
    template <unsigned Used, unsigned N, class Number>
    __device__ __forceinline__ bool add_if_held(Number number)
    {
        const exact_windows before = *this;
        exact_doubts doubts;
        add_all<Used, N>(number, doubts);
        if (doubts.any())
            *this = before;
        return !doubts.any();
    }

    /* Whether the first accumulators are in the inner half of what they may be: a quarter of it is
     * left on either side. */
    __device__ __forceinline__ bool have_room() const
    {
        constexpr uint32_t quarter = 1 << 18,
                           half = 1 << 19; /* of the upper halves of their bits */
        bool room = true;
#pragma unroll
        for (unsigned s = 0; s < Sums; s++)
            room &= ((uint32_t(bits_of(at[s][0]) >> 32) + quarter) & half) != 0;
        return room;
    }

    /* What window k has taken, in its units: neighbouring floats have neighbouring bits. */
    __device__ __forceinline__ int64_t units(unsigned k) const
    {
        return int64_t(bits_of(at[k / Windows][k % Windows]) -
                       bits_of(window_base(exponent_of(k))));
    }

    /* Adds piece `k` of so many units of a window to the words. */
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

/* ---- all lanes, for all of them ---- */

#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800

__device__ __forceinline__ uint32_t lanes_total(uint32_t x)
{
    return __reduce_add_sync(whole_warp, x);
}

__device__ __forceinline__ uint32_t lanes_greatest(uint32_t x)
{
    return __reduce_max_sync(whole_warp, x);
}

#else

__device__ __forceinline__ uint32_t lanes_total(uint32_t x)
{
#pragma unroll
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2)
        x += __shfl_xor_sync(whole_warp, x, offset);
    return x;
}

__device__ __forceinline__ uint32_t lanes_greatest(uint32_t x)
{
#pragma unroll
    for (unsigned offset = warp_size / 2; offset > 0; offset /= 2) {
        const uint32_t other = __shfl_xor_sync(whole_warp, x, offset);
        x = other > x ? other : x;
    }
    return x;
}

#endif

/* Of windows' units, of which there are at most 2^51. */
__device__ __forceinline__ int64_t lanes_units(int64_t x)
{
    constexpr unsigned half = 26;
    const uint32_t low = lanes_total(uint32_t(x) & ((1u << half) - 1)),
                   high = lanes_total(uint32_t(x >> half));
    return int64_t(int32_t(high)) * (int64_t(1) << half) + low;
}

/* By all threads of a warp: brings their windows' sums to the words, each piece of each by a lane
 * of its own. */
template <class Layout, unsigned Sums, unsigned Windows>
__device__ __forceinline__ void flush_windows(shared<exact_word> words,
                                              const exact_windows<Sums, Windows> &sums)
{
    static_assert(Sums * Windows * EXACT_PIECES <= warp_size, "there are lanes enough");
    const unsigned lane = threadIdx.x % warp_size, window = lane / EXACT_PIECES;
    int64_t units = 0;
#pragma unroll
    for (unsigned k = 0; k < Sums * Windows; k++) {
        const int64_t total = lanes_units(sums.units(k));
        units = window == k ? total : units;
    }
    if (units)
        sums.template deposit_units<Layout>(words, window, units, lane % EXACT_PIECES);
}

/* ---- where windows lie ---- */

/* The upper half of a magnitude's bits. */
__device__ __forceinline__ uint32_t magnitude_bits(double x)
{
    return uint32_t(bits_of(x) >> 32) & 0x7fffffff;
}

/* Of the magnitudes of numbers that it sees, the largest finite one and the smallest that is not 0.
 */
struct exact_range {
    static constexpr uint32_t infinity = 0x7ff00000;
    uint32_t greatest = 0, least = infinity;

    __device__ __forceinline__ void see(double x)
    {
        const uint32_t magnitude = magnitude_bits(x);
        greatest = magnitude < infinity && magnitude > greatest ? magnitude : greatest;
        least = magnitude && magnitude < least ? magnitude : least;
    }
};

/* Between which powers of two lie the numbers with so many bits that so many windows hold, and that
 * nobody needs to look after: those below the first may leave something in the last window, and
 * those from the second on may lead out of the first. */
struct exact_bounds {
    int least, end;

    __device__ __forceinline__ exact_bounds(int exponent, unsigned windows, unsigned bits)
        : least(exponent - int(windows - 1) * WINDOW_STEP - 52 + int(bits) - 1),
          end(exponent - WINDOW_HEAD)
    {
    }
};

/* How many windows there are, and the first one's exponent. Where numbers are far from one another:
 * those that always hold them, or, where there are none, 0, and they are added one by one. */
struct exact_choice {
    unsigned windows;
    int exponent;
};

/* Windows for numbers like these, with room above and below them; by all threads of a warp. The
 * further these are from one another, the further away are others that are yet to come; and one
 * window more costs less than a lane that adds a tile again while its warp waits. */
template <class Term>
__device__ __forceinline__ exact_choice choose_windows(exact_range own)
{
    constexpr unsigned fewest = Term::fewest, most = fewest + 1;
    constexpr int spare_least = 12, room_least = 6, room_most = 32, whole_room = 3;
    constexpr int highest = 1022;
    const uint32_t greatest = lanes_greatest(own.greatest), least = ~lanes_greatest(~own.least);
    const int top = int(greatest >> 20) - 1022; /* all are less than 2^top */
    const int spread = top - (int(least >> 20) - 1022), bits = spread + int(Term::bits);
    const int spare = spread > spare_least ? spread : spare_least;
    unsigned windows = fewest;
    int holds = WINDOW_STEP * int(windows) - 1;
    for (; windows < most && holds < bits + spare; windows++)
        holds += WINDOW_STEP;
    int room = (holds - bits) / (windows == fewest ? 4 : 2);
    /* Where one window would do for what is seen, it lies so that it does for nearly all. */
    if (Term::whole && windows > 1 && bits + whole_room <= WINDOW_STEP - 1)
        room = whole_room;
    if (holds < bits + spare) {
        room = room < room_least ? room_least : room;
        const int own_bottom = int(own.least >> 20) - 1022 - int(Term::bits);
        /* Most lanes' own numbers should fit where the highest window is for the warp's largest. */
        if (lanes_total(own_bottom >= top + room - holds) < warp_size * 3 / 4)
            return {Term::always, Term::always_top + WINDOW_HEAD};
    }
    room = room < room_most ? room : room_most;
    /* Units that have a place, accumulators that are normal and finite. */
    const int lowest = Term::lowest + 52 + int(windows - 1) * WINDOW_STEP;
    int exponent = top + room + WINDOW_HEAD;
    exponent = exponent < lowest ? lowest : exponent;
    return {windows, exponent < highest ? exponent : highest};
}

} // namespace KERNELS
