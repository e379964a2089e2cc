/* How exact sums along axes are shared among a device's threads: all of them in one launch. */
#pragma once

#include "common/kernels.h"
#include "plan/arena.h"
#include "plan/plan.h"
#include "plan/steps.h"

struct exact_along {
    const void *kernel;
    bool rows; /* each is a block's, or several blocks' */
    enum element accumulator;
    unsigned block, lanes, splits; /* see kernel_exact_along */
    uint64_t groups;               /* rows, or neighbouring results */
    size_t shared_bytes;
    struct arena arena;
};

/* False where results have to be made one by one: not all lies on the device, results begin with
 * something, a mask hides elements, or more than one dimension is reduced. */
bool exact_along_make(const struct plan *, const struct kernels *, unsigned multiprocessors,
                      struct exact_along *);

struct step exact_along_step(const struct exact_along *, const struct plan *);

/* The kernel's argument, but for what lies in the arena. */
void exact_along_argument(const struct exact_along *, const struct plan *,
                          struct kernel_exact_along *);
