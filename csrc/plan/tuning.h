/* What was found by measuring, as data. */
#pragma once

#include "common/method.h"

#include <stdint.h>

struct tuning {
    unsigned block;       /* threads */
    unsigned data_blocks; /* elements that a thread should get at least */
};

struct tuning tuning_of_method(const struct method *);

/* For so many elements, where the caller leaves the method to gred. */
struct tuning tuning_for(const struct method *, uint64_t n);

/* From now on this shape for any number of them; of a block of 0: as the table has it. */
void tuning_force(struct tuning);
