/* Norms: magnitudes, or their squares, in float64, that are added or compared in lanes as sums are.
 * Those of narrow integers are added as integers, without losing a bit. */
#pragma once

#include "counts.cuh"
#include "extremes.cuh"
#include "spreads.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* ---- of elements ---- */

struct unscaled {
    static constexpr double by = 1;
};

struct scaled_up {
    static constexpr double by = blue::times_small;
};

struct scaled_down {
    static constexpr double by = blue::times_large;
};

template <class Scale>
struct squares {
    static constexpr unsigned elements = 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        const vector<T> values = converted<T>(x) * Scale::by;
        return values * values;
    }
};

LANES_FUNCTION vector<double> without_sign(vector<double> x)
{
    return vector<double>(vector<uint64_t>(x) & uint64_t(INT64_MAX));
}

struct magnitudes {
    static constexpr unsigned elements = 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        return without_sign(converted<T>(x));
    }
};

/* ---- of complex numbers ---- */

#if defined(__AVX512BW__)

LANES_FUNCTION vector<double> square_root(vector<double> x)
{
    return vector<double>(_mm512_sqrt_pd(x));
}

#elif defined(__AVX2__)

LANES_FUNCTION vector<double> square_root(vector<double> x)
{
    return vector<double>(_mm256_sqrt_pd(x));
}

#elif defined(__SSE2__)

LANES_FUNCTION vector<double> square_root(vector<double> x)
{
    return vector<double>(_mm_sqrt_pd(x));
}

#else

LANES_FUNCTION vector<double> square_root(vector<double> x)
{
    return vector<double>{sqrt(x[0]), sqrt(x[1])};
}

#endif

/* What to multiply a number by before it is squared. */
LANES_FUNCTION vector<double> scale_of(vector<double> size)
{
    const vector<double> none = in_all(1.0), up = in_all(0x1p+600), down = in_all(0x1p-600);
    const vector<double> not_large = size < 0x1p-400 ? up : none;
    return size > 0x1p+400 ? down : not_large;
}

/* Squares of float32 neither overflow nor underflow in float64. */
template <class In>
LANES_FUNCTION vector<double> root_of_squares(vector<double> a, vector<double> b)
{
    if constexpr (std::is_same_v<In, double>) {
        const vector<double> scale = scale_of(a > b ? a : b), x = a * scale, y = b * scale;
        return square_root(x * x + y * y) / scale;
    } else {
        return square_root(a * a + b * b);
    }
}

/* Of a real and an imaginary part each; infinite if one of them is, even if the other is NaN. */
struct complex_magnitudes {
    static constexpr unsigned elements = 2;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        const apart<T> parts(converted<T>(x), converted<T>(x + register_bytes / sizeof(T)));
        const vector<T> a = without_sign(parts.first), b = without_sign(parts.second),
                        infinity = in_all(ends<T>::greatest), root = root_of_squares<In>(a, b);
        const auto is_infinite = (a == infinity) | (b == infinity);
        return is_infinite ? infinity : root;
    }
};

template <class V>
using magnitudes_of = std::conditional_t<parts_of<V>::count == 1, magnitudes, complex_magnitudes>;

/* ---- folds of them ---- */

/* NaN is what is looked for. */
template <class T>
struct largest {
    LANES_FUNCTION static double identity()
    {
        return 0;
    }

    LANES_FUNCTION static T merge(T a, T b)
    {
        const auto taken = (b > a) | (b != b);
        return taken ? b : a;
    }
};

template <class T>
struct smallest {
    LANES_FUNCTION static double identity()
    {
        return ends<double>::greatest;
    }

    LANES_FUNCTION static T merge(T a, T b)
    {
        const auto taken = (b < a) | (b != b);
        return taken ? b : a;
    }
};

/* Makes no difference to the smallest magnitude. */
template <class In>
LANES_FUNCTION In infinite_element()
{
    if constexpr (std::is_arithmetic_v<In>)
        return ends<In>::greatest;
    else
        return {std::is_same_v<In, float16> ? 0x7c00 : 0x7f80};
}

template <class In, template <class> class Fold, class Of>
LANES_FUNCTION double folded(const In *x, size_t n, In nothing)
{
    double total;
    added_up<sum_lanes<In, double, Fold, Of>>(x, n, nothing).template total<1>(&total);
    return total;
}

/* ---- loops ---- */

/* Where a chunk's sum of squares is large, or next to nothing, it is made once more of scaled
 * values: then those that overflow, or vanish, are not too far from the others. */
template <class In, class V, class Fold>
void norm2_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using in = typename parts_of<In>::type;
    const in *const x = static_cast<const in *>(elements);
    n *= parts_of<V>::count;
    const double middle = folded<in, sum, squares<unscaled>>(x, n, in{});
    if constexpr (std::is_same_v<in, double>) {
        constexpr double too_small = 0x1p-960, too_large = LOOP_MOST * blue::large * blue::large;
        if (middle < too_small)
            return put_state<Fold>(state, {folded<in, sum, squares<scaled_up>>(x, n, in{}), 0, 0});
        if (!(middle <= too_large))
            return put_state<Fold>(state,
                                   {0, 0, folded<in, sum, squares<scaled_down>>(x, n, in{})});
    }
    put_state<Fold>(state, {0, middle, 0});
}

template <class In, class V, class Fold>
void narrow_norm2_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    put_state<Fold>(state, {0, double(packed_squares<In, unsigned_magnitude>(x, n)), 0});
}

template <class In, class V, class Fold>
void truth_norm2_loop(const void *elements, size_t n, uint64_t, void *state)
{
    put_state<Fold>(state, {0, double(count_of<In>(elements, n)), 0});
}

template <class In, class V, class Fold>
void norm1_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using in = typename parts_of<In>::type;
    put_state<Fold>(state, folded<in, sum, magnitudes_of<V>>(static_cast<const in *>(elements),
                                                             n * parts_of<V>::count, in{}));
}

template <class In, class V, class Fold>
void narrow_norm1_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    put_state<Fold>(state, double(packed_sum<In, unsigned_magnitude>(x, n)));
}

/* The largest magnitude is that of the smallest or of the largest number. */
template <class In, class V, class Fold>
void norm_inf_loop(const void *elements, size_t n, uint64_t, void *state)
{
    key<In> best[2];
    if (find_best<In, nan_is::noted, least, greatest>(static_cast<const In *>(elements), n, best))
        return put_state<Fold>(state, not_a_number<double>());
    put_state<Fold>(
        state, greatest_number(magnitude(value<V, In>(best[0])), magnitude(value<V, In>(best[1]))));
}

template <class V, class Fold>
void complex_norm_inf_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using part = typename parts_of<V>::type;
    put_state<Fold>(state, folded<part, largest, complex_magnitudes>(
                               static_cast<const part *>(elements), 2 * n, part{}));
}

template <class In, class V, class Fold>
void norm_neg_inf_loop(const void *elements, size_t n, uint64_t, void *state)
{
    using in = typename parts_of<In>::type;
    put_state<Fold>(state, folded<in, smallest, magnitudes_of<V>>(static_cast<const in *>(elements),
                                                                  n * parts_of<V>::count,
                                                                  infinite_element<in>()));
}

} // namespace
} // namespace KERNELS
