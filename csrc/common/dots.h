/* Loops that multiply the elements of two arrays and add the products up. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Sums of products. Of integers, modulo 2^64. Of floats, in float64: of complex numbers, whose
 * parts lie in turn, of what is in the same places, real parts in even ones, and of what is in each
 * other's, apart by where the first factor was; of real numbers the first is all. */
union dotted {
    uint64_t integer;
    struct {
        double same[2], crossed[2];
    } parts;
};

/* Of 1 to LOOP_MOST elements. Floats are added as a tree. */
typedef void dot_elements(const void *a, const void *b, size_t n, union dotted *);
