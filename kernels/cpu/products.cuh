/* Products: of floats like sums; of integers in pairs, within twice their bits, which hold a whole
 * product; of complex numbers with the parts in separate registers. */
#pragma once

#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* ---- floats ---- */

/* Replaces NaN by 1, the neutral element. */
struct nan_as_one : elementwise {
    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        const vector<T> values = converted<T>(x);
        return values == values ? values : in_all_lanes(T(1));
    }
};

/* ---- integers ---- */

/* Multiplies adjacent elements in twice as many bits, until these are 64. */
template <class In>
LANES_FUNCTION vector<uint64_t> pairs_multiplied(vector<In> x)
{
    if constexpr (sizeof(In) == sizeof(uint64_t)) {
        return vector<uint64_t>(x);
    } else {
        using bits = bits_of<2 * sizeof(In)>;
        using wide = std::conditional_t<std::is_signed_v<In>, std::make_signed_t<bits>, bits>;
        constexpr unsigned half = 8 * sizeof(In);
        const vector<wide> upper = vector<wide>(x) >> half,
                           lower = vector<wide>(vector<bits>(x) << half) >> half;
        return pairs_multiplied<wide>(lower * upper);
    }
}

template <class In>
struct multiplied_in_pairs {
    static constexpr unsigned elements = sizeof(uint64_t) / sizeof(In);

    template <class T>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        return pairs_multiplied<In>(loaded<vector<In>>(x));
    }
};

template <class In>
SHARED_FUNCTION uint64_t packed_product(const In *x, size_t n)
{
    sum_lanes<In, uint64_t, prod, multiplied_in_pairs<In>> lanes;
    take_all(lanes, x, n, In(1));
    return lanes.template total_as<uint64_t>();
}

/* ---- complex numbers ---- */

/* Multiplies like `prod`: the neutral element is skipped, and NaN may be too. */
template <class T, bool LeavesOutNan>
struct product_lanes {
    using element = complex<T>;
    static constexpr unsigned pairs = lanes_registers > 1 ? lanes_registers / 2 : 1,
                              step = pairs * apart<T>::count;
    vector<T> real[pairs], imag[pairs];

    LANES_FUNCTION product_lanes()
    {
        const complex<T> nothing = prod<complex<T>>::identity();
        EACH_REGISTER(unsigned r = 0; r < pairs; r++)
        {
            real[r] = in_all_lanes(nothing.real);
            imag[r] = in_all_lanes(nothing.imag);
        }
    }

    LANES_FUNCTION void take(const complex<T> *x)
    {
        EACH_REGISTER(unsigned r = 0; r < pairs; r++)
        {
            const apart<T> b(x + r * apart<T>::count);
            const auto only_a = is_left_out(b), only_b = is_neutral(real[r], imag[r]);
            const vector<T> product_real = real[r] * b.first - imag[r] * b.second,
                            product_imag = real[r] * b.second + imag[r] * b.first;
            real[r] = only_a ? real[r] : only_b ? b.first : product_real;
            imag[r] = only_a ? imag[r] : only_b ? b.second : product_imag;
        }
    }

    LANES_FUNCTION complex<T> result() const
    {
        complex<T> all = prod<complex<T>>::identity();
        for (unsigned r = 0; r < pairs; r++)
            for (unsigned k = 0; k < apart<T>::count; k++)
                all = prod<complex<T>>::merge(all, {real[r][k], imag[r][k]});
        return all;
    }

  private:
    LANES_FUNCTION static auto is_neutral(vector<T> a, vector<T> b)
    {
        using bits = vector<bits_of<sizeof(T)>>;
        const bits negative_zero = bits(in_all_lanes(T(-0.0)));
        return (a == 1) & (bits(b) == negative_zero);
    }

    LANES_FUNCTION static auto is_left_out(const apart<T> &x)
    {
        if constexpr (LeavesOutNan)
            return is_neutral(x.first, x.second) | (x.first != x.first) | (x.second != x.second);
        else
            return is_neutral(x.first, x.second);
    }
};

/* The array's first element is lifted unlike the others. */
template <class Fold, bool LeavesOutNan>
LANES_FUNCTION value_of<Fold> complex_product(const value_of<Fold> *x, size_t n, bool is_first)
{
    product_lanes<real_of<value_of<Fold>>, LeavesOutNan> lanes;
    take_all(lanes, x + is_first, n - is_first, Fold::identity());
    return is_first ? Fold::merge(Fold::lift(x[0], 0), lanes.result()) : lanes.result();
}

/* ---- loops ---- */

/* nanprod skips NaNs. */
template <class In, class V, template <class> class Fold = prod>
void product_loop(const void *elements, size_t n, uint64_t first, void *state)
{
    constexpr bool skipped = std::is_same_v<Fold<V>, nanprod<V>>;
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_truth<In>)
        put_state<Fold<V>>(state, V(count_of<In>(x, n) == n));
    else if constexpr (is_complex<V>)
        put_state<Fold<V>>(state, complex_product<Fold<V>, skipped>(x, n, first == 0));
    else if constexpr (is_float<In>)
        put_state<Fold<V>>(state,
                           folded<V, prod, std::conditional_t<skipped, nan_as_one, as_they_are>>(
                               x, n, constant<In>(1, 0x3c00, 0x3f80)));
    else
        put_state<Fold<V>>(state, V(packed_product(x, n)));
}

} // namespace
} // namespace KERNELS
