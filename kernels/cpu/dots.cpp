/* Dot products, fast ones. This file is compiled once for each set of instructions, which
 * GRED_INSTRUCTIONS names. */
#include "sums.cuh"
#include "table.h"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- floats ---- */

/* Products in float64, where those of narrower floats are exact, each in the lane whose turn it is.
 * A complex number's parts are multiplied with those of the other one, too. */
template <class In, unsigned Parts>
struct dot_lanes {
    using element = In;
    static constexpr bool is_wide = false;
    static constexpr unsigned in_register = register_bytes / sizeof(double),
                              step = lanes_registers * in_register;
    folded_lanes<double, sum> same, crossed;

    LANES_FUNCTION dot_lanes()
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        same.totals.at[r] = crossed.totals.at[r] = in_all(0.0);
    }

    LANES_FUNCTION void take(pairs_at<In> at)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto x = converted<double>(at.a + r * in_register),
                       y = converted<double>(at.b + r * in_register);
            same.totals.at[r] += x * y;
            if constexpr (Parts > 1)
                crossed.totals.at[r] += x * neighbours(y, std::make_index_sequence<in_register>());
        }
    }

    LANES_FUNCTION void join(const dot_lanes &other)
    {
        same.join(other.same);
        if constexpr (Parts > 1)
            crossed.join(other.crossed);
    }
};

template <class In, unsigned Parts>
void float_dot(const void *a, const void *b, size_t n, union dotted *result)
{
    const pairs_at<In> pairs = {static_cast<const In *>(a), static_cast<const In *>(b)};
    const auto lanes = added_up<dot_lanes<In, Parts>>(pairs, n * Parts, In{});
    *result = {};
    lanes.same.template total<Parts>(result->parts.same);
    if constexpr (Parts > 1)
        lanes.crossed.template total<Parts>(result->parts.crossed);
}

/* ---- integers ---- */

/* Products of short integers fit in 32 bits, and all others, modulo 2^64, in 64. */
template <class In>
void integer_dot(const void *a, const void *b, size_t n, union dotted *result)
{
    using wide = std::conditional_t<std::is_signed_v<In>, int64_t, uint64_t>;
    using product =
        std::conditional_t<sizeof(In) < sizeof(int32_t),
                           std::conditional_t<std::is_signed_v<In>, int32_t, uint32_t>, uint64_t>;
    const In *const x = static_cast<const In *>(a), *const y = static_cast<const In *>(b);
    uint64_t total = 0;
    for (size_t k = 0; k < n; k++)
        total += uint64_t(wide(product(wide(x[k])) * product(wide(y[k]))));
    result->integer = total;
}

void truth_dot(const void *a, const void *b, size_t n, union dotted *result)
{
    const uint8_t *const x = static_cast<const uint8_t *>(a), *const y =
                                                                  static_cast<const uint8_t *>(b);
    uint64_t total = 0;
    for (size_t k = 0; k < n; k++)
        total += uint64_t(x[k] != 0) & uint64_t(y[k] != 0);
    result->integer = total;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

dot_elements *KERNELS::find_dot(enum element element)
{
    return visit_elements(element, [](auto in, auto) -> dot_elements * {
        using In = type_in<decltype(in)>;
        if constexpr (std::is_same_v<In, boolean>)
            return truth_dot;
        else if constexpr (std::is_integral_v<In>)
            return integer_dot<In>;
        else
            return float_dot<typename parts_of<In>::type, parts_of<In>::count>;
    });
}
