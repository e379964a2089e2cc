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
    static constexpr unsigned step = lanes_size<double>;
    fold_lanes<double, sum> same, crossed;

    FORCEINLINE dot_lanes()
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        same.totals.at[r] = crossed.totals.at[r] = broadcast(0.0);
    }

    FORCEINLINE void update(pointer_pair<In> at)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto x = load_as<double>(at.a + r * vector_lanes<double>),
                       y = load_as<double>(at.b + r * vector_lanes<double>);
            same.totals.at[r] += x * y;
            if constexpr (Parts > 1)
                crossed.totals.at[r] +=
                    x * swap_pairs(y, std::make_index_sequence<vector_lanes<double>>());
        }
    }

    FORCEINLINE void merge(const dot_lanes &other)
    {
        same.merge(other.same);
        if constexpr (Parts > 1)
            crossed.merge(other.crossed);
    }
};

template <class In, unsigned Parts>
void float_dot(const void *a, const void *b, size_t n, union dotted *result)
{
    const pointer_pair<In> pairs = {static_cast<const In *>(a), static_cast<const In *>(b)};
    const auto lanes = reduce_to_lanes<dot_lanes<In, Parts>>(pairs, n * Parts, In{});
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
FORCEINLINE V add_with_error(V x, V &sum)
{
    const V before = sum;
    sum += x;
    const V rounded = sum - before;
    return (before - (sum - rounded)) + (x - rounded);
}

FORCEINLINE double absolute_value(double x)
{
    return __builtin_fabs(x);
}

FORCEINLINE double product_error(double a, double b, double product)
{
#if defined(__FMA__) || defined(__AVX512F__)
    return __builtin_fma(a, b, -product);
#else
    return product_error(broadcast(a), broadcast(b), broadcast(product))[0];
#endif
}

/* Sums of products, in the lanes of V. */
template <class In, bool Exact, class V>
struct product_sum {
    V high = {};

    FORCEINLINE void update(V x, V y)
    {
        high += x * y;
    }

    FORCEINLINE void merge(const product_sum &other)
    {
        high += other.high;
    }

    template <class Function>
    FORCEINLINE auto map(Function f) const
    {
        return product_sum<In, false, decltype(f(high))>{f(high)};
    }
};

/* Compensated sums: the rounding errors of products and additions are summed separately (T. Ogita,
 * S. M. Rump, S. Oishi, "Accurate sum and dot product", SIAM J. Sci. Comput. 26, 2005). */
template <class In, class V>
struct product_sum<In, true, V> {
    V high = {}, low = {}, magnitude = {};

    FORCEINLINE void update(V x, V y)
    {
        const V product = x * y, error = add_with_error(product, high);
        if constexpr (std::is_same_v<In, double>)
            add_error(error + product_error(x, y, product));
        else
            add_error(error);
    }

    FORCEINLINE void merge(const product_sum &other)
    {
        const V error = add_with_error(other.high, high);
        low += other.low;
        magnitude += other.magnitude;
        add_error(error);
    }

    template <class Function>
    FORCEINLINE auto map(Function f) const
    {
        return product_sum<In, true, decltype(f(high))>{f(high), f(low), f(magnitude)};
    }

  private:
    FORCEINLINE void add_error(V error)
    {
        low += error;
        magnitude += absolute_value(error);
    }
};

template <class In, bool Exact>
struct slab_lanes {
    using element = In;
    static constexpr bool is_wide = true; /* exact sums need no tree; others are short */
    static constexpr unsigned step = lanes_size<double>;
    using scalar_sum = product_sum<In, Exact, double>;
    using vector_sum = product_sum<In, Exact, doubles>;
    vector_sum at[lanes_registers];

    FORCEINLINE void update(pointer_pair<In> pairs)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        at[r].update(load_as<double>(pairs.a + r * vector_lanes<double>),
                     load_as<double>(pairs.b + r * vector_lanes<double>));
    }

    FORCEINLINE void merge(const slab_lanes &other)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        at[r].merge(other.at[r]);
    }

    FORCEINLINE scalar_sum lane(unsigned k) const
    {
        return at[k / vector_lanes<double>].map(
            [=](doubles x) { return x[k % vector_lanes<double>]; });
    }

    FORCEINLINE scalar_sum total() const
    {
        vector_sum left[lanes_registers];
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        left[r] = at[r];
        UNROLLED_FOR(unsigned half = lanes_registers / 2; half > 0; half /= 2)
        UNROLLED_FOR(unsigned r = 0; r < half; r++)
        left[r].merge(left[r + half]);
        return horizontal_sum<vector_lanes<double> / 2>(left[0]);
    }

  private:
    template <unsigned Half>
    FORCEINLINE static scalar_sum horizontal_sum(vector_sum x)
    {
        if constexpr (Half == 0) {
            return x.map([](doubles lanes) { return lanes[0]; });
        } else {
            x.merge(x.map([](doubles lanes) {
                return upper_half<Half>(lanes, std::make_index_sequence<vector_lanes<double>>());
            }));
            return horizontal_sum<Half / 2>(x);
        }
    }
};

/* ---- rounding errors of products ---- */

/* The rounding error of a product of float64s is a float64, unless the product is very small: then
 * it is off by 2^-1075, which is negligible for a sum that is not small. */
