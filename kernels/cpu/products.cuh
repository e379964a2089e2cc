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
    FORCEINLINE static vector<T> apply(const In *x)
    {
        const vector<T> values = load_as<T>(x);
        return values == values ? values : broadcast(T(1));
    }
};

/* ---- integers ---- */

/* Multiplies adjacent elements in twice as many bits, until these are 64. */
template <class In>
FORCEINLINE vector<uint64_t> multiply_pairs(vector<In> x)
{
    if constexpr (sizeof(In) == sizeof(uint64_t)) {
        return vector<uint64_t>(x);
    } else {
        using bits = bits_of<2 * sizeof(In)>;
        using wide = std::conditional_t<std::is_signed_v<In>, std::make_signed_t<bits>, bits>;
        constexpr unsigned half = 8 * sizeof(In);
        const vector<wide> upper = vector<wide>(x) >> half,
                           lower = vector<wide>(vector<bits>(x) << half) >> half;
        return multiply_pairs<wide>(lower * upper);
    }
}

template <class In>
struct pair_products {
    static constexpr unsigned elements = sizeof(uint64_t) / sizeof(In);

    template <class T>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        return multiply_pairs<In>(load<vector<In>>(x));
    }
};

template <class In>
NOINLINE uint64_t packed_product(const In *x, size_t n)
{
    sum_lanes<In, uint64_t, prod, pair_products<In>> lanes;
    accumulate(lanes, x, n, In(1));
    return lanes.template total_as<uint64_t>();
}

/* ---- complex numbers ---- */

/* Multiplies like `prod`: the neutral element is skipped, and NaN may be too. */
template <class T, bool SkipsNan>
struct product_lanes {
    using element = complex<T>;
    static constexpr unsigned pairs = lanes_registers > 1 ? lanes_registers / 2 : 1,
                              step = pairs * deinterleaved<T>::count;
    vector<T> real[pairs], imag[pairs];

    FORCEINLINE product_lanes()
    {
        const complex<T> neutral = prod<complex<T>>::identity();
        UNROLLED_FOR(unsigned r = 0; r < pairs; r++)
        {
            real[r] = broadcast(neutral.real);
            imag[r] = broadcast(neutral.imag);
        }
    }

    FORCEINLINE void update(const complex<T> *x)
    {
        UNROLLED_FOR(unsigned r = 0; r < pairs; r++)
        {
            const deinterleaved<T> b(x + r * deinterleaved<T>::count);
            const auto only_a = is_skipped(b), only_b = is_neutral(real[r], imag[r]);
            const vector<T> product_real = real[r] * b.first - imag[r] * b.second,
                            product_imag = real[r] * b.second + imag[r] * b.first;
            real[r] = only_a ? real[r] : only_b ? b.first : product_real;
            imag[r] = only_a ? imag[r] : only_b ? b.second : product_imag;
        }
    }

    FORCEINLINE complex<T> result() const
    {
        complex<T> all = prod<complex<T>>::identity();
        for (unsigned r = 0; r < pairs; r++)
            for (unsigned k = 0; k < deinterleaved<T>::count; k++)
                all = prod<complex<T>>::merge(all, {real[r][k], imag[r][k]});
        return all;
    }

  private:
    FORCEINLINE static auto is_neutral(vector<T> a, vector<T> b)
    {
        using bits = vector<bits_of<sizeof(T)>>;
        const bits negative_zero = bits(broadcast(T(-0.0)));
        return (a == 1) & (bits(b) == negative_zero);
    }

    FORCEINLINE static auto is_skipped(const deinterleaved<T> &x)
    {
        if constexpr (SkipsNan)
            return is_neutral(x.first, x.second) | (x.first != x.first) | (x.second != x.second);
        else
            return is_neutral(x.first, x.second);
    }
};

/* The array's first element is lifted unlike the others. */
template <class Fold, bool SkipsNan>
FORCEINLINE value_of<Fold> complex_product(const value_of<Fold> *x, size_t n, bool is_first)
{
    product_lanes<real_of<value_of<Fold>>, SkipsNan> lanes;
    accumulate(lanes, x + is_first, n - is_first, Fold::identity());
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
        store_state<Fold<V>>(state, V(count_nonzero<In>(x, n) == n));
    else if constexpr (is_complex<V>)
        store_state<Fold<V>>(state, complex_product<Fold<V>, skipped>(x, n, first == 0));
    else if constexpr (is_float<In>)
        store_state<Fold<V>>(
            state, reduce_array<V, prod, std::conditional_t<skipped, nan_as_one, no_transform>>(
                       x, n, constant<In>(1, 0x3c00, 0x3f80)));
    else
        store_state<Fold<V>>(state, V(packed_product(x, n)));
}

} // namespace
} // namespace KERNELS
