/* Element types that C++ lacks. Acc(element) converts an element to an accumulator. */
#pragma once

#include "device.cuh"

#include "common/scalar.h"

namespace KERNELS
{

struct boolean {
    uint8_t byte;

    template <class Acc>
    __device__ __forceinline__ explicit operator Acc() const
    {
        return Acc(byte != 0);
    }
};

struct float16 {
    uint16_t bits;

    template <class Acc>
    __device__ __forceinline__ explicit operator Acc() const
    {
#ifdef __CUDA_ARCH__
        float value;
        asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
        return Acc(value);
#else
        return Acc(half_to_float(bits));
#endif
    }
};

struct bfloat16 {
    uint16_t bits;

    template <class Acc>
    __device__ __forceinline__ explicit operator Acc() const
    {
        return Acc(bfloat_to_float(bits));
    }
};

template <class T>
struct complex {
    T real, imag;

    complex() = default;

    __host__ __device__ __forceinline__ constexpr complex(T re, T im = 0) : real(re), imag(im) {}

    template <class U>
    __host__ __device__ __forceinline__ explicit constexpr complex(complex<U> x)
        : real(T(x.real)), imag(T(x.imag))
    {
    }
};

template <class T>
__device__ __forceinline__ complex<T> operator+(complex<T> a, complex<T> b)
{
    return {a.real + b.real, a.imag + b.imag};
}

/* A product that is rounded before anything is added to it. A GPU would otherwise use an fma, in
 * which two products that overflow do not give the NaN (inf - inf) that they give elsewhere. */
template <class T>
__host__ __device__ __forceinline__ T rounded_product(T a, T b)
{
#ifndef __CUDA_ARCH__
    return a * b;
#else
    if constexpr (sizeof(T) == sizeof(float))
        return __fmul_rn(a, b);
    else
        return __dmul_rn(a, b);
#endif
}

template <class T>
__device__ __forceinline__ complex<T> operator*(complex<T> a, complex<T> b)
{
    return {rounded_product(a.real, b.real) - rounded_product(a.imag, b.imag),
            rounded_product(a.real, b.imag) + rounded_product(a.imag, b.real)};
}

template <class T>
__host__ __device__ __forceinline__ complex<T> operator*(complex<T> a, T b)
{
    return {a.real * b, a.imag * b};
}

/* As for floats, a value that is unequal to itself is NaN: one NaN part suffices. */
template <class T>
__device__ __forceinline__ bool operator!=(complex<T> a, complex<T> b)
{
    return a.real != b.real || a.imag != b.imag;
}

/* Lexicographic order: real parts first, then imaginary parts. Comparisons with NaN are false. */
template <class T>
__device__ __forceinline__ bool operator<(complex<T> a, complex<T> b)
{
    if (a != a || b != b)
        return false;
    return a.real < b.real || (a.real == b.real && a.imag < b.imag);
}

template <class T>
__device__ __forceinline__ bool operator>(complex<T> a, complex<T> b)
{
    return b < a;
}

/* The C++ type of an enum element, and the reverse. */
template <enum element>
struct type_of;

template <class>
struct element_of;

#define ELEMENT_TYPE(NAME, Type)                                                                   \
    template <>                                                                                    \
    struct type_of<ELEMENT_##NAME> {                                                               \
        using type = Type;                                                                         \
    };                                                                                             \
    template <>                                                                                    \
    struct element_of<Type> {                                                                      \
        static constexpr enum element value = ELEMENT_##NAME;                                      \
    };
ELEMENT_TYPE(BOOL, boolean)
ELEMENT_TYPE(INT8, int8_t)
ELEMENT_TYPE(INT16, int16_t)
ELEMENT_TYPE(INT32, int32_t)
ELEMENT_TYPE(INT64, int64_t)
ELEMENT_TYPE(UINT8, uint8_t)
ELEMENT_TYPE(UINT16, uint16_t)
ELEMENT_TYPE(UINT32, uint32_t)
ELEMENT_TYPE(UINT64, uint64_t)
ELEMENT_TYPE(FLOAT16, float16)
ELEMENT_TYPE(BFLOAT16, bfloat16)
ELEMENT_TYPE(FLOAT32, float)
ELEMENT_TYPE(FLOAT64, double)
ELEMENT_TYPE(COMPLEX64, complex<float>)
ELEMENT_TYPE(COMPLEX128, complex<double>)
#undef ELEMENT_TYPE

} // namespace KERNELS
