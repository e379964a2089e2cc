/* What was found by measuring, as data. */
#pragma once

#include "common/method.h"

#include <stdint.h>

/* The threads of a block for so many elements, where the caller leaves the method to gred. */
unsigned tuning_block(const struct method *, uint64_t n);
