/* Variances and norms, in float64. A loop computes its elements' mean first, then the deviations
 * from it. Magnitudes, or their squares, are added or compared in lanes, like sums. Narrow integers
 * use exact integer sums. */
#pragma once

#include "extremes.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* ---- variances ---- */

/* The squares of deviations. `mean` differs by lane, since a complex number has two parts. */
template <unsigned Parts, nan_policy Nan>
struct squared_deviations : elementwise {
    vector<double> mean;

    template <class T, class In>
    FORCEINLINE vector<T> apply(const In *x) const
    {
        const vector<T> values = load_as<T>(x);
        vector<T> deviation = values - mean;
        if constexpr (Nan == nan_policy::omit)
            deviation = number_mask<Parts>(values) ? deviation : vector<T>{};
        return deviation * deviation;
    }
};

/* The last, partial step is added one by one, or, if NaNs are skipped, padded with NaN. */
template <unsigned Parts, nan_policy Nan, class In>
FORCEINLINE double deviation_sum(const In *x, size_t n, const double *means)
{
    squared_deviations<Parts, Nan> transform;
    for (unsigned k = 0; k < vector_lanes<double>; k++)
        transform.mean[k] = means[k % Parts];
    sum_lanes<In, double, sum, squared_deviations<Parts, Nan>> lanes;
    size_t i = 0;
    for (; i + lanes.step <= n; i += lanes.step)
        lanes.update(x + i, transform);
    if constexpr (Nan == nan_policy::omit) {
        lanes.update(padded_elements<const In *, lanes.step>(x + i, n - i, nan_element<In>()).at,
                     transform);
        i = n;
    }
    double total = lanes.template total_as<double>();
    for (; i < n; i++)
        total += squared(double(x[i]) - means[i % Parts]);
    return total;
}

/* Computes the mean from a known sum and count, then the deviations from it. */
template <class V, nan_policy Nan, class In>
FORCEINLINE state_of<variance<V>> float_variance(const In *x, size_t n,
                                                 state_of<nansum<wide_of<V>>> all)
{
    constexpr unsigned parts = parts_of<V>::count;
    if (Nan == nan_policy::omit && all.count == 0)
        return variance<V>::identity();
    double *const means = reinterpret_cast<double *>(&all.sum);
    for (unsigned part = 0; part < parts; part++)
        means[part] /= double(all.count);
    return {double(all.count), all.sum,
            deviation_sum<parts, Nan>(reinterpret_cast<const real_of<In> *>(x), n * parts, means)};
}

/* ---- narrow integers ---- */

/* Exact squares, added in pairs. */
template <template <class> class Map>
struct pair_squares {
    static constexpr unsigned elements = 4;

    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        using bits = bits_of<sizeof(In)>;
        using square = bits_of<2 * sizeof(In)>;
        const auto pairs = vector<square>(Map<In>::apply(load<vector<bits>>(x)));
        const vector<square> one = pairs & square(bits(-1)), other = pairs >> 8 * sizeof(In);
        return add_pairs<square>(one * one) + add_pairs<square>(other * other);
    }
};

template <class In, template <class> class Map>
NOINLINE uint64_t packed_squares(const In *x, size_t n)
{
    return unsigned_total<bits_of<4 * sizeof(In)>, pair_squares<Map>>(x, n, In(Map<In>::bias));
}

/* Computed from biased values, which have the same variance: n times the sum of squares minus the
 * square of the sum has at most 12 + 12 + 32 bits. */
template <class In>
FORCEINLINE variance_state<double> narrow_variance(const In *x, size_t n)
{
    const uint64_t sum = packed_sum(x, n), all = sum + uint64_t(biased<In>::bias) * n;
    return {double(n), double(int64_t(sum)) / double(n),
            double(n * packed_squares<In, biased>(x, n) - all * all) / double(n)};
}

template <class In, class V, nan_policy Nan = nan_policy::propagate>
void variance_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    using fold = variance<V>;
    if constexpr (is_truth<In>) {
        const uint64_t count = count_nonzero<In>(x, n);
        store_state<fold>(
            state, {double(n), double(count) / double(n), double(count * (n - count)) / double(n)});
    } else if constexpr (std::is_integral_v<In> && sizeof(In) <= 2) {
        store_state<fold>(state, narrow_variance(x, n));
    } else if constexpr (Nan == nan_policy::omit) {
        store_state<fold>(state, float_variance<V, Nan>(x, n, nansum_state<wide_of<V>>(x, n)));
    } else {
        store_state<fold>(state, float_variance<V, Nan>(x, n, {float_sum<wide_of<V>>(x, n), n}));
    }
}

/* ---- transformations of elements ---- */

/* Squares of elements multiplied by 2^Exponent. */
template <int Exponent>
struct squares : elementwise {
    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        const vector<T> values = load_as<T>(x) * __builtin_ldexp(1, Exponent);
        return values * values;
    }
};

struct magnitudes : elementwise {
    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        return absolute_value(load_as<T>(x));
    }
};

/* ---- magnitudes of complex numbers ---- */

