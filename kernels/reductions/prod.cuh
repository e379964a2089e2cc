/* Products. A state is one value; integers wrap around. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{

/* What products begin with. Multiplying by a complex one is not nothing: it makes NaN of an
 * infinity's other part. So there the one that stands for nothing has a negative zero, and is left
 * out. */
template <class V>
struct one {
    FOLD_FUNCTION V neutral()
    {
        return V(1);
    }

    FOLD_FUNCTION V product(V a, V b)
    {
        using wrapping = typename arithmetic<V>::type;
        return V(wrapping(a) * wrapping(b));
    }

    FOLD_FUNCTION V begun(V x, uint64_t)
    {
        return x;
    }

    FOLD_FUNCTION V ended(V x)
    {
        return x;
    }
};

template <class T>
struct one<complex<T>> {
    FOLD_FUNCTION complex<T> neutral()
    {
        return {T(1), T(-0.0)};
    }

    FOLD_FUNCTION bool is_neutral(complex<T> x)
    {
        return x.real == 1 && x.imag == 0 && signbit(x.imag);
    }

    FOLD_FUNCTION complex<T> product(complex<T> a, complex<T> b)
    {
        return is_neutral(a) ? b : is_neutral(b) ? a : a * b;
    }

    /* NumPy multiplies the first element with one. To do that at the end would make NaN of products
     * that overflow on the way. */
    FOLD_FUNCTION complex<T> begun(complex<T> x, uint64_t index)
    {
        return index == 0 ? complex<T>(1) * x : x;
    }

    FOLD_FUNCTION complex<T> ended(complex<T> x)
    {
        return is_neutral(x) ? complex<T>(1) : x;
    }
};

template <class V>
struct prod : value_fold<V> {
    FOLD_FUNCTION V identity()
    {
        return one<V>::neutral();
    }

    FOLD_FUNCTION V lift(V x, uint64_t index)
    {
        return one<V>::begun(x, index);
    }

    FOLD_FUNCTION V merge(V a, V b)
    {
        return one<V>::product(a, b);
    }
};

/* A NaN that the caller begins with is not left out. */
template <>
struct finishing<REDUCTION_prod> {
    template <class Fold>
    FOLD_FUNCTION value_of<Fold> own(const state_of<Fold> &state)
    {
        return one<value_of<Fold>>::ended(state);
    }

    template <class Fold>
    FOLD_FUNCTION void apply(const struct finish &how, const state_of<Fold> &state,
                             struct answer &answer)
    {
        using value = value_of<Fold>;
        answer.values[0] = value_answer(one<value>::ended(with_initial<prod<value>>(how, state)));
    }
};

} // namespace KERNELS
