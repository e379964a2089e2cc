/* Exact sums of floats and of products: in windows, or by plain addition if nothing is rounded.
 * Compiled once per instruction set, like vectors.cpp. */
#include "table.h"
#include "types.cuh"
#include "windows.cuh"

namespace KERNELS
{
namespace
{

/* ---- the processor's inexact flag ---- */

#if defined(__SSE2__)

constexpr unsigned inexact = 1 << 5;

LANES_FUNCTION void forget_rounding()
{
    _mm_setcsr(_mm_getcsr() & ~inexact);
}

LANES_FUNCTION bool has_rounded()
{
    return _mm_getcsr() & inexact;
}

#elif defined(__aarch64__)

constexpr uint64_t inexact = 1 << 4;

LANES_FUNCTION void forget_rounding()
{
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    asm volatile("msr fpsr, %0" : : "r"(status & ~inexact));
}

LANES_FUNCTION bool has_rounded()
{
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return status & inexact;
}

#else

LANES_FUNCTION void forget_rounding() {}

/* Unknown: assumes that something was rounded. */
LANES_FUNCTION bool has_rounded()
{
    return true;
}

#endif

/* Whether the sum computed by `add` is finite and was not rounded. The barriers keep the
 * computation between the two accesses to the flag. */
template <class Add>
LANES_FUNCTION bool is_unrounded(Add add)
{
    forget_rounding();
    asm volatile("" ::: "memory");
    const bool finite = add();
    asm volatile("" ::: "memory");
    return !has_rounded() && finite;
}

/* ---- loops ---- */

constexpr unsigned sum_registers = 4;

template <class In>
constexpr unsigned unrounded_parts = std::is_same_v<In, double> ? 2 : 1;

/* The upper 26 bits of a float64's significand; 27 bits are left. */
LANES_FUNCTION doubles head_of(doubles x)
{
    return doubles(words(x) & ~((uint64_t(1) << 27) - 1));
}

/* Adds numbers whole, or their heads and tails separately. */
template <unsigned Parts, unsigned Registers>
LANES_FUNCTION void add_to(doubles (&sums)[Parts][Registers], unsigned r, doubles x)
{
    const doubles head = Parts > 1 ? head_of(x) : x;
    sums[0][r] += head;
    if constexpr (Parts > 1)
        sums[1][r] += x - head;
}

/* The sums of the even and of the odd lanes. */
LANES_FUNCTION vector<double, 16> folded_to_pair(doubles x)
{
    return merged_to_16<double, register_bytes>(x, [](auto a, auto b) { return a + b; });
}

template <class In, bool SkipsNan>
struct unrounded_way {
    using element = In;
    static constexpr unsigned step = sum_registers * in_register<double>;
    static constexpr unsigned parts = unrounded_parts<In>;
    doubles sums[parts][sum_registers] = {};
    words numbers = {};

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < sum_registers; r++)
        {
            const doubles values = converted<double>(x + r * in_register<double>);
            add_to(sums, r, SkipsNan ? numbers_in(values, numbers) : values);
        }
    }

    LANES_FUNCTION void finish(struct unrounded *result) const
    {
        EACH_REGISTER(unsigned part = 0; part < parts; part++)
        {
            const doubles(&at)[sum_registers] = sums[part];
            const auto pair = folded_to_pair((at[0] + at[1]) + (at[2] + at[3]));
            memcpy(result->sums[part], &pair, sizeof pair);
        }
        result->numbers = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register<double>; k++)
        result->numbers += numbers[k];
    }
};

/* Infinities and NaNs raise no inexact flag, but make the sums non-finite. */
template <class In, bool SkipsNan>
SHARED_FUNCTION bool add(const In *x, size_t n, struct unrounded *result)
{
    unrounded_way<In, SkipsNan> way;
    take_all(way, x, n, skipped_element<In, SkipsNan>());
    way.finish(result);
    bool finite = true;
    for (unsigned part = 0; part < unrounded_parts<In>; part++)
        for (const double sum : result->sums[part])
            finite = finite && sum - sum == 0;
    return finite;
}