template <class In>
FORCEINLINE bool is_small(double sum)
{
    return std::is_same_v<In, double> && absolute_value(sum) < 0x1p-900;
}

FORCEINLINE bool any_error_lost(pointer_pair<float>, size_t)
{
    return false;
}

FORCEINLINE bool any_error_lost(pointer_pair<double> pairs, size_t n)
{
    return any_product_underflows(pairs, n);
}

/* Adds a slab's sum. `error_unknown`: its error is unknown. */
template <class In>
FORCEINLINE void add_slab_sum(const product_sum<In, true, double> &x, bool error_unknown,
                              struct dot_sum *sum)
{
    constexpr double least_normal = 0x1p-1022;
    product_sum<In, true, double> total = {sum->high, sum->low, sum->taken};
    total.merge(x);
    if (std::is_same_v<In, double> && !is_small<In>(x.high))
        total.magnitude += least_normal;
    *sum = {total.high, total.low, error_unknown ? __builtin_inf() : total.magnitude, 0};
}

template <class In>
FORCEINLINE void add_slab_sum(const product_sum<In, false, double> &x, bool, struct dot_sum *sum)
{
    const double error = add_with_error(x.high, sum->high);
    sum->low += error == error ? error : 0; /* sums that are not finite have no error */
}

/* ---- slabs ---- */

template <class In>
FORCEINLINE pointer_pair<In> factors_at(const struct dot_slab *self, size_t steps)
{
    const auto at = [=](const void *factors, int64_t step) {
        return reinterpret_cast<const In *>(static_cast<const char *>(factors) +
                                            int64_t(steps) * step);
    };
    return {at(self->a, self->step_a), at(self->b, self->step_b)};
}

template <class In, bool Exact>
FORCEINLINE product_sum<In, Exact, double> dot_row(pointer_pair<In> row, size_t n)
{
    using lanes = slab_lanes<In, Exact>;
    constexpr size_t few = lanes::step * steps_per_run;
    if (n >= lanes::step && n <= few && n % lanes::step == 0)
        return reduce_run<lanes>(row, n / lanes::step).total();
    if (n >= lanes::step)
        return reduce_to_lanes<lanes>(row, n, In{}).total();
    product_sum<In, Exact, double> sum;
    for (size_t k = 0; k < n; k++)
        sum.update(double(row.a[k]), double(row.b[k]));
    return sum;
}

template <class In, bool Exact>
void dot_rows(const struct dot_slab *self, struct dot_sum *sums)
{
    for (size_t row = 0; row < self->results; row++) {
        const pointer_pair<In> pairs = factors_at<In>(self, row);
        const auto sum = dot_row<In, Exact>(pairs, self->n);
        add_slab_sum(sum, Exact && is_small<In>(sum.high) && any_error_lost(pairs, self->n),
                     &sums[row]);
    }
}

/* Adds some rows of one group of columns, or of fewer columns. */
template <class Lanes>
FORCEINLINE void update_rows(const struct dot_slab *self, size_t first, size_t count, size_t column,
                             Lanes &lanes)
{
    using In = typename Lanes::element;
    const size_t left = self->results - column;
    Lanes updated = lanes;
    if (left >= Lanes::step)
        for (size_t row = first; row < first + count; row++)
            updated.update(factors_at<In>(self, row) + column);
    else
        for (size_t row = first; row < first + count; row++) {
            const padded_elements<pointer_pair<In>, Lanes::step> few(
                factors_at<In>(self, row) + column, left, In{});
            updated.update(few.at);
        }
    lanes = updated;
}

/* Processes a few rows of all columns at a time, so that memory is read in order. */
template <class In, bool Exact>
void dot_columns(const struct dot_slab *self, struct dot_sum *sums)
{
    constexpr size_t rows = 8;
    using lanes = slab_lanes<In, Exact>;
    lanes groups[DOT_COLUMNS / lanes::step];
    for (size_t row = 0; row < self->n; row += rows)
        for (size_t column = 0; column < self->results; column += lanes::step)
            update_rows(self, row, self->n - row < rows ? self->n - row : rows, column,
                        groups[column / lanes::step]);
    for (size_t column = 0; column < self->results; column++) {
        const auto sum = groups[column / lanes::step].lane(unsigned(column % lanes::step));
        bool error_unknown = false;
        for (size_t row = 0; Exact && is_small<In>(sum.high) && row < self->n; row++)
            error_unknown = error_unknown || any_error_lost(factors_at<In>(self, row) + column, 1);
        add_slab_sum(sum, error_unknown, &sums[column]);
    }
}

void dot_integer_rows(const struct dot_slab *self, struct dot_sum *sums)
{
    for (size_t row = 0; row < self->results; row++) {
        const pointer_pair<uint64_t> pairs = factors_at<uint64_t>(self, row);
        for (size_t k = 0; k < self->n; k++)
            sums[row].integer += load<uint64_t>(pairs.a + k) * load<uint64_t>(pairs.b + k);
    }
}

template <class In>
add_dot_slab *float_slabs(bool columns, bool exactly)
{
    return columns   ? exactly ? dot_columns<In, true> : dot_columns<In, false>
           : exactly ? dot_rows<In, true>
                     : dot_rows<In, false>;
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
        return dot_integer_rows;
    }
}
