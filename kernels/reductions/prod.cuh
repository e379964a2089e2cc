/* Products. A state is one value; integers wrap around. */
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

    /* What is told of a product. */
    FOLD_FUNCTION V ended(V x)
    {
        return x;
    }
};

/* Multiplying by a complex one is not nothing: it makes NaN of an infinity's other part. So the one
 * that stands for nothing has a negative zero, and is left out. */
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

    /* NumPy multiplies the first element with one. To do that at the end would make NaN of products
     * that overflow on the way. */
    FOLD_FUNCTION complex<T> lift(complex<T> x, uint64_t index)
    {
        return index == 0 ? complex<T>(1) * x : x;
    }

    FOLD_FUNCTION complex<T> merge(complex<T> a, complex<T> b)
    {
        return is_identity(a) ? b : is_identity(b) ? a : a * b;
    }

    FOLD_FUNCTION complex<T> ended(complex<T> x)
    {
        return is_identity(x) ? complex<T>(1) : x;
    }
};

/* A NaN that the caller begins with is not left out. */
template <>
struct finishing<REDUCTION_prod> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return Fold::ended(state);
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        using fold = prod<value_of<Fold>>;
        answer.values[0] = value_answer(fold::ended(with_initial<fold>(how, state)));
    }
};

} // namespace KERNELS
