/* Windows in registers, and what goes through them; see common/exact.h. */
#pragma once

#include "convert.cuh"
#include "registers.cuh"

#include "common/exact.h"

namespace KERNELS
{
namespace
{

using doubles = vector<double>;
using words = vector<uint64_t>;

constexpr unsigned in_register = register_bytes / sizeof(double);

/* 1.5 * 2^exponent. */
LANES_FUNCTION doubles center_of(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    double center;
    memcpy(&center, &bits, sizeof center);
    return in_all(center);
}

/* Whether all bits are 0, but for the highest of each word: a zero of either sign. */
LANES_FUNCTION bool is_nothing(words x)
{
    return !has_bits(x + x);
}

/* Zeros, or NaNs where they are left out, change nothing. */
template <class In, bool LeavesOut>
LANES_FUNCTION In nothing_there()
{
    if constexpr (LeavesOut)
        return no_number<In>();
    else
        return In{};
}

/* So many windows, and in each as many registers, which keep additions apart that wait for one
 * another. */
template <unsigned Windows, unsigned Registers>
struct windows_of {
    static_assert(Registers * in_register >= WINDOW_LANES,
                  "a lane takes more than a window has room for");
    doubles centers[Windows], at[Windows][Registers];

    LANES_FUNCTION explicit windows_of(int highest)
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            centers[w] = center_of(highest + WINDOW_HEAD - int(w) * WINDOW_STEP);
            EACH_REGISTER(unsigned r = 0; r < Registers; r++)
            at[w][r] = centers[w];
        }
    }

    /* Takes numbers in, and returns what the last window leaves of them. */
    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        return left_of_first<Windows>(r, x);
    }

    /* The same of numbers of which the last window leaves nothing. */
    LANES_FUNCTION void take_whole(unsigned r, doubles x)
    {
        at[Windows - 1][r] += left_of_first<Windows - 1>(r, x);
    }

    LANES_FUNCTION void total(int64_t (*sums)[2]) const
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        distance(at[w], centers[w], sums[w]);
    }

    LANES_FUNCTION bool is_whole() const
    {
        words broken = {};
        EACH_REGISTER(unsigned r = 0; r < Registers; r++)
        broken |= words(at[0][r] != at[0][r]);
        return is_nothing(broken);
    }

  private:
    template <unsigned Count>
    LANES_FUNCTION doubles left_of_first(unsigned r, doubles x)
    {
        EACH_REGISTER(unsigned w = 0; w < Count; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
    }

    /* The accumulators' distance from their center, in units. */
    LANES_FUNCTION static void distance(const doubles (&at)[Registers], doubles center,
                                        int64_t (&sums)[2])
    {
        words total = {};
        EACH_REGISTER(unsigned r = 0; r < Registers; r++)
        total += words(at[r]) - words(center);
        uint64_t wrapping[2] = {}; /* of a window that broke, which nobody looks at */
        EACH_REGISTER(unsigned k = 0; k < in_register; k++)
        wrapping[k % 2] += total[k];
        sums[0] = int64_t(wrapping[0]);
        sums[1] = int64_t(wrapping[1]);
    }
};

/* Hands out what windows have left, as long as there is room for it. */
template <unsigned Registers>
LANES_FUNCTION void hand_out(const doubles (&left)[Registers], struct windowed *result)
{
    constexpr unsigned count = Registers * in_register;
    static_assert(WINDOW_LEFT % count == 0, "what is left has no room");
    result->whole = result->whole && result->lefts < WINDOW_LEFT;
    if (!result->whole)
        return;
    EACH_REGISTER(unsigned r = 0; r < Registers; r++)
    memcpy(result->left + result->lefts + r * in_register, &left[r], sizeof left[r]);
    result->lefts += count;
}

/* ---- sums ---- */

/* So many registers keep additions apart that wait for one another. */
constexpr unsigned window_registers = 4, window_lanes = window_registers * in_register;

/* What magnitudes are compared in: narrower types are in a float32 on their way. */
template <class In>
using compared = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

/* Few processors compare integers of 64 bits. */
#if defined(__AVX512BW__)
constexpr unsigned widest_compared = sizeof(double);
#else
constexpr unsigned widest_compared = sizeof(float);
#endif

template <class T>
constexpr int float_bits = std::is_same_v<T, float16>    ? 11
                           : std::is_same_v<T, bfloat16> ? 8
                           : std::is_same_v<T, float>    ? 24
                                                         : 53;

/* Of what numbers are compared in, the smallest of which the last bit, of as many as In has, is no
 * less than the last window's unit, as bits: a normal number, or infinity. */
