/* Exact sums in windows. This file is compiled once for each set of instructions, which
 * GRED_INSTRUCTIONS names. */
#include "convert.cuh"
#include "registers.cuh"

#include "common/windows.h"

#ifdef __AVX2__
#include <immintrin.h>
#endif

namespace KERNELS
{
namespace
{

/* So many registers keep additions apart that wait for one another. */
constexpr unsigned window_registers = 4, in_register = register_bytes / sizeof(double),
                   window_lanes = window_registers * in_register;
static_assert(window_lanes >= WINDOW_LANES, "a lane takes more than a window has room for");
static_assert(WINDOW_LEFT % window_lanes == 0, "what is left has no room");

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

/* The accumulators' distance from their center, in units. */
LANES_FUNCTION void sums_of(const doubles (&at)[window_registers], doubles center,
                            int64_t (&sums)[2])
{
    words total = {};
    EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
    total += words(at[r]) - words(center);
    uint64_t wrapping[2] = {}; /* of a window that broke, which nobody looks at */
    EACH_REGISTER(unsigned k = 0; k < in_register; k++)
    wrapping[k % 2] += total[k];
    sums[0] = int64_t(wrapping[0]);
    sums[1] = int64_t(wrapping[1]);
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

/* As many elements as there is room for; compilers convert half a register at a time. */
template <class In>
LANES_FUNCTION doubles widened(const In *x)
{
#ifdef __AVX512F__
    if constexpr (std::is_same_v<In, float>)
        return doubles(_mm512_cvtps_pd(_mm256_loadu_ps(x)));
    else if constexpr (std::is_same_v<In, float16>)
        return doubles(_mm512_cvtps_pd(__m256(halves_converted<register_bytes / 2>(x))));
    else if constexpr (std::is_same_v<In, bfloat16>)
        return doubles(_mm512_cvtps_pd(__m256(bfloats_converted<register_bytes / 2>(x))));
#endif
    return converted<double>(x);
}

/* What magnitudes are compared in: narrower types are in a float32 on their way. */
template <class In>
using compared = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

template <class In, unsigned Windows, bool LeavesOut>
struct window_way {
    using element = In;
    using part = compared<In>;
    static constexpr unsigned step = window_lanes, in_part = register_bytes / sizeof(part),
                              parts = step / in_part;
    doubles centers[Windows], at[Windows][window_registers];
    vector<part> greatest[parts] = {};
    words numbers = {};
    struct windowed *result;

    LANES_FUNCTION window_way(int highest, struct windowed *result) : result(result)
    {
        result->whole = true;
        result->lefts = 0;
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            centers[w] = center_of(highest + WINDOW_HEAD - int(w) * WINDOW_STEP);
            EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
            at[w][r] = centers[w];
        }
    }

    LANES_FUNCTION void take(const In *x)
    {
        doubles left[window_registers];
        words any = {};
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        compare(p, converted<part>(x + p * in_part));
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        {
            left[r] = left_of(r, widened(x + r * in_register));
            any |= words(left[r]);
        }
        if (__builtin_expect(!is_nothing(any), false))
            hand_out(left);
    }

    LANES_FUNCTION void finish()
    {
        words broken = {};
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        sums_of(at[w], centers[w], result->sums[w]);
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        broken |= words(at[0][r] != at[0][r]);
        result->whole = result->whole && is_nothing(broken);
        result->numbers = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register; k++)
        result->numbers += numbers[k];
        part most = 0;
        EACH_REGISTER(unsigned p = 0; p < parts; p++)
        EACH_REGISTER(unsigned k = 0; k < in_part; k++)
        most = greatest[p][k] > most ? greatest[p][k] : most;
        result->greatest = double(most);
    }

  private:
    LANES_FUNCTION void compare(unsigned p, vector<part> x)
    {
        using word = bits_of<sizeof(part)>;
        const vector<part> magnitude = vector<part>(vector<word>(x) & (word(-1) >> 1));
        greatest[p] = magnitude > greatest[p] ? magnitude : greatest[p];
    }

    LANES_FUNCTION doubles left_of(unsigned r, doubles x)
    {
        if constexpr (LeavesOut) {
            const words is_number = words(x == x);
            numbers -= is_number;
            x = doubles(words(x) & is_number);
        }
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        return x;
    }

    LANES_FUNCTION void hand_out(const doubles (&left)[window_registers])
    {
        result->whole = result->whole && result->lefts < WINDOW_LEFT;
        if (!result->whole)
            return;
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        memcpy(result->left + result->lefts + r * in_register, &left[r], sizeof left[r]);
        result->lefts += step;
    }
};

/* Zeros, or NaNs where they are left out, change nothing. */
template <class In, bool LeavesOut>
LANES_FUNCTION In nothing_there()
{
    if constexpr (LeavesOut)
        return no_number<In>();
    else
        return In{};
}

template <class In, unsigned Windows, bool LeavesOut>
void window_loop(const void *floats, size_t n, int highest, struct windowed *result)
{
    window_way<In, Windows, LeavesOut> way(highest, result);
    take_all(way, static_cast<const In *>(floats), n, nothing_there<In, LeavesOut>());
    way.finish();
}

template <class In, bool LeavesOut>
window_values *loop_of(unsigned windows)
{
    switch (windows) {
    case 1:
        return window_loop<In, 1, LeavesOut>;
    case 2:
        return window_loop<In, 2, LeavesOut>;
    default:
        return window_loop<In, 3, LeavesOut>;
    }
}

template <class In>
window_values *loop_of(unsigned windows, bool leaves_out)
{
    return leaves_out ? loop_of<In, true>(windows) : loop_of<In, false>(windows);
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

window_values *WINDOWS(GRED_INSTRUCTIONS)(enum element element, unsigned windows, bool leaves_out)
{
    switch (element) {
    case ELEMENT_FLOAT16:
        return loop_of<float16>(windows, leaves_out);
    case ELEMENT_BFLOAT16:
        return loop_of<bfloat16>(windows, leaves_out);
    case ELEMENT_FLOAT32:
        return loop_of<float>(windows, leaves_out);
    default:
        return loop_of<double>(windows, leaves_out);
    }
}
