/* Products of complex numbers, whose parts are in registers of their own; all others are folded as
 * sums are. */
#pragma once

#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* As `one` multiplies: the one that stands for nothing is left out. */
template <class T>
struct product_lanes {
    using element = complex<T>;
    static constexpr unsigned pairs = lanes_registers > 1 ? lanes_registers / 2 : 1,
                              step = pairs * apart<T>::count;
    vector<T> real[pairs], imag[pairs];

    LANES_FUNCTION product_lanes()
    {
        const complex<T> nothing = one<complex<T>>::neutral();
        EACH_REGISTER(unsigned r = 0; r < pairs; r++)
        {
            real[r] = in_all(nothing.real);
            imag[r] = in_all(nothing.imag);
        }
    }

    LANES_FUNCTION void take(const complex<T> *x)
    {
        EACH_REGISTER(unsigned r = 0; r < pairs; r++)
        {
            const apart<T> b(x + r * apart<T>::count);
            const auto only_a = is_neutral(b.first, b.second),
                       only_b = is_neutral(real[r], imag[r]);
            const vector<T> product_real = real[r] * b.first - imag[r] * b.second,
                            product_imag = real[r] * b.second + imag[r] * b.first;
            real[r] = only_a ? real[r] : only_b ? b.first : product_real;
            imag[r] = only_a ? imag[r] : only_b ? b.second : product_imag;
        }
    }

    LANES_FUNCTION complex<T> result() const
    {
        complex<T> all = one<complex<T>>::neutral();
        for (unsigned r = 0; r < pairs; r++)
            for (unsigned k = 0; k < apart<T>::count; k++)
                all = one<complex<T>>::product(all, {real[r][k], imag[r][k]});
        return all;
    }

  private:
    LANES_FUNCTION static auto is_neutral(vector<T> a, vector<T> b)
    {
        using bits = vector<bits_of<sizeof(T)>>;
        const bits negative_zero = bits(in_all(T(-0.0)));
        return (a == 1) & (bits(b) == negative_zero);
    }
};

/* The array's first element begins as no other does. */
template <class V, class Fold>
void complex_product_loop(const void *elements, size_t n, uint64_t first, void *state)
{
    const V *const x = static_cast<const V *>(elements);
    const size_t apart = first == 0;
    product_lanes<typename parts_of<V>::type> lanes;
    take_all(lanes, x + apart, n - apart, Fold::identity());
    put_state<Fold>(state,
                    apart ? Fold::merge(Fold::lift(x[0], 0), lanes.result()) : lanes.result());
}

} // namespace
} // namespace KERNELS
