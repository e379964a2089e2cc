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

FORCEINLINE void clear_inexact()
{
    _mm_setcsr(_mm_getcsr() & ~inexact);
}

FORCEINLINE bool is_inexact()
{
    return _mm_getcsr() & inexact;
}

#elif defined(__aarch64__)

constexpr uint64_t inexact = 1 << 4;

FORCEINLINE void clear_inexact()
{
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    asm volatile("msr fpsr, %0" : : "r"(status & ~inexact));
}

FORCEINLINE bool is_inexact()
{
    uint64_t status;
    asm volatile("mrs %0, fpsr" : "=r"(status));
    return status & inexact;
}

#else

FORCEINLINE void clear_inexact() {}

/* Unknown: assumes that something was rounded. */
FORCEINLINE bool is_inexact()
{
    return true;
}

#endif

/* Whether the sum computed by `add` is finite and was not rounded. The barriers keep the
 * computation between the two accesses to the flag. */
template <class Add>
FORCEINLINE bool is_exact(Add add)
{
    clear_inexact();
    asm volatile("" ::: "memory");
    const bool finite = add();
    asm volatile("" ::: "memory");
    return !is_inexact() && finite;
}

/* ---- loops ---- */

constexpr unsigned sum_registers = 4;

template <class In>
constexpr unsigned unrounded_parts = std::is_same_v<In, double> ? 2 : 1;

/* The upper 26 bits of a float64's significand; 27 bits are left. */
FORCEINLINE doubles head_of(doubles x)
{
    return doubles(words(x) & ~((uint64_t(1) << 27) - 1));
}

/* Adds numbers whole, or their heads and tails separately. */
template <unsigned Parts, unsigned Registers>
FORCEINLINE void add_to(doubles (&sums)[Parts][Registers], unsigned r, doubles x)
{
    const doubles head = Parts > 1 ? head_of(x) : x;
    sums[0][r] += head;
    if constexpr (Parts > 1)
        sums[1][r] += x - head;
}

/* The sums of the even and of the odd lanes. */
FORCEINLINE vector<double, 16> reduce_to_pair(doubles x)
{
    return merge_to_16<double, register_bytes>(x, [](auto a, auto b) { return a + b; });
}

template <class In, bool SkipsNan>
struct unrounded_accumulator {
    using element = In;
    static constexpr unsigned step = sum_registers * vector_lanes<double>;
    static constexpr unsigned parts = unrounded_parts<In>;
    doubles sums[parts][sum_registers] = {};
    words numbers = {};

    FORCEINLINE void update(const In *x)
    {
        UNROLLED_FOR(unsigned r = 0; r < sum_registers; r++)
        {
            const doubles values = load_as<double>(x + r * vector_lanes<double>);
            add_to(sums, r, SkipsNan ? replace_nans(values, numbers) : values);
        }
    }

    FORCEINLINE void finish(struct unrounded *result) const
    {
        UNROLLED_FOR(unsigned part = 0; part < parts; part++)
        {
            const doubles(&at)[sum_registers] = sums[part];
            const auto pair = reduce_to_pair((at[0] + at[1]) + (at[2] + at[3]));
            memcpy(result->sums[part], &pair, sizeof pair);
        }
        result->numbers = 0;
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<double>; k++)
        result->numbers += numbers[k];
    }
};

/* Infinities and NaNs raise no inexact flag, but make the sums non-finite. */
template <class In, bool SkipsNan>
NOINLINE bool add(const In *x, size_t n, struct unrounded *result)
{
    unrounded_accumulator<In, SkipsNan> sums;
    accumulate(sums, x, n, padding_element<In, SkipsNan>());
    sums.finish(result);
    bool finite = true;
    for (unsigned part = 0; part < unrounded_parts<In>; part++)
        for (const double sum : result->sums[part])
            finite = finite && sum - sum == 0;
    return finite;
}

template <class In, bool SkipsNan>
bool unrounded_loop(const void *floats, size_t n, struct unrounded *result)
{
    return is_exact([=] { return add<In, SkipsNan>(static_cast<const In *>(floats), n, result); });
}

/* ---- columns ---- */

/* Adds rows to the sums of UNROUNDED_COLUMNS columns; `first` starts new sums. */
template <class In>
FORCEINLINE void add_rows(const char *x, size_t n, int64_t stride, bool first, double *heads,
                          double *tails)
{
    constexpr unsigned parts = unrounded_parts<In>,
                       registers = UNROUNDED_COLUMNS / vector_lanes<double>;
    double *const sums[] = {heads, tails};
    doubles at[parts][registers];
    for (unsigned part = 0; part < parts; part++)
        UNROLLED_FOR(unsigned r = 0; r < registers; r++)
    at[part][r] = first ? doubles{} : load<doubles>(sums[part] + r * vector_lanes<double>);
    for (size_t row = 0; row < n; row++, x += stride)
        UNROLLED_FOR(unsigned r = 0; r < registers; r++)
    add_to(at, r, load_as<double>(reinterpret_cast<const In *>(x) + r * vector_lanes<double>));
    for (unsigned part = 0; part < parts; part++)
        UNROLLED_FOR(unsigned r = 0; r < registers; r++)
    memcpy(sums[part] + r * vector_lanes<double>, &at[part][r], register_bytes);
}

/* Processes a few rows of all columns at a time: rows that are far apart may share a few cache
 * sets. */
template <class In>
NOINLINE bool add_columns(const char *x, size_t n, int64_t stride, size_t columns,
                          struct unrounded_sums *sums)
{
    const size_t few = columns > UNROUNDED_COLUMNS ? 8 : n;
    doubles nonfinite = {};
    for (size_t row = 0; row < n; row += few)
        for (size_t c = 0; c < columns; c += UNROUNDED_COLUMNS)
            add_rows<In>(x + row * stride + c * sizeof(In), n - row < few ? n - row : few, stride,
                         row == 0, sums->heads + c, sums->tails + c);
    for (size_t c = 0; c < columns; c += vector_lanes<double>) {
        const doubles head = load<doubles>(sums->heads + c), tail = load<doubles>(sums->tails + c);
        nonfinite += (head - head) + (tail - tail);
    }
    const auto pair = reduce_to_pair(nonfinite);
    return pair[0] + pair[1] == 0;
}

template <class In>
bool unrounded_columns_loop(const void *floats, size_t n, int64_t stride, size_t columns,
                            struct unrounded_sums *sums)
{
    return is_exact([=] {
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
