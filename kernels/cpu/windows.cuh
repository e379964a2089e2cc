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

/* 1.5 * 2^exponent. */
LANES_FUNCTION doubles center_of(int exponent)
{
    const uint64_t bits = uint64_t(exponent + 1023) << 52 | uint64_t(1) << 51;
    return in_all(loaded<double>(&bits));
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

/* Without NaNs, which become 0; the others are counted. */
LANES_FUNCTION doubles numbers_in(doubles x, words &count)
{
    const words is_number = words(x == x);
    count -= is_number;
    return doubles(words(x) & is_number);
}

/* So many windows, and in each as many registers, which keep additions apart that wait for one
 * another. */
template <unsigned Windows, unsigned Registers>
struct windows_of {
    static_assert(Registers * in_register<double> >= WINDOW_LANES,
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
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
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
    /* The accumulators' distance from their center, in units. */
    LANES_FUNCTION static void distance(const doubles (&at)[Registers], doubles center,
                                        int64_t (&sums)[2])
    {
        words total = {};
        EACH_REGISTER(unsigned r = 0; r < Registers; r++)
        total += words(at[r]) - words(center);
        uint64_t wrapping[2] = {}; /* of a window that broke, which nobody looks at */
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        wrapping[k % 2] += total[k];
        sums[0] = int64_t(wrapping[0]);
        sums[1] = int64_t(wrapping[1]);
    }
};

/* Hands out what windows have left, as long as there is room for it. */
template <unsigned Registers>
LANES_FUNCTION void hand_out(const doubles (&left)[Registers], struct windowed *result)
{
    constexpr unsigned count = Registers * in_register<double>;
    static_assert(WINDOW_LEFT % count == 0, "what is left has no room");
    result->whole = result->whole && result->lefts < WINDOW_LEFT;
    if (!result->whole)
        return;
    EACH_REGISTER(unsigned r = 0; r < Registers; r++)
    memcpy(result->left + result->lefts + r * in_register<double>, &left[r], sizeof left[r]);
    result->lefts += count;
}

/* ---- sums ---- */

/* So many registers keep additions apart that wait for one another. */
constexpr unsigned window_registers = 4, window_lanes = window_registers * in_register<double>;

/* What magnitudes are compared in: narrower types are in a float32 on their way. */
template <class In>
using compared = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

/* Few processors compare integers of 64 bits. */
#if defined(__AVX512BW__)
constexpr unsigned widest_compared = sizeof(double);
#else
constexpr unsigned widest_compared = sizeof(float);
#endif

template <class In, unsigned Windows, bool LeavesOut>
struct window_way {
    using element = In;
    using part = compared<In>;
    static constexpr unsigned step = window_lanes, in_part = in_register<part>,
                              parts = step / in_part;
    static constexpr bool compares_integers = !LeavesOut && sizeof(part) <= widest_compared;
    windows_of<Windows, window_registers> windows;
    using word = bits_of<sizeof(part)>;
    using magnitudes = vector<word>;
    magnitudes greatest[parts] = {};
    words numbers = {};
    struct windowed *result;

    LANES_FUNCTION window_way(int highest, struct windowed *result)
        : windows(highest), result(result)
    {
        result->whole = true;
        result->lefts = 0;
    }

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        compare_magnitudes(p, converted<part>(x + p * in_part));
        doubles left[window_registers];
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        {
            left[r] = left_of(r, converted<double>(x + r * in_register<double>));
            any |= words(left[r]);
        }
        if (__builtin_expect(!is_nothing(any), false))
            hand_out(left, result);
    }

    LANES_FUNCTION void finish()
    {
        windows.total(result->sums);
        result->whole = result->whole && windows.is_whole();
        result->numbers = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        result->numbers += numbers[k];
        word most = 0;
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        EACH_REGISTER(unsigned k = 0; k < in_part; k++)
        most = greatest[p][k] > most ? greatest[p][k] : most;
        result->greatest = double(loaded<part>(&most));
    }

  private:
    /* As integers magnitudes are in the same order, but for NaNs, which are the largest. */
    LANES_FUNCTION void compare_magnitudes(unsigned p, vector<part> x)
    {
        const magnitudes bits = magnitudes(x) & (word(-1) >> 1);
        if constexpr (compares_integers)
            greatest[p] = bits > greatest[p] ? bits : greatest[p];
        else
            greatest[p] = vector<part>(bits) > vector<part>(greatest[p]) ? bits : greatest[p];
    }

    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        return windows.left_of(r, LeavesOut ? numbers_in(x, numbers) : x);
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
