/* Vectorized dot products. Compiled once per instruction set, named by GRED_INSTRUCTIONS. */
#include "sums.cuh"
#include "table.h"
#include "types.cuh"
#include "windows.cuh"

namespace KERNELS
{
namespace
{

/* ---- floats ---- */

/* Products in float64, where those of narrower floats are exact, added in lanes. For complex
 * numbers, each part is also multiplied by the other factor's other part. */
template <class In, unsigned Parts>
struct dot_lanes {
    using element = In;
    static constexpr bool is_wide = false;
    static constexpr unsigned step = in_lanes<double>;
    folded_lanes<double, sum> same, crossed;

    LANES_FUNCTION dot_lanes()
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        same.totals.at[r] = crossed.totals.at[r] = in_all_lanes(0.0);
    }

    LANES_FUNCTION void take(pairs_at<In> at)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto x = converted<double>(at.a + r * in_register<double>),
                       y = converted<double>(at.b + r * in_register<double>);
            same.totals.at[r] += x * y;
            if constexpr (Parts > 1)
                crossed.totals.at[r] +=
                    x * neighbours(y, std::make_index_sequence<in_register<double>>());
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

/* Products of 8- and 16-bit integers fit in 32 bits, others, modulo 2^64, in 64. */
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

/* ---- many results ---- */

/* Adds x to a sum and returns the rounding error, which is exact (D. E. Knuth, "The Art of Computer
 * Programming", volume 2, 4.2.2). */
template <class V>
LANES_FUNCTION V lost_by_adding(V x, V &sum)
{
    const V before = sum;
    sum += x;
    const V shown = sum - before;
    return (before - (sum - shown)) + (x - shown);
}

LANES_FUNCTION double without_sign(double x)
{
    return __builtin_fabs(x);
}

LANES_FUNCTION double product_error(double a, double b, double product)
{
#if defined(__FMA__) || defined(__AVX512F__)
    return __builtin_fma(a, b, -product);
#else
    return product_error(in_all_lanes(a), in_all_lanes(b), in_all_lanes(product))[0];
#endif
}

/* Sums of products, in the lanes of V. */
template <class In, bool Exactly, class V>
struct products_sum {
    V high = {};

    LANES_FUNCTION void take(V x, V y)
    {
        high += x * y;
    }

    LANES_FUNCTION void join(const products_sum &other)
    {
        high += other.high;
    }

    template <class Change>
    LANES_FUNCTION auto changed(Change change) const
    {
        return products_sum<In, false, decltype(change(high))>{change(high)};
    }
};

/* Compensated sums: the rounding errors of products and additions are summed separately (T. Ogita,
 * S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005). */
template <class In, class V>
struct products_sum<In, true, V> {
    V high = {}, low = {}, taken = {};

    LANES_FUNCTION void take(V x, V y)
    {
        const V product = x * y, lost = lost_by_adding(product, high);
        if constexpr (std::is_same_v<In, double>)
            note(lost + product_error(x, y, product));
        else
            note(lost);
    }

    LANES_FUNCTION void join(const products_sum &other)
    {
        const V lost = lost_by_adding(other.high, high);
        low += other.low;
        taken += other.taken;
        note(lost);
    }

    template <class Change>
    LANES_FUNCTION auto changed(Change change) const
    {
        return products_sum<In, true, decltype(change(high))>{change(high), change(low),
                                                              change(taken)};
    }

  private:
    LANES_FUNCTION void note(V lost)
    {
        low += lost;
        taken += without_sign(lost);
    }
};

template <class In, bool Exactly>
struct slab_lanes {
    using element = In;
    static constexpr bool is_wide = true; /* exact sums need no tree; others are short */
    static constexpr unsigned step = in_lanes<double>;
    using of_one = products_sum<In, Exactly, double>;
    using of_register = products_sum<In, Exactly, doubles>;
    of_register at[lanes_registers];

    LANES_FUNCTION void take(pairs_at<In> pairs)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        at[r].take(converted<double>(pairs.a + r * in_register<double>),
                   converted<double>(pairs.b + r * in_register<double>));
    }

    LANES_FUNCTION void join(const slab_lanes &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        at[r].join(other.at[r]);
    }

    LANES_FUNCTION of_one lane(unsigned k) const
    {
        return at[k / in_register<double>].changed(
            [=](doubles x) { return x[k % in_register<double>]; });
    }

    LANES_FUNCTION of_one total() const
    {
        of_register left[lanes_registers];
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        left[r] = at[r];
        EACH_REGISTER(unsigned half = lanes_registers / 2; half > 0; half /= 2)
        EACH_REGISTER(unsigned r = 0; r < half; r++)
        left[r].join(left[r + half]);
        return total_of<in_register<double> / 2>(left[0]);
    }

