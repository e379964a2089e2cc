/* Products. A state is one value; integers wrap around. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class V>
struct prod {
    using value = V;
    using state = V;

    FOLD_FUNCTION state identity()
    {
        return V(1);
    }

    FOLD_FUNCTION state lift(V x, uint64_t index)
    {
        return begun(x, index);
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return times(a, b);
    }

  private:
    template <class T>
    FOLD_FUNCTION T begun(T x, uint64_t)
    {
        return x;
    }

    /* NumPy multiplies the first element with one, which makes NaN of an infinity's other part; to
     * do that at the end would make NaN of products that overflow on the way. */
    template <class T>
    FOLD_FUNCTION complex<T> begun(complex<T> x, uint64_t index)
    {
        return index == 0 ? complex<T>(1) * x : x;
    }

    template <class T>
    FOLD_FUNCTION T times(T a, T b)
    {
        using wrapping = typename arithmetic<T>::type;
        return T(wrapping(a) * wrapping(b));
    }

    /* Every thread begins with one, which is not to be seen in the product. */
    template <class T>
    FOLD_FUNCTION complex<T> times(complex<T> a, complex<T> b)
    {
        if (a.real == 1 && a.imag == 0)
            return b;
        return b.real == 1 && b.imag == 0 ? a : a * b;
    }
};

template <>
struct finishing<REDUCTION_prod> : finishing_value {};

} // namespace KERNELS
