/* Vector norms, in float64 for all types. Squares of float64 overflow and underflow, so those of
 * large and of small numbers are summed separately, scaled: Blue (1978), "A portable Fortran
 * program to find the Euclidean norm of a vector", with the constants of Anderson (2017),
 * "Algorithm 978: safe scaling in the level 1 BLAS". */
#pragma once

#include "extremes.cuh"

namespace KERNELS
{

/* ---- ord 2 ---- */

struct blue {
    static constexpr double small = 0x1p-511, large = 0x1p486;
    static constexpr double times_small = 0x1p537, times_large = 0x1p-538;
};

/* Sums of squares; those of small and large numbers are scaled. */
struct scaled_squares {
    double small, middle, large;
};

/* Squares of numbers narrower than float64 neither overflow nor underflow. */
struct plain_squares {
    double middle;
};

template <class V>
struct norm2 {
    using value = V;
    static constexpr bool scales = std::is_same_v<V, double> || std::is_same_v<V, complex<double>>;
    using state = std::conditional_t<scales, scaled_squares, plain_squares>;

    FOLD_FUNCTION state identity()
    {
        return {};
    }

    FOLD_FUNCTION state state_of_squares(double squares)
    {
        state s = {};
        s.middle = squares;
        return s;
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return lift_wide(widen(x));
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        a.middle += b.middle;
        if constexpr (scales) {
            a.small += b.small;
            a.large += b.large;
        }
        return a;
    }

    template <unsigned N, class Positions, class Valid>
    FOLD_FUNCTION void accumulate(state &s, const V (&x)[N], Positions, Valid valid)
    {
        bool plain = true;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            plain = plain && (!valid(k) || is_plain(widen(x[k])));
        if (plain) {
            s.middle += sum_in_lanes<N, double>(
                [&](unsigned k) { return valid(k) ? squared(widen(x[k])) : 0.0; });
            return;
        }
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            s = valid(k) ? merge(s, lift(x[k], 0)) : s;
    }

  private:
    /* Whether a square needs no scaling; always true for types narrower than float64. */
    FOLD_FUNCTION bool is_plain(double x)
    {
        const double size = fabs(x);
        return !scales || (size >= blue::small && size <= blue::large) || size == 0;
    }

    FOLD_FUNCTION bool is_plain(complex<double> x)
    {
        return is_plain(x.real) && is_plain(x.imag);
    }

    FOLD_FUNCTION state lift_wide(double x)
    {
        if constexpr (scales) {
            const double size = fabs(x);
            if (size > blue::large)
                return {0, 0, squared(size * blue::times_large)};
            if (size < blue::small)
                return {squared(size * blue::times_small), 0, 0};
        }
        return state_of_squares(squared(x));
    }

    FOLD_FUNCTION state lift_wide(complex<double> x)
    {
        return merge(lift_wide(x.real), lift_wide(x.imag));
    }
};

template <>
struct finishing<REDUCTION_norm> : finishing_by_value<REDUCTION_norm> {
    template <class Fold>
    FOLD_FUNCTION double number(const struct finish &, const state_of<Fold> &state)
    {
        if constexpr (Fold::scales)
            return root(state.small, state.middle, state.large);
        else
            return sqrt(state.middle);
    }

  private:
    FOLD_FUNCTION double root(double small, double middle, double large)
    {
        const bool has_middle = middle > 0 || is_nan(middle);
        if (large > 0 || is_nan(large))
            return sqrt(large + middle * blue::times_large * blue::times_large) / blue::times_large;
        if (!(small > 0))
            return sqrt(middle);
        const double small_norm = sqrt(small) / blue::times_small;
        if (!has_middle)
            return small_norm;
        const double middle_norm = sqrt(middle);
        const double more = small_norm > middle_norm ? small_norm : middle_norm;
        const double less = small_norm > middle_norm ? middle_norm : small_norm;
        return is_nan(middle) ? middle : more * sqrt(1 + squared(less / more));
    }
};

/* ---- ord 1, inf and -inf ---- */

template <class V>
struct norm1 {
    using value = V;
    using state = double;

    FOLD_FUNCTION state identity()
    {
        return 0;
    }

    FOLD_FUNCTION state lift(V x, uint64_t)
    {
        return magnitude(x);
    }

    FOLD_FUNCTION state merge(state a, state b)
    {
        return a + b;
    }
};

template <class V>
struct norm_inf : norm1<V> {
    FOLD_FUNCTION double merge(double a, double b)
    {
        return max<double>::merge(a, b);
    }
};

template <class V>
struct norm_neg_inf : norm1<V> {
    FOLD_FUNCTION double identity()
    {
        return min<double>::identity();
    }

    FOLD_FUNCTION double merge(double a, double b)
    {
        return min<double>::merge(a, b);
    }
};

template <>
struct finishing<REDUCTION_norm_1> : finishing_state<REDUCTION_norm_1, double> {};

template <>
struct finishing<REDUCTION_norm_inf> : finishing<REDUCTION_norm_1> {};

template <>
struct finishing<REDUCTION_norm_neg_inf> : finishing<REDUCTION_norm_1> {};

} // namespace KERNELS
