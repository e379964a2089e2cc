/* Products. A state is one value. Integers wrap around. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

template <class V>
struct prod : value_fold<V> {
    FOLD_FUNCTION V identity()
    {
        return V(1);
    }

    FOLD_FUNCTION V merge(V a, V b)
    {
        using wrapping = typename arithmetic<V>::type;
        return V(wrapping(a) * wrapping(b));
    }

    /* The result of a state. */
    FOLD_FUNCTION V result(V x)
    {
        return x;
    }
};

/* Multiplication by complex 1 changes values: it turns an infinity's other part into NaN. So the
 * identity is 1 with an imaginary part of -0, which merge recognizes and skips. */
template <class T>
struct prod<complex<T>> : value_fold<complex<T>> {
    FOLD_FUNCTION complex<T> identity()
    {
        return {T(1), T(-0.0)};
    }

    FOLD_FUNCTION bool is_identity(complex<T> x)
    {
        return x.real == 1 && x.imag == 0 && signbit(x.imag);
    }

    /* NumPy multiplies the first element by 1. Doing so at the end would turn products that
     * overflow on the way into NaN. */
    FOLD_FUNCTION complex<T> lift(complex<T> x, uint64_t index)
    {
        return index == 0 ? complex<T>(1) * x : x;
    }

    FOLD_FUNCTION complex<T> merge(complex<T> a, complex<T> b)
    {
        return is_identity(a) ? b : is_identity(b) ? a : a * b;
    }

    FOLD_FUNCTION complex<T> result(complex<T> x)
    {
        return is_identity(x) ? complex<T>(1) : x;
    }
};

/* Uses prod for the initial value, so that an initial NaN is not skipped. */
template <>
struct finishing<REDUCTION_prod> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return Fold::result(state);
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        using fold = prod<value_of<Fold>>;
        answer.values[0] = value_answer(fold::result(with_initial<fold>(how, state)));
    }
};

} // namespace KERNELS