template <class In, bool SkipsNan>
bool unrounded_loop(const void *floats, size_t n, struct unrounded *result)
{
    return is_unrounded(
        [=] { return add<In, SkipsNan>(static_cast<const In *>(floats), n, result); });
}

/* ---- columns ---- */

/* Adds rows to the sums of UNROUNDED_COLUMNS columns; `first` starts new sums. */
template <class In>
LANES_FUNCTION void add_down(const char *x, size_t n, int64_t stride, bool first, double *heads,
                             double *tails)
{
    constexpr unsigned parts = unrounded_parts<In>,
                       registers = UNROUNDED_COLUMNS / in_register<double>;
    double *const sums[] = {heads, tails};
    doubles at[parts][registers];
    for (unsigned part = 0; part < parts; part++)
        EACH_REGISTER(unsigned r = 0; r < registers; r++)
    at[part][r] = first ? doubles{} : loaded<doubles>(sums[part] + r * in_register<double>);
    for (size_t row = 0; row < n; row++, x += stride)
        EACH_REGISTER(unsigned r = 0; r < registers; r++)
    add_to(at, r, converted<double>(reinterpret_cast<const In *>(x) + r * in_register<double>));
    for (unsigned part = 0; part < parts; part++)
        EACH_REGISTER(unsigned r = 0; r < registers; r++)
    memcpy(sums[part] + r * in_register<double>, &at[part][r], register_bytes);
}

/* Processes a few rows of all columns at a time: rows that are far apart may share a few cache
 * sets. */
template <class In>
SHARED_FUNCTION bool add_columns(const char *x, size_t n, int64_t stride, size_t columns,
                                 struct unrounded_sums *sums)
{
    const size_t few = columns > UNROUNDED_COLUMNS ? 8 : n;
    doubles lost = {};
    for (size_t row = 0; row < n; row += few)
        for (size_t c = 0; c < columns; c += UNROUNDED_COLUMNS)
            add_down<In>(x + row * stride + c * sizeof(In), n - row < few ? n - row : few, stride,
                         row == 0, sums->heads + c, sums->tails + c);
    for (size_t c = 0; c < columns; c += in_register<double>) {
        const doubles head = loaded<doubles>(sums->heads + c),
                      tail = loaded<doubles>(sums->tails + c);
        lost += (head - head) + (tail - tail);
    }
    const auto pair = folded_to_pair(lost);
    return pair[0] + pair[1] == 0;
}

template <class In>
bool unrounded_columns_loop(const void *floats, size_t n, int64_t stride, size_t columns,
                            struct unrounded_sums *sums)
{
    return is_unrounded([=] {
        return add_columns<In>(static_cast<const char *>(floats), n, stride, columns, sums);
    });
}

template <class In, bool SkipsNan>
window_values *window_loop_of(unsigned windows)
{
    return windows == 1   ? window_loop<In, 1, SkipsNan>
           : windows == 2 ? window_loop<In, 2, SkipsNan>
                          : window_loop<In, 3, SkipsNan>;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

window_values *KERNELS::find_windows(enum element element, unsigned windows, bool skips_nan)
{
    return visit_real_floats(element, [=](auto in) {
        using In = type_in<decltype(in)>;
        return skips_nan ? window_loop_of<In, true>(windows) : window_loop_of<In, false>(windows);
    });
}

window_products *KERNELS::find_product_windows(enum element element, unsigned windows)
{
    return visit_real_floats(element, [=](auto in) {
        using In = type_in<decltype(in)>;
        return windows == 1   ? product_loop<In, 1>
               : windows == 2 ? product_loop<In, 2>
                              : product_loop<In, 3>;
    });
}

unrounded_values *KERNELS::find_unrounded(enum element element, bool skips_nan)
{
    return visit_real_floats(element, [=](auto in) -> unrounded_values * {
        using In = type_in<decltype(in)>;
        return skips_nan ? unrounded_loop<In, true> : unrounded_loop<In, false>;
    });
}

unrounded_columns *KERNELS::find_unrounded_columns(enum element element)
{
    return visit_real_floats(element, [](auto in) -> unrounded_columns * {
        return unrounded_columns_loop<type_in<decltype(in)>>;
    });
}
