/* Single values of any element type: loads, stores and conversions, the same on every backend. With
 * constant types only the conversion itself remains after inlining.
 *
 * Conversions are NumPy's. Where C leaves the conversion of a float to an integer undefined, the
 * result is x86's: the integer of its width with only the highest bit set; narrower ones are
 * truncated from 32 bits. */
#pragma once

#include "common/element.h"

#include <math.h>
#include <string.h>

/* ---- float16 and bfloat16 ---- */

SCALAR float scalar_of_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

SCALAR float half_to_float(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000u) << 16, rest = half & 0x7fffu;
    if (rest >= 0x7c00u) /* infinity and NaN */
        return scalar_of_bits(sign | 0x7f800000u | (rest & 0x3ffu) << 13);
    if (rest < 0x400u) { /* zero and subnormals, multiples of 2^-24 */
        const float magnitude = (float)rest * 0x1p-24f;
        return sign ? -magnitude : magnitude;
    }
    return scalar_of_bits(sign | ((rest << 13) + 0x38000000u));
}

/* Rounds to nearest, ties to even, without branches, so that loops vectorize. Normal numbers are
 * rebiased; subnormal ones are rounded by adding a number whose last place is their unit. */
SCALAR uint16_t half_of_float(float value)
{
    const int32_t least_normal = 0x38800000, overflows = 0x47800000, infinity = 0x7f800000;
    const float units = fabsf(value) + 0.5f; /* last place: the smallest subnormal */
    int32_t bits, subnormal;
    memcpy(&bits, &value, sizeof bits);
    memcpy(&subnormal, &units, sizeof subnormal);
    const int32_t magnitude = bits & INT32_MAX, odd = magnitude >> 13 & 1,
                  normal = (magnitude + odd + 0xfff - (112 << 23)) >> 13,
                  nan = (magnitude >> 13 & 0x3ff) | 0x7e00,
                  finite = magnitude < least_normal ? subnormal - (126 << 23) : normal,
                  number = magnitude < overflows ? finite : 0x7c00;
    return (uint16_t)((bits >> 16 & 0x8000) | (magnitude > infinity ? nan : number));
}

/* Via a float that is rounded to odd (truncated, the last bit set if inexact), so that the second
 * rounding is correct. */
SCALAR uint16_t half_of_double(double value)
{
    const uint64_t last = (uint64_t)1 << 29, below = last - 1;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    bits = (bits & ~below) | (((bits & below) + below) & last);
    memcpy(&value, &bits, sizeof value);
    return half_of_float((float)value);
}

SCALAR float bfloat_to_float(uint16_t bfloat)
{
    return scalar_of_bits((uint32_t)bfloat << 16);
}

SCALAR uint16_t bfloat_of_float(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint32_t number = (bits + 0x7fffu + (bits >> 16 & 1u)) >> 16, nan = bits >> 16 | 0x40u;
    return (uint16_t)((int32_t)(bits & INT32_MAX) > 0x7f800000 ? nan : number);
}

/* ---- floats to integers ---- */

SCALAR int64_t int64_of_double(double value)
{
    return value >= -0x1p63 && value < 0x1p63 ? (int64_t)value : INT64_MIN;
}

SCALAR int32_t int32_of_double(double value)
{
    return value > -0x1p31 - 1 && value < 0x1p31 ? (int32_t)value : INT32_MIN;
}

SCALAR uint64_t uint64_of_double(double value)
{
    return value >= 0x1p63 ? (uint64_t)int64_of_double(value - 0x1p63) ^ (uint64_t)1 << 63
                           : (uint64_t)int64_of_double(value);
}

/* ---- any type to any type ---- */

/* Loads from an address of any alignment. */
SCALAR union scalar scalar_load(const void *at, enum element element)
{
    union scalar value;
    value.c128.real = value.c128.imag = 0; /* unused bytes are 0 */
    switch (element) {
#define LOAD(NAME, type, name, member)                                                             \
    case ELEMENT_##NAME:                                                                           \
        memcpy(&value.member, at, sizeof(type));                                                   \
        break;
        ELEMENT_TYPES(LOAD)
#undef LOAD
    default:
        break;
    }
    return value;
}

SCALAR void scalar_store(void *at, union scalar value, enum element element)
{
    switch (element) {
#define STORE(NAME, type, name, member)                                                            \
    case ELEMENT_##NAME:                                                                           \
        memcpy(at, &value.member, sizeof(type));                                                   \
        break;
        ELEMENT_TYPES(STORE)
#undef STORE
    default:
        break;
    }
}

/* Conversions to floats. float16 is rounded from the double `half`, once. */
#define TO_FLOATS(half, value, imaginary)                                                          \
    case ELEMENT_FLOAT16:                                                                          \
        result.f16 = half_of_double(half);                                                         \
        break;                                                                                     \
    case ELEMENT_BFLOAT16:                                                                         \
        result.bf16 = bfloat_of_float((float)(value));                                             \
        break;                                                                                     \
    case ELEMENT_FLOAT32:                                                                          \
        result.f32 = (float)(value);                                                               \
        break;                                                                                     \
    case ELEMENT_FLOAT64:                                                                          \
        result.f64 = (double)(value);                                                              \
        break;                                                                                     \
    case ELEMENT_COMPLEX64:                                                                        \
        result.c64.real = (float)(value);                                                          \
        result.c64.imag = (float)(imaginary);                                                      \
        break;                                                                                     \
    case ELEMENT_COMPLEX128:                                                                       \
        result.c128.real = (double)(value);                                                        \
        result.c128.imag = (double)(imaginary);                                                    \
        break;

