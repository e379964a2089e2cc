/* From what the passes leave to the result: the one place where a sum becomes a mean, an initial
 * value is combined in, and the accumulator is rounded to the result's type. Compiled for the host
 * and for GPUs, where a result may stay. */
#pragma once

#include "common/scalar.h"

struct finish {
    enum op op;
    bool mean, has_initial;
    bool from_nothing;              /* the value of nothing takes part: no initial= replaces it */
    enum element accumulator, type; /* folded in, and the result's */
    union scalar initial;           /* an accumulator */
    uint64_t count;                 /* elements that took part; of a mean only */
};

#define FINISH_COMBINE(type, unsigned_type)                                                        \
    SCALAR type finish_combine_##type(enum op op, type a, type b)                                  \
    {                                                                                              \
        switch (op) {                                                                              \
        case OP_SUM:                                                                               \
            return (type)((unsigned_type)a + (unsigned_type)b);                                    \
        case OP_PROD:                                                                              \
            return (type)((unsigned_type)a * (unsigned_type)b);                                    \
        case OP_MIN:                                                                               \
            return a < b || a != a ? a : b;                                                        \
        default:                                                                                   \
            return a > b || a != a ? a : b;                                                        \
        }                                                                                          \
    }

FINISH_COMBINE(int32_t, uint32_t)
FINISH_COMBINE(int64_t, uint64_t)
FINISH_COMBINE(uint64_t, uint64_t)
FINISH_COMBINE(float, float)
FINISH_COMBINE(double, double)

SCALAR bool finish_is_nan(struct complex128 a)
{
    return a.real != a.real || a.imag != a.imag;
}

/* Both complex types: a product of float32 parts is rounded a little later than it might be. */
SCALAR struct complex128 finish_combine_complex(enum op op, struct complex128 a,
                                                struct complex128 b)
{
    struct complex128 result;
    switch (op) {
    case OP_SUM:
        result.real = a.real + b.real;
        result.imag = a.imag + b.imag;
        return result;
    case OP_PROD:
        result.real = a.real * b.real - a.imag * b.imag;
        result.imag = a.real * b.imag + a.imag * b.real;
        return result;
    default: {
        const bool less = a.real < b.real || (a.real == b.real && a.imag < b.imag);
        const bool equal = a.real == b.real && a.imag == b.imag;
        const bool a_wins = op == OP_MIN ? less : !less && !equal;
        return finish_is_nan(a) || (!finish_is_nan(b) && a_wins) ? a : b;
    }
    }
}

SCALAR union scalar finish_combine(enum op op, enum element accumulator, union scalar a,
                                   union scalar b)
{
    union scalar result;
    result.c128.real = result.c128.imag = 0; /* what a shorter type leaves, too */
    switch (accumulator) {
    case ELEMENT_INT32:
        result.i32 = finish_combine_int32_t(op, a.i32, b.i32);
        return result;
    case ELEMENT_INT64:
        result.i64 = finish_combine_int64_t(op, a.i64, b.i64);
        return result;
    case ELEMENT_UINT64:
        result.u64 = finish_combine_uint64_t(op, a.u64, b.u64);
        return result;
    case ELEMENT_FLOAT32:
        result.f32 = finish_combine_float(op, a.f32, b.f32);
        return result;
    case ELEMENT_FLOAT64:
        result.f64 = finish_combine_double(op, a.f64, b.f64);
        return result;
    default:
        a = scalar_convert(a, accumulator, ELEMENT_COMPLEX128);
        b = scalar_convert(b, accumulator, ELEMENT_COMPLEX128);
        result.c128 = finish_combine_complex(op, a.c128, b.c128);
        return scalar_convert(result, ELEMENT_COMPLEX128, accumulator);
    }
}

/* As in NumPy, the sum of nothing is added, which makes zero of negative zeros, and the product of
 * nothing multiplied, which makes NaN of a complex infinity's other part. Other values stay. */
SCALAR union scalar finish_add_zero(enum element accumulator, union scalar sum)
{
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        sum.f32 += 0.0f;
        break;
    case ELEMENT_FLOAT64:
        sum.f64 += 0.0;
        break;
    case ELEMENT_COMPLEX64:
        sum.c64.real += 0.0f;
        sum.c64.imag += 0.0f;
        break;
    case ELEMENT_COMPLEX128:
        sum.c128.real += 0.0;
        sum.c128.imag += 0.0;
        break;
    default:
        break;
    }
    return sum;
}

SCALAR union scalar finish_times_one(enum element accumulator, union scalar product)
{
    union scalar one;
    if (accumulator < ELEMENT_COMPLEX64)
        return product;
    one.c128.real = 1;
    one.c128.imag = 0;
    one = scalar_convert(one, ELEMENT_COMPLEX128, accumulator);
    return finish_combine(OP_PROD, accumulator, product, one);
}

/* sum / count, divided in float64 and rounded to the result's type, once. An integer sum wraps in
 * its own type first. The mean of nothing is NaN, and what becomes of NaN in an integer type. */
SCALAR union scalar finish_mean(enum element accumulator, enum element type, union scalar sum,
                                uint64_t count)
{
    const bool integer = type <= ELEMENT_UINT64;
    union scalar wide =
        integer ? scalar_convert(scalar_convert(sum, accumulator, type), type, ELEMENT_COMPLEX128)
                : scalar_convert(sum, accumulator, ELEMENT_COMPLEX128);
    const double divisor = (double)count;
    wide.c128.real /= divisor;
    wide.c128.imag /= divisor;
    return scalar_convert(wide, ELEMENT_COMPLEX128, type);
}

/* The same for what was folded in another accumulator. */
SCALAR struct finish finish_from(const struct finish *how, enum element accumulator)
{
    struct finish other = *how;
    other.initial = scalar_convert(how->initial, how->accumulator, accumulator);
    other.accumulator = accumulator;
    return other;
}

SCALAR union scalar finish_result(const struct finish *how, union scalar folded)
{
    if (how->has_initial)
        folded = finish_combine(how->op, how->accumulator, how->initial, folded);
    else if (how->from_nothing && how->op == OP_SUM)
        folded = finish_add_zero(how->accumulator, folded);
    else if (how->from_nothing && how->op == OP_PROD)
        folded = finish_times_one(how->accumulator, folded);
    if (how->mean)
        return finish_mean(how->accumulator, how->type, folded, how->count);
    return scalar_convert(folded, how->accumulator, how->type);
}
