/* The numbers that results along axes are made with: what is divided by, and how. */
#pragma once

#include "results.cuh"
#include "vector.cuh"

namespace KERNELS
{

/* A number of elements, or how many of them count, and how to divide by it. */
struct divided_by {
    double number, inverse;
    bool exact; /* the inverse: a power of two */

    __device__ __forceinline__ explicit divided_by(double n)
        : number(n), inverse(n > 0 ? ratio_of_counts(1, n) : 0), exact(fma(n, inverse, -1.0) == 0)
    {
    }

    /* A residual rounds; of what is not finite there is none. */
    __device__ __forceinline__ double operator()(double x) const
    {
        const double ratio = x * inverse;
        if (exact)
            return ratio;
        const double rounded = fma(fma(-number, ratio, x), inverse, ratio);
        return is_nan(rounded) ? ratio : rounded;
    }

    /* The same in float32, by numbers of up to 2^24, where no residual is lost. */
    __device__ __forceinline__ float operator()(float x) const
    {
        const float whole = float(number), part = float(inverse), ratio = x * part, size = fabsf(x);
        if (exact || (size >= 0x1p-100f && size < 0x1p127f))
            return exact ? ratio : fmaf(fmaf(-whole, ratio, x), part, ratio);
        return float((*this)(double(x)));
    }

    /* Several at once: what is rare is asked for once, or, of sums of halves, which are not so
     * small or so large, not at all. */
    template <class In, unsigned N>
    __device__ __forceinline__ void divide(float (&x)[N]) const
    {
        const float whole = float(fmin(number, double(ends<float>::greatest))),
                    part = float(inverse); /* ddof may make a number what it likes */
        float ratios[N];
        bool rare = false;
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const float size = fabsf(x[k]), ratio = x[k] * part;
            ratios[k] = fmaf(fmaf(-whole, ratio, x[k]), part, ratio);
            if constexpr (std::is_same_v<In, float16>)
                ratios[k] = size < ends<float>::greatest ? ratios[k] : ratio;
            else
                rare = rare || !(size < 0x1p127f) || (size < 0x1p-100f && size > 0);
        }
        if (rare) {
#pragma unroll
            for (unsigned k = 0; k < N; k++)
                ratios[k] = (*this)(x[k]);
        }
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            x[k] = ratios[k];
    }

    template <class In, unsigned N>
    __device__ __forceinline__ void divide(double (&x)[N]) const
    {
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            const double ratio = x[k] * inverse,
                         rounded = fma(fma(-number, ratio, x[k]), inverse, ratio);
            x[k] = is_nan(rounded) ? ratio : rounded;
        }
    }
};

/* What results are made with, the same for all. */
struct row_numbers {
    uint64_t n;
    divided_by count, divisor, left, left_times_count;
    bool divides, root;

    __device__ __forceinline__ row_numbers(const kernel_results &results)
        : n(results.finish.count), count(double(results.finish.count)), divisor(results.divisor),
          left(double(results.finish.count) - results.finish.ddof),
          left_times_count(left.number * count.number), divides(results.divisor != 0),
          root(results.reduction == REDUCTION_std)
    {
    }
};

} // namespace KERNELS
