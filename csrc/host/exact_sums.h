/* The exact sums of an array. */
#pragma once

#include "common/exact.h"

enum { EXACT_REAL, EXACT_IMAGINARY, EXACT_PARTS };

/* Of a complex number's parts; of real numbers the second stays 0. */
struct exact_sums {
    struct exact parts[EXACT_PARTS];
};
