/* The divisors and other numbers from which results along axes are computed. */
#pragma once

#include "../epilogue/results.cuh"
#include "../vector.cuh"

namespace KERNELS
{

/* A divisor, such as the number of elements, and how to divide by it. */
struct divider {
    double number, inverse;
    bool exact; /* the inverse is exact (a power of two) */

    __device__ __forceinline__ explicit divider(double n)
        : number(n), inverse(n > 0 ? divide_counts(1, n) : 0), exact(fma(n, inverse, -1.0) == 0)
    {
    }

    /* Division with one correction by the residual, which is NaN if x is not finite. */
    __device__ __forceinline__ double operator()(double x) const
    {
        const double ratio = x * inverse;
        if (exact)
            return ratio;
        const double rounded = fma(fma(-number, ratio, x), inverse, ratio);
        return is_nan(rounded) ? ratio : rounded;
    }

    /* The same in float32, for divisors up to 2^24, where the residual is not rounded. */
    __device__ __forceinline__ float operator()(float x) const
    {
        const float whole = float(number), part = float(inverse), ratio = x * part, size = fabsf(x);
        if (exact || (size >= 0x1p-100f && size < 0x1p127f))
            return exact ? ratio : fmaf(fmaf(-whole, ratio, x), part, ratio);
        return float((*this)(double(x)));
    }

    /* The same for sums of float16, which are never so small or so large. */
    __device__ __forceinline__ float of_halves(float x) const
    {
        const float part = float(inverse), ratio = x * part;
        return fabsf(x) < ends<float>::greatest ? fmaf(fmaf(-float(number), ratio, x), part, ratio)
                                                : ratio;
    }
};

/* The numbers for a row's result; the same for all rows. */
struct row_numbers {
    uint64_t n;
    divider count, divisor, dof, dof_times_count;
    bool divides, root, is_all;
    uint64_t inverted;

    __device__ __forceinline__ row_numbers(const kernel_results &results)
        : n(results.finish.count), count(double(results.finish.count)), divisor(results.divisor),
          dof(double(results.finish.count) - results.finish.ddof),
          dof_times_count(dof.number * count.number), divides(results.divisor != 0),
          root(results.reduction == REDUCTION_std), is_all(results.reduction == REDUCTION_all),
          inverted(results.inverted)
    {
    }
};

} // namespace KERNELS
