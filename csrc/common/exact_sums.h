/* The exact sums of an array, and what they are rounded to: the same on every backend. */
#pragma once

#include "common/exact.h"
#include "common/reduction.h"

enum { EXACT_REAL, EXACT_IMAGINARY, EXACT_PARTS };

/* Of a complex number's parts; of real numbers the second stays 0. */
struct exact_sums {
    struct exact parts[EXACT_PARTS];
};

EXACT_FUNCTION void exact_sums_clear(struct exact_sums *sums)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_clear(&sums->parts[part]);
}

EXACT_FUNCTION bool exact_has_parts(enum element element)
{
    return element == ELEMENT_COMPLEX64 || element == ELEMENT_COMPLEX128;
}

EXACT_FUNCTION enum element exact_type_of_part(enum element element)
{
    return element == ELEMENT_COMPLEX64    ? ELEMENT_FLOAT32
           : element == ELEMENT_COMPLEX128 ? ELEMENT_FLOAT64
                                           : element;
}

EXACT_FUNCTION double exact_part(double real, double imag, int part)
{
    return part == EXACT_REAL ? real : imag;
}

EXACT_FUNCTION void exact_sums_add_initial(const struct finish *finish, struct exact_sums *sums)
{
    const struct exact_format format = exact_format_of(ELEMENT_FLOAT64);
    const struct scalar_wide initial = scalar_widen(finish->initial, finish->accumulator);
    for (int part = 0; part < EXACT_PARTS; part++) {
        const double value = exact_part(initial.real, initial.imag, part);
        uint64_t bits;
        memcpy(&bits, &value, sizeof bits);
        exact_reserve(&sums->parts[part], 1);
        exact_add(&sums->parts[part], exact_decode(bits, format));
    }
}

EXACT_FUNCTION bool exact_is_finite(double x)
{
    return x - x == 0;
}

/* As NumPy's division of a complex number goes: what is not finite spoils the other part, too. */
EXACT_FUNCTION void exact_spoil(struct scalar_wide *value)
{
    const bool whole = exact_is_finite(value->real) && exact_is_finite(value->imag);
    const double real = value->real, imag = value->imag;
    value->real = whole ? real : real + imag * 0.0;
    value->imag = whole ? imag : imag - real * 0.0;
}

/* The sums with what the caller wants them to begin with, each rounded once, to a part of the
 * result's type; all floats are float64s, too. A mean is divided by `count`; a sum's is 1. */
EXACT_FUNCTION struct scalar_wide exact_sums_round(const struct finish *finish, bool mean,
                                                   int64_t count, struct exact_sums *sums)
{
    const int parts = exact_has_parts(finish->result) ? EXACT_PARTS : 1;
    const enum element type = exact_type_of_part(finish->result);
    double values[EXACT_PARTS] = {0, 0};
    if (finish->has_initial)
        exact_sums_add_initial(finish, sums);
#ifdef __CUDACC__
#pragma unroll 1
#endif
    for (int part = 0; part < parts; part++) {
        exact_normalise(&sums->parts[part]);
        const union scalar rounded = exact_value(&sums->parts[part], mean ? count : 1, type);
        values[part] = scalar_widen(rounded, type).real;
    }
    struct scalar_wide value;
    value.kind = SCALAR_FLOAT;
    value.integer = 0;
    value.real = values[EXACT_REAL];
    value.imag = values[EXACT_IMAGINARY];
    if (mean && parts == EXACT_PARTS)
        exact_spoil(&value);
    return value;
}