FORCEINLINE vector<double> square_root(vector<double> x)
{
#if defined(__AVX512BW__)
    return vector<double>(_mm512_sqrt_pd(x));
#elif defined(__AVX2__)
    return vector<double>(_mm256_sqrt_pd(x));
#else
    return vector<double>{sqrt(x[0]), sqrt(x[1])};
#endif
}

/* The scale factor of a number before it is squared. */
FORCEINLINE vector<double> scale_of(vector<double> size)
{
    const vector<double> none = broadcast(1.0), up = broadcast(0x1p+600),
                         down = broadcast(0x1p-600);
    const vector<double> not_large = size < 0x1p-400 ? up : none;
    return size > 0x1p+400 ? down : not_large;
}

/* Float64s are scaled; the squares of float32s neither overflow nor underflow in float64. */
template <class In>
FORCEINLINE vector<double> hypotenuse(vector<double> a, vector<double> b)
{
    if constexpr (std::is_same_v<In, double>) {
        const vector<double> scale = scale_of(a > b ? a : b), x = a * scale, y = b * scale;
        return square_root(x * x + y * y) / scale;
    } else {
        return square_root(a * a + b * b);
    }
}

/* Magnitudes of complex numbers; infinite if a part is infinite, even if the other one is NaN. */
struct complex_magnitudes {
    static constexpr unsigned elements = 2;

    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        const deinterleaved<T> parts(load_as<T>(x), load_as<T>(x + vector_lanes<T>));
        const vector<T> a = absolute_value(parts.first), b = absolute_value(parts.second),
                        infinity = broadcast(ends<T>::greatest), root = hypotenuse<In>(a, b);
        const auto is_infinite = (a == infinity) | (b == infinity);
        return is_infinite ? infinity : root;
    }
};

template <class V>
using magnitudes_of = std::conditional_t<parts_of<V>::count == 1, magnitudes, complex_magnitudes>;

/* ---- folds of magnitudes ---- */

/* The largest or smallest magnitude; NaN if there is one. */
template <class T, bool Largest>
struct extreme_magnitude {
    FORCEINLINE static double identity()
    {
        return Largest ? 0 : ends<double>::greatest;
    }

    FORCEINLINE static T merge(T a, T b)
    {
        const auto taken = (Largest ? b > a : b < a) | (b != b);
        return taken ? b : a;
    }
};

template <class T>
using largest = extreme_magnitude<T, true>;

template <class T>
using smallest = extreme_magnitude<T, false>;

/* ---- loops ---- */

/* If a chunk's sum of squares is very large or very small, it is computed again from scaled values:
 * the elements that overflow or underflow are then not too far from the others. */
template <class V, class In>
FORCEINLINE state_of<norm2<V>> float_squares(const In *x, size_t n)
{
    const double middle = reduce_array<double, sum, squares<0>>(x, n);
    if constexpr (std::is_same_v<real_of<In>, double>) {
        constexpr int up = 537, down = -538;
        static_assert(blue::times_small == 0x1p537 && blue::times_large == 0x1p-538);
        constexpr double too_small = 0x1p-960, too_large = CHUNK_MAX * blue::large * blue::large;
        if (middle < too_small)
            return {reduce_array<double, sum, squares<up>>(x, n), 0, 0};
        if (!(middle <= too_large))
            return {0, 0, reduce_array<double, sum, squares<down>>(x, n)};
    }
    return norm2<V>::state_of_squares(middle);
}

template <class In, class V>
void norm2_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_truth<In>)
        store_state<norm2<V>>(state, norm2<V>::state_of_squares(double(count_nonzero<In>(x, n))));
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 2)
        store_state<norm2<V>>(state, norm2<V>::state_of_squares(
                                         double(packed_squares<In, unsigned_magnitude>(x, n))));
    else
        store_state<norm2<V>>(state, float_squares<V>(x, n));
}

template <class In, class V>
void norm1_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_truth<In>)
        store_state<norm1<V>>(state, double(count_nonzero<In>(x, n)));
    else if constexpr (std::is_integral_v<In> && sizeof(In) <= 4)
        store_state<norm1<V>>(state, double(packed_sum<In, unsigned_magnitude>(x, n)));
    else
        store_state<norm1<V>>(state, reduce_array<double, sum, magnitudes_of<V>>(x, n));
}

/* The largest magnitude is that of the minimum or of the maximum. */
template <class In, class V>
void norm_inf_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using fold = norm_inf<V>;
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_complex<V>) {
        store_state<fold>(state, reduce_array<double, largest, complex_magnitudes>(x, n));
    } else {
        key<In> best[2];
        if (find_best<In, nan_policy::propagate, least, greatest>(x, n, best))
            return store_state<fold>(state, not_a_number<double>());
        store_state<fold>(state, max_of_numbers(magnitude(value<V, In>(best[0])),
                                                magnitude(value<V, In>(best[1]))));
    }
}

template <class In, class V>
void norm_neg_inf_loop(const void *elements, size_t n, uint64_t, void *state)
{
    store_state<norm_neg_inf<V>>(
        state, reduce_array<double, smallest, magnitudes_of<V>>(
                   static_cast<const In *>(elements), n,
                   constant<real_of<In>>(ends<double>::greatest, 0x7c00, 0x7f80)));
}

} // namespace
} // namespace KERNELS
