/* Logarithms of sums of exponentials: finds the maximum first, then adds the exponentials. */
#pragma once

#include "extremes.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* ln 2 in two parts, the upper one short enough for exact products with an exponent, and the number
 * of terms of the series of exp in [-ln 2 / 2, ln 2 / 2] that are significant in T. */
template <class T>
struct exp_series {
    static constexpr T ln2_high = T(0x1.63p-1), ln2_low = T(-0x1.bd0105c610ca8p-13);
    static constexpr T least = -87; /* the least whose exponential is normal */
    static constexpr unsigned bits = 23, terms = 7;
};

template <>
struct exp_series<double> {
    static constexpr double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33;
    static constexpr double least = -708;
    static constexpr unsigned bits = 52, terms = 13;
};

constexpr double factorial(unsigned n)
{
    return n ? n * factorial(n - 1) : 1;
}

/* The series' terms from number `Term` on, divided by r^Term. */
template <class T, unsigned Term>
FORCEINLINE vector<T> polynomial(vector<T> r)
{
    const vector<T> coefficient = broadcast(T(1 / factorial(Term)));
    if constexpr (Term == exp_series<T>::terms)
        return coefficient;
    else
        return coefficient + r * polynomial<T, Term + 1>(r);
}

/* exp(x - greatest) in every lane, for x <= greatest: 2^k exp(r) with d = x - greatest and r = d -
 * k ln 2. d is clamped to `least`; the difference is negligible in a sum of 1 or more. */
template <class T>
FORCEINLINE vector<T> exponential(vector<T> x, vector<T> greatest)
{
    using series = exp_series<T>;
    using integers = vector<bits_of<sizeof(T)>>;
    const vector<T> none = {}, least = broadcast(series::least),
                    shift = x == greatest ? none : x - greatest, d = shift < least ? least : shift;
    const T rounding = T(3) * T(uint64_t(1) << (series::bits - 1)); /* its last bit is worth 1 */
    const vector<T> rounded = d * T(1.4426950408889634) + rounding, k = rounded - rounding,
                    r = d - k * series::ln2_high - k * series::ln2_low;
    const vector<T> power = polynomial<T, 0>(r);
    return vector<T>(integers(power) + (integers(rounded) << series::bits));
}

template <class Values>
struct shifted_exponentials : elementwise {
    Values greatest;

    template <class T, class In>
    FORCEINLINE vector<T> apply(const In *x) const
    {
        return exponential<T>(load_as<T>(x), greatest);
    }
};

/* The last, partial step is padded with the lowest value. Lanes add up a few steps each. */
template <class T, class In>
NOINLINE double sum_of_exponentials(const In *x, size_t n, T greatest)
{
    using transform = shifted_exponentials<vector<T>>;
    using lanes = sum_lanes<In, T, sum, transform>;
    const transform shifted = {{}, broadcast(greatest)};
    double total = 0;
    size_t i = 0;
    while (i + lanes::step <= n) {
        lanes all;
        for (unsigned k = 0; k < steps_per_run && i + lanes::step <= n; k++, i += lanes::step)
            all.update(x + i, shifted);
        total += double(all.template total_as<T>());
    }
    if (i == n)
        return total;
    T last[lanes::step];
    for (unsigned k = 0; k < lanes::step; k++)
        last[k] = i + k < n ? T(x[i + k]) : ends<T>::least;
    sum_lanes<T, T, sum, transform> of_last;
    of_last.update(last, shifted);
    return total + double(of_last.template total_as<T>());
}

template <class In, class V>
void logsumexp_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using fold = logsumexp<V>;
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_complex<V>) {
        state_of<fold> all = fold::identity();
        for (size_t i = 0; i < n; i++)
            all = fold::merge(all, fold::lift(V(x[i]), i));
        store_state<fold>(state, all);
    } else {
        key<In> best;
        const bool has_nan = find_best<In, nan_policy::propagate, greatest>(x, n, &best);
        const V top = has_nan ? not_a_number<V>() : value<V, In>(best);
        store_state<fold>(state, {double(top), has_nan ? 1 : sum_of_exponentials(x, n, top)});
    }
}

} // namespace
} // namespace KERNELS
