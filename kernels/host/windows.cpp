/* Exact sums in windows. This file is compiled once for each set of instructions, which
 * GRED_INSTRUCTIONS names. */
#include "windows.cuh"

namespace KERNELS
{
namespace
{

/* So many registers keep additions apart that wait for one another. */
constexpr unsigned window_registers = 4, in_register = register_bytes / sizeof(double),
                   window_lanes = window_registers * in_register;

/* What magnitudes are compared in: narrower types are in a float32 on their way. */
template <class In>
using compared = std::conditional_t<sizeof(In) == sizeof(double), double, float>;

template <class In, unsigned Windows, bool LeavesOut>
struct window_way {
    using element = In;
    using part = compared<In>;
    static constexpr unsigned step = window_lanes, in_part = register_bytes / sizeof(part),
                              parts = step / in_part;
    windows_of<Windows, window_registers> windows;
    vector<part> greatest[parts] = {};
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
            hand_out(left, result);
    }

    LANES_FUNCTION void finish()
    {
        windows.total(result->sums);
        result->whole = result->whole && windows.is_whole();
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
        return windows.left_of(r, x);
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
