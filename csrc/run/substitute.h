/* A kernel of the user's own in the place of a rung, which is launched as that rung is: in a
 * process that has been started for it. */
#pragma once

#include "common/kernels.h"
#include "plan/plan.h"

#include <stddef.h>

/* The bytes of shared memory of a block on the simulated device, of which the rung has so many. */
typedef size_t substitute_shared_bytes(size_t bytes);

struct substitute {
    const struct method *method; /* NULL: there is none */
    unsigned data_blocks;        /* in place of the method's own */

    kernel_finder *plain, *counting;
    substitute_shared_bytes *shared_bytes; /* NULL: as many as the rung */
};

/* Whether it is what a plan runs; NULL is no plan. */
static inline bool substitute_is_for(const struct substitute *self, const struct plan *plan)
{
    return plan && plan->method && plan->method == self->method;
}
