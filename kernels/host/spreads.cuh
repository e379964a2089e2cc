/* Variances: of a loop's elements first the mean and then the deviations from it, all in float64.
 * Those of narrow integers come from sums of squares that no bit is lost of. */
#pragma once

#include "counts.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* The squares of deviations; means are those of lanes, since a complex number has two. */
template <class In>
struct deviation_lanes {
    using element = In;
    static constexpr unsigned in_register = register_bytes / sizeof(double),
                              step = lanes_registers * in_register;
    vector<double> mean;
    lanes<double> squares = {};

    LANES_FUNCTION deviation_lanes(vector<double> mean) : mean(mean) {}

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<double> away = converted<double>(x + r * in_register) - mean;
            squares.at[r] += away * away;
        }
    }

    LANES_FUNCTION double total() const
    {
        double total;
        squares.template merged<1>(&total, [](auto a, auto b) { return a + b; });
        return total;
    }
};

/* The elements that fill no step are the last to be added, one by one. */
template <unsigned Parts, class In>
LANES_FUNCTION double deviations(const In *x, size_t n, const double *means)
{
    vector<double> mean;
    for (unsigned k = 0; k < deviation_lanes<In>::in_register; k++)
        mean[k] = means[k % Parts];
    deviation_lanes<In> lanes(mean);
    size_t i = 0;
    for (; i + lanes.step <= n; i += lanes.step)
        lanes.take(x + i);
    double total = lanes.total();
    for (; i < n; i++)
        total += squared(double(x[i]) - means[i % Parts]);
    return total;
}

template <class In, class V, class Fold>
void variance_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using in = typename parts_of<In>::type;
    constexpr unsigned parts = parts_of<V>::count;
    const in *const x = static_cast<const in *>(elements);
    double means[parts];
    added_up<sum_lanes<in, double>>(x, n * parts, nothing_to_add<in>())
        .template total<parts>(means);
    for (double &mean : means)
        mean /= double(n);
    wide_of<V> mean;
    memcpy(&mean, means, sizeof mean);
    put_state<Fold>(state, {double(n), mean, deviations<parts>(x, n * parts, means)});
}

/* ---- narrow integers ---- */

/* Sums of squares that no bit is lost of. */
template <class In, template <class> class Of>
struct square_lanes {
    using element = In;
    using bits = bits_of<sizeof(In)>;
    using square = bits_of<2 * sizeof(In)>;
    using total = bits_of<4 * sizeof(In)>;
    static constexpr unsigned step = lanes_bytes / sizeof(In);
    lanes<total> squares = {};

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto values = loaded<vector<bits>>(x + r * (register_bytes / sizeof(In)));
            const auto pairs = vector<square>(Of<In>::of(values));
            const vector<square> one = pairs & square(bits(-1)), other = pairs >> 8 * sizeof(In);
            squares.at[r] += pairs_added<square>(one * one) + pairs_added<square>(other * other);
        }
    }

    LANES_FUNCTION uint64_t sum() const
    {
        uint64_t all = 0;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all += total_of<total>(squares.at[r]);
        return all;
    }
};

template <class In, template <class> class Of>
SHARED_FUNCTION uint64_t packed_squares(const In *x, size_t n)
{
    square_lanes<In, Of> lanes;
    take_all(lanes, x, n, In(Of<In>::bias));
    return lanes.sum();
}

/* Of raised values, since a variance does not depend on where 0 is: n times the sum of squares less
 * the square of the sum has 12 + 12 + 32 bits at most. */
template <class In, class Fold>
void narrow_variance_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    const uint64_t sum = packed_sum(x, n), all = sum + uint64_t(raised<In>::bias) * n;
    put_state<Fold>(state, {double(n), double(int64_t(sum)) / double(n),
                            double(n * packed_squares<In, raised>(x, n) - all * all) / double(n)});
}

template <class In, class Fold>
void truth_variance_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const uint64_t count = count_of<In>(elements, n);
    put_state<Fold>(
        state, {double(n), double(count) / double(n), double(count * (n - count)) / double(n)});
}

} // namespace
} // namespace KERNELS
