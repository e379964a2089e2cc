/* The exact sums of an array, and what they are rounded to: the same on every backend. */
#pragma once

#include "common/exact_rounding.h"
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

/* What the caller wants a part to begin with. */
EXACT_FUNCTION struct exact_number exact_initial(const struct finish *finish, int part)
{
    const struct scalar_wide initial = scalar_widen(finish->initial, finish->accumulator);
    const double value = exact_part(initial.real, initial.imag, part);
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return exact_decode(bits, exact_format_of(ELEMENT_FLOAT64));
}

EXACT_FUNCTION void exact_sums_add_initial(const struct finish *finish, struct exact_sums *sums)
{
    for (int part = 0; part < EXACT_PARTS; part++) {
        exact_reserve(&sums->parts[part], 1);
        exact_add(&sums->parts[part], exact_initial(finish, part));
    }
}

EXACT_FUNCTION struct exact_format exact_format_of_part(const struct finish *finish)
{
    return exact_format_of(exact_type_of_part(finish->result));
}

/* The answer's parts, rounded already, by their bits. */
struct exact_rounded {
    uint64_t parts[EXACT_PARTS];
};

/* The same as a value of the result's type. */
EXACT_FUNCTION union scalar exact_joined(const struct finish *finish, struct exact_rounded rounded)
{
    const enum element type = exact_type_of_part(finish->result);
    union scalar value = exact_scalar(rounded.parts[EXACT_REAL], exact_format_of(type)), imag;
    if (!exact_has_parts(finish->result))
        return value;
    imag = exact_scalar(rounded.parts[EXACT_IMAGINARY], exact_format_of(type));
    return scalar_of_double(scalar_widen(value, type).real, scalar_widen(imag, type).real,
                            finish->result);
}

EXACT_FUNCTION struct scalar_wide exact_answer(const struct finish *finish, uint64_t real,
                                               uint64_t imag)
{
    const struct exact_rounded rounded = {{real, imag}};
    return scalar_widen(exact_joined(finish, rounded), finish->result);
}

/* A part, rounded: its bits. A mean is divided by `count`; a sum of 0 may be asked to be -0. */
EXACT_FUNCTION uint64_t exact_round_part(const struct finish *finish, bool mean, uint64_t count,
                                         const int64_t *counts, bool negative_zero,
                                         const struct exact_leading *leading)
{
    const struct exact_format format = exact_format_of_part(finish);
    const uint64_t bits = exact_round_leading(*leading, counts, mean ? (int64_t)count : 1, format);
    const bool signs = negative_zero && !mean && bits == 0 && exact_leads_nothing(leading);
    return signs ? (uint64_t)1 << (format.width - 1) : bits;
}

/* The sums with what the caller wants them to begin with, each rounded once, to a part of the
 * result's type; all floats are float64s, too. */
EXACT_FUNCTION struct scalar_wide exact_sums_round(const struct finish *finish, bool mean,
                                                   int64_t count,
                                                   const bool negative_zeros[EXACT_PARTS],
                                                   struct exact_sums *sums)
{
    const int parts = exact_has_parts(finish->result) ? EXACT_PARTS : 1;
    uint64_t bits[EXACT_PARTS] = {0, 0};
    if (finish->has_initial)
        exact_sums_add_initial(finish, sums);
    for (int part = 0; part < parts; part++) {
        struct exact *const sum = &sums->parts[part];
        exact_normalise(sum);
        const struct exact_leading leading = exact_lead(sum);
        bits[part] = exact_round_part(finish, mean, (uint64_t)count, sum->counts,
                                      negative_zeros[part], &leading);
    }
    return exact_answer(finish, bits[EXACT_REAL], bits[EXACT_IMAGINARY]);
}

/* The root of a sum of squares. */
EXACT_FUNCTION struct scalar_wide exact_sums_root(const struct finish *finish,
                                                  struct exact_sums *sums)
{
    exact_normalise(&sums->parts[EXACT_REAL]);
    return scalar_widen(exact_root(&sums->parts[EXACT_REAL], finish->result), finish->result);
}
