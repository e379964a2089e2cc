/* What is to be said of results that were made of too little. Compiled for kernels, too, which make
 * many results. */
#pragma once

#include "common/reduction.h"

enum {
    FOUND_NOTHING = 1,    /* no element took part in one that needs some */
    FOUND_NOT_ENOUGH = 2, /* a quotient's divisor was not positive */
    FOUND_ALL_NAN = 4,    /* nothing but NaN took part in one that leaves NaN out */
    FOUND_OUTSIDE = 8,    /* a segment does not lie in the array */
};

SCALAR bool answer_is_nan(const struct scalar_wide *value)
{
    return value->kind == SCALAR_FLOAT &&
           (value->real != value->real || value->imag != value->imag);
}

/* How many elements a quotient was made of. */
SCALAR double answer_made_of(enum reduction reduction, double ddof, const struct answer *answer,
                             uint64_t count)
{
    switch (reduction) {
    case REDUCTION_var:
    case REDUCTION_std:
        return answer->values[1].real - ddof;
    case REDUCTION_nanmean:
        return (double)answer->values[1].integer;
    default:
        return (double)count;
    }
}

/* What is indexed tells by its position. */
SCALAR bool answer_is_of_nothing(enum fold fold, const struct answer *answer, uint64_t count)
{
    return fold == FOLD_argmin || fold == FOLD_argmax ? answer->values[0].integer < 0 : count == 0;
}

/* Bits. `count` is how many elements took part, `nothing` what the reduction has of none. */
SCALAR unsigned findings_of(enum reduction reduction, enum fold fold, enum nothing nothing,
                            double ddof, const struct answer *answer, uint64_t count)
{
    unsigned found = 0;
    if (nothing == NOTHING_error && answer_is_of_nothing(fold, answer, count))
        found |= FOUND_NOTHING;
    if (nothing == NOTHING_nan && !(answer_made_of(reduction, ddof, answer, count) > 0))
        found |= FOUND_NOT_ENOUGH;
    if ((fold == FOLD_nanmin || fold == FOLD_nanmax) && answer_is_nan(&answer->values[0]))
        found |= FOUND_ALL_NAN;
    return found;
}