SCALAR union scalar scalar_of_int64(int64_t value, enum element to)
{
    union scalar result;
    switch (to) {
        TO_FLOATS((double)(float)value, value, 0)
    case ELEMENT_BOOL:
        result.b8 = value != 0;
        break;
    case ELEMENT_INT8:
    case ELEMENT_UINT8:
        result.u8 = (uint8_t)value;
        break;
    case ELEMENT_INT16:
    case ELEMENT_UINT16:
        result.u16 = (uint16_t)value;
        break;
    case ELEMENT_INT32:
    case ELEMENT_UINT32:
        result.u32 = (uint32_t)value;
        break;
    default:
        result.i64 = value;
    }
    return result;
}

/* Differs from int64 only for floats of values >= 2^63. */
SCALAR union scalar scalar_of_uint64(uint64_t value, enum element to)
{
    union scalar result;
    switch (to) {
        TO_FLOATS((double)(float)value, value, 0)
    default:
        result = scalar_of_int64((int64_t)value, to);
    }
    return result;
}

/* The imaginary part is used for complex types and bool. */
SCALAR union scalar scalar_of_double(double value, double imaginary, enum element to)
{
    union scalar result;
    switch (to) {
        TO_FLOATS(value, value, imaginary)
    case ELEMENT_BOOL:
        result.b8 = value != 0 || imaginary != 0;
        break;
    case ELEMENT_INT64:
        result.i64 = int64_of_double(value);
        break;
    case ELEMENT_UINT32: /* x86 goes through 64 bits */
        result.u32 = (uint32_t)int64_of_double(value);
        break;
    case ELEMENT_UINT64:
        result.u64 = uint64_of_double(value);
        break;
    default:
        result = scalar_of_int64(int32_of_double(value), to);
    }
    return result;
}

#undef TO_FLOATS

/* The unused high bits of 64, for an integer type or bool. */
SCALAR unsigned scalar_unused_bits(enum element type)
{
    return type == ELEMENT_BOOL ? 63 : 64 - (8u << (type - ELEMENT_INT8) % 4);
}

/* The value wrapped to an integer type; other types: unchanged. */
SCALAR double scalar_wrapped(int64_t value, enum element type)
{
    if (type == ELEMENT_BOOL || !element_is_integer(type))
        return (double)value;
    const unsigned unused = scalar_unused_bits(type);
    const uint64_t bits = (uint64_t)value << unused;
    return element_is_signed(type) ? (double)((int64_t)bits >> unused) : (double)(bits >> unused);
}

/* The minimum or maximum of an integer type. */
SCALAR union scalar scalar_limit(enum element type, bool greatest)
{
    const unsigned unused = scalar_unused_bits(type);
    return scalar_of_int64(!element_is_signed(type) ? (int64_t)(greatest ? UINT64_MAX >> unused : 0)
                           : greatest               ? INT64_MAX >> unused
                                                    : INT64_MIN >> unused,
                           type);
}

enum scalar_kind { SCALAR_SIGNED, SCALAR_UNSIGNED, SCALAR_FLOAT };

/* A value in the widest type of its kind. */
struct scalar_wide {
    enum scalar_kind kind;
    int64_t integer; /* the bits, if unsigned */
    double real, imag;
};

SCALAR struct scalar_wide scalar_widen(union scalar value, enum element from)
{
    struct scalar_wide wide = {SCALAR_SIGNED, 0, 0, 0};
    switch (from) {
#define WIDENED(NAME, member)                                                                      \
    case ELEMENT_##NAME:                                                                           \
        wide.integer = value.member;                                                               \
        return wide;
        WIDENED(INT8, i8)
        WIDENED(INT16, i16)
        WIDENED(INT32, i32)
        WIDENED(INT64, i64)
        WIDENED(UINT8, u8)
        WIDENED(UINT16, u16)
        WIDENED(UINT32, u32)
#undef WIDENED
    case ELEMENT_BOOL:
        wide.integer = value.b8 != 0;
        return wide;
    case ELEMENT_UINT64:
        wide.kind = SCALAR_UNSIGNED;
        wide.integer = (int64_t)value.u64;
        return wide;
    case ELEMENT_FLOAT16:
        wide.real = (double)half_to_float(value.f16);
        break;
    case ELEMENT_BFLOAT16:
        wide.real = (double)bfloat_to_float(value.bf16);
        break;
    case ELEMENT_FLOAT32:
        wide.real = (double)value.f32;
        break;
    case ELEMENT_FLOAT64:
        wide.real = value.f64;
        break;
    case ELEMENT_COMPLEX64:
        wide.real = (double)value.c64.real;
        wide.imag = (double)value.c64.imag;
        break;
    default:
        wide.real = value.c128.real;
        wide.imag = value.c128.imag;
    }
    wide.kind = SCALAR_FLOAT;
    return wide;
}

SCALAR union scalar scalar_narrow(struct scalar_wide wide, enum element to)
{
    switch (wide.kind) {
    case SCALAR_SIGNED:
        return scalar_of_int64(wide.integer, to);
    case SCALAR_UNSIGNED:
        return scalar_of_uint64((uint64_t)wide.integer, to);
    default:
        return scalar_of_double(wide.real, wide.imag, to);
    }
}

SCALAR union scalar scalar_convert(union scalar value, enum element from, enum element to)
{
    return scalar_narrow(scalar_widen(value, from), to);
}