  private:
    template <unsigned Half>
    LANES_FUNCTION static of_one total_of(of_register x)
    {
        if constexpr (Half == 0) {
            return x.changed([](doubles lanes) { return lanes[0]; });
        } else {
            x.join(x.changed([](doubles lanes) {
                return upper_half<Half>(lanes, std::make_index_sequence<in_register<double>>());
            }));
            return total_of<Half / 2>(x);
        }
    }
};

/* ---- rounding errors of products ---- */

/* The rounding error of a product of float64s is a float64, unless the product is very small: then
 * it is off by 2^-1075, which is negligible for a sum that is not small. */
template <class In>
LANES_FUNCTION bool is_small(double sum)
{
    return std::is_same_v<In, double> && without_sign(sum) < 0x1p-900;
}

LANES_FUNCTION bool is_any_lost(pairs_at<float>, size_t)
{
    return false;
}

LANES_FUNCTION bool is_any_lost(pairs_at<double> pairs, size_t n)
{
    return is_any_too_small(pairs, n);
}

/* Adds a slab's sum. `lacks`: its error is unknown. */
template <class In>
LANES_FUNCTION void put_sum(const products_sum<In, true, double> &x, bool lacks,
                            struct dot_sum *sum)
{
    constexpr double least_normal = 0x1p-1022;
    products_sum<In, true, double> total = {sum->high, sum->low, sum->taken};
    total.join(x);
    if (std::is_same_v<In, double> && !is_small<In>(x.high))
        total.taken += least_normal;
    *sum = {total.high, total.low, lacks ? __builtin_inf() : total.taken, 0};
}

template <class In>
LANES_FUNCTION void put_sum(const products_sum<In, false, double> &x, bool, struct dot_sum *sum)
{
    const double lost = lost_by_adding(x.high, sum->high);
    sum->low += lost == lost ? lost : 0; /* sums that are not finite have no error */
}

/* ---- slabs ---- */

template <class In>
LANES_FUNCTION pairs_at<In> pairs_of(const struct dot_slab *self, size_t steps)
{
    const auto at = [=](const void *factors, int64_t step) {
        return reinterpret_cast<const In *>(static_cast<const char *>(factors) +
                                            int64_t(steps) * step);
    };
    return {at(self->a, self->step_a), at(self->b, self->step_b)};
}

template <class In, bool Exactly>
LANES_FUNCTION products_sum<In, Exactly, double> row_sum(pairs_at<In> row, size_t n)
{
    using lanes = slab_lanes<In, Exactly>;
    constexpr size_t few = lanes::step * steps_per_run;
    if (n >= lanes::step && n <= few && n % lanes::step == 0)
        return run_added<lanes>(row, n / lanes::step).total();
    if (n >= lanes::step)
        return added_up<lanes>(row, n, In{}).total();
    products_sum<In, Exactly, double> sum;
    for (size_t k = 0; k < n; k++)
        sum.take(double(row.a[k]), double(row.b[k]));
    return sum;
}

template <class In, bool Exactly>
void rows_dot(const struct dot_slab *self, struct dot_sum *sums)
{
    for (size_t row = 0; row < self->results; row++) {
        const pairs_at<In> pairs = pairs_of<In>(self, row);
        const auto sum = row_sum<In, Exactly>(pairs, self->n);
        put_sum(sum, Exactly && is_small<In>(sum.high) && is_any_lost(pairs, self->n), &sums[row]);
    }
}

/* Adds some rows of one group of columns, or of fewer columns. */
template <class Lanes>
LANES_FUNCTION void take_rows(const struct dot_slab *self, size_t first, size_t count,
                              size_t column, Lanes &lanes)
{
    using In = typename Lanes::element;
    const size_t left = self->results - column;
    Lanes taken = lanes;
    if (left >= Lanes::step)
        for (size_t row = first; row < first + count; row++)
            taken.take(pairs_of<In>(self, row) + column);
    else
        for (size_t row = first; row < first + count; row++) {
            const padded_elements<pairs_at<In>, Lanes::step> few(pairs_of<In>(self, row) + column,
                                                                 left, In{});
            taken.take(few.at);
        }
    lanes = taken;
}

/* Processes a few rows of all columns at a time, so that memory is read in order. */
template <class In, bool Exactly>
void columns_dot(const struct dot_slab *self, struct dot_sum *sums)
{
    constexpr size_t rows = 8;
    using lanes = slab_lanes<In, Exactly>;
    lanes groups[DOT_COLUMNS / lanes::step];
    for (size_t row = 0; row < self->n; row += rows)
        for (size_t column = 0; column < self->results; column += lanes::step)
            take_rows(self, row, self->n - row < rows ? self->n - row : rows, column,
                      groups[column / lanes::step]);
    for (size_t column = 0; column < self->results; column++) {
        const auto sum = groups[column / lanes::step].lane(unsigned(column % lanes::step));
        bool lacks = false;
        for (size_t row = 0; Exactly && is_small<In>(sum.high) && row < self->n; row++)
            lacks = lacks || is_any_lost(pairs_of<In>(self, row) + column, 1);
        put_sum(sum, lacks, &sums[column]);
    }
}

void integer_rows_dot(const struct dot_slab *self, struct dot_sum *sums)
{
    for (size_t row = 0; row < self->results; row++) {
        const pairs_at<uint64_t> pairs = pairs_of<uint64_t>(self, row);
        for (size_t k = 0; k < self->n; k++)
            sums[row].integer += loaded<uint64_t>(pairs.a + k) * loaded<uint64_t>(pairs.b + k);
    }
}

template <class In>
add_dot_slab *float_slabs(bool columns, bool exactly)
{
    return columns   ? exactly ? columns_dot<In, true> : columns_dot<In, false>
           : exactly ? rows_dot<In, true>
                     : rows_dot<In, false>;
}

} // namespace
} // namespace KERNELS

using namespace KERNELS;

dot_elements *KERNELS::find_dot(enum element element)
{
    return visit_elements(element, [](auto in, auto) -> dot_elements * {
        using In = type_in<decltype(in)>;
        if constexpr (!is_float<In>)
            return integer_dot<In>;
        else
            return float_dot<real_of<In>, parts_of<In>::count>;
    });
}

add_dot_slab *KERNELS::find_dot_slabs(enum element element, bool columns, bool exactly)
{
    switch (element) {
    case ELEMENT_FLOAT32:
        return float_slabs<float>(columns, exactly);
    case ELEMENT_FLOAT64:
        return float_slabs<double>(columns, exactly);
    default:
        return integer_rows_dot;
    }
}