template <class In, unsigned Windows>
LANES_FUNCTION bits_of<sizeof(compared<In>)> least_whole(int highest)
{
    using word = bits_of<sizeof(compared<In>)>;
    constexpr int fraction = float_bits<compared<In>> - 1,
                  infinite = (1 << (8 * int(sizeof(word)) - 1 - fraction)) - 1;
    const int unit = highest - WINDOW_UNIT - int(Windows - 1) * WINDOW_STEP,
              biased = unit + float_bits<In> - 1 + infinite / 2;
    return word(biased < 1 ? 1 : biased > infinite ? infinite : biased) << fraction;
}

template <class V>
LANES_FUNCTION bool is_any_below(V x, V bounds)
{
#if defined(__AVX512BW__)
    if constexpr (sizeof(x[0]) == sizeof(uint32_t))
        return _mm512_cmplt_epu32_mask(__m512i(x), __m512i(bounds)) != 0;
    else
        return _mm512_cmplt_epu64_mask(__m512i(x), __m512i(bounds)) != 0;
#else
    return is_any(x < bounds);
#endif
}

template <class In, unsigned Windows, bool LeavesOut>
struct window_way {
    using element = In;
    using part = compared<In>;
    static constexpr unsigned step = window_lanes, in_part = register_bytes / sizeof(part),
                              parts = step / in_part;
    /* The fewest windows take most floats whole: nothing is left of them. */
    static constexpr bool compares_integers = !LeavesOut && sizeof(part) <= widest_compared,
                          takes_whole = compares_integers &&
                                        Windows == (sizeof(part) == sizeof(double) ? 2 : 1);
    windows_of<Windows, window_registers> windows;
    using word = bits_of<sizeof(part)>;
    using magnitudes = vector<word>;
    magnitudes greatest[parts] = {};
    words numbers = {};
    magnitudes least;
    struct windowed *result;

    LANES_FUNCTION window_way(int highest, struct windowed *result)
        : windows(highest), least(in_all(least_whole<In, Windows>(highest))), result(result)
    {
        result->whole = true;
        result->lefts = 0;
    }

    LANES_FUNCTION void take(const In *x)
    {
        magnitudes bits[parts];
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        bits[p] = compared_magnitudes(p, converted<part>(x + p * in_part));
        if (takes_whole && __builtin_expect(are_whole(bits), true))
            take_whole(x);
        else
            take_apart(x);
    }

    LANES_FUNCTION void finish()
    {
        windows.total(result->sums);
        result->whole = result->whole && windows.is_whole();
        result->numbers = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register; k++)
        result->numbers += numbers[k];
        word most = 0;
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        EACH_REGISTER(unsigned k = 0; k < in_part; k++)
        most = greatest[p][k] > most ? greatest[p][k] : most;
        part magnitude;
        memcpy(&magnitude, &most, sizeof magnitude);
        result->greatest = double(magnitude);
    }

  private:
    /* As integers magnitudes are in the same order, but for NaNs, which are the largest. */
    LANES_FUNCTION magnitudes compared_magnitudes(unsigned p, vector<part> x)
    {
        const magnitudes bits = magnitudes(x) & (word(-1) >> 1);
        if constexpr (compares_integers)
            greatest[p] = bits > greatest[p] ? bits : greatest[p];
        else
            greatest[p] = vector<part>(bits) > vector<part>(greatest[p]) ? bits : greatest[p];
        return bits;
    }

    /* Whether nothing would be left of such numbers: to subtract 1 lets zeros pass for great ones.
     */
    LANES_FUNCTION bool are_whole(const magnitudes (&bits)[parts]) const
    {
        magnitudes lowest = bits[0] - 1;
        EACH_REGISTER(unsigned p = 1; p < parts; p++)
        {
            const magnitudes other = bits[p] - 1;
            lowest = other < lowest ? other : lowest;
        }
        return !is_any_below(lowest, least - 1);
    }

    LANES_FUNCTION void take_whole(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        windows.take_whole(r, converted<double>(x + r * in_register));
    }

    LANES_FUNCTION void take_apart(const In *x)
    {
        doubles left[window_registers];
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        {
            left[r] = left_of(r, converted<double>(x + r * in_register));
            any |= words(left[r]);
        }
        if (__builtin_expect(!is_nothing(any), false))
            hand_out(left, result);
    }

    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        if constexpr (LeavesOut) {
            const words is_number = words(x == x);
            numbers -= is_number;
            x = doubles(words(x) & is_number);
        }
        return windows.left_of(r, x);
    }
};

template <class In, unsigned Windows, bool LeavesOut>
void window_loop(const void *floats, size_t n, int highest, struct windowed *result)
{
    window_way<In, Windows, LeavesOut> way(highest, result);
    take_all(way, static_cast<const In *>(floats), n, nothing_there<In, LeavesOut>());
    way.finish();
}

} // namespace
} // namespace KERNELS
