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
    double center;
    memcpy(&center, &bits, sizeof center);
    return in_all(center);
}

/* Whether all bits are 0, but for the highest of each word: a zero of either sign. */
LANES_FUNCTION bool is_nothing(words x)
{
#if defined(__AVX512BW__)
    return _mm512_test_epi64_mask(__m512i(x + x), __m512i(x + x)) == 0;
#elif defined(__AVX2__)
    return _mm256_testz_si256(__m256i(x + x), __m256i(x + x));
#else
    return !is_any(x + x);
#endif
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
    static constexpr unsigned in_register = register_bytes / sizeof(double);
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
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
    }

    /* The same of numbers of which the last window leaves nothing. */
    LANES_FUNCTION void take_whole(unsigned r, doubles x)
    {
        EACH_REGISTER(unsigned w = 0; w + 1 < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        at[Windows - 1][r] += x;
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
    constexpr unsigned count = Registers * (register_bytes / sizeof(double));
    static_assert(WINDOW_LEFT % count == 0, "what is left has no room");
    result->whole = result->whole && result->lefts < WINDOW_LEFT;
    if (!result->whole)
        return;
    EACH_REGISTER(unsigned r = 0; r < Registers; r++)
    memcpy(result->left + result->lefts + r * (count / Registers), &left[r], sizeof left[r]);
    result->lefts += count;
}

} // namespace
} // namespace KERNELS
