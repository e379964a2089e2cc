/* Exact sums in windows. This file is compiled once for each set of instructions, which
 * GRED_INSTRUCTIONS names. */
#include "convert.cuh"
#include "registers.cuh"

#include "common/windows.h"

namespace KERNELS
{
namespace
{

/* So many registers keep additions apart that wait for one another. */
constexpr unsigned window_registers = 4, in_register = register_bytes / sizeof(double),
                   window_lanes = window_registers * in_register;
static_assert(window_lanes >= WINDOW_LANES, "a lane takes more than a window has room for");

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
    sums[0] = sums[1] = 0;
    EACH_REGISTER(unsigned k = 0; k < in_register; k++)
    sums[k % 2] += int64_t(total[k]);
}

template <class In, unsigned Windows, bool LeavesOut>
struct window_way {
    using element = In;
    static constexpr unsigned step = window_lanes;
    doubles centers[Windows], at[Windows][window_registers], greatest[window_registers] = {};
    words left[window_registers] = {}, numbers = {};

    LANES_FUNCTION explicit window_way(int highest)
    {
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            centers[w] = center_of(highest + WINDOW_HEAD - int(w) * WINDOW_STEP);
            EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
            at[w][r] = centers[w];
        }
    }

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        take_register(r, converted<double>(x + r * in_register));
    }

    LANES_FUNCTION void finish(struct windowed *result) const
    {
        result->greatest = 0;
        result->numbers = 0;
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        sums_of(at[w], centers[w], result->sums[w]);
        words any = {};
        EACH_REGISTER(unsigned r = 0; r < window_registers; r++)
        {
            any |= left[r];
            for (unsigned k = 0; k < in_register; k++)
                result->greatest =
                    greatest[r][k] > result->greatest ? greatest[r][k] : result->greatest;
        }
        for (unsigned k = 0; k < in_register; k++)
            result->numbers += numbers[k];
        /* What is left of a negative zero is that. */
        result->whole = !is_any((any << 1) != 0);
    }

  private:
    LANES_FUNCTION void take_register(unsigned r, doubles x)
    {
        if constexpr (LeavesOut) {
            const words is_number = words(x == x);
            numbers -= is_number;
            x = doubles(words(x) & is_number);
        }
        const doubles magnitude = doubles(words(x) & (~uint64_t(0) >> 1));
        greatest[r] = magnitude > greatest[r] ? magnitude : greatest[r];
        EACH_REGISTER(unsigned w = 0; w < Windows; w++)
        {
            const doubles sum = at[w][r] + x;
            x -= sum - at[w][r];
            at[w][r] = sum;
        }
        left[r] |= words(x);
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
    window_way<In, Windows, LeavesOut> way(highest);
    take_all(way, static_cast<const In *>(floats), n, nothing_there<In, LeavesOut>());
    way.finish(result);
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
