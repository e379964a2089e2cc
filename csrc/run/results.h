/* Runs whose results along axes go where kernels do not leave them. */
#pragma once

#include "run/passes.h"

/* As passes_run. Where the plan has an `out` for its results, they get memory for as long as the
 * run takes, and are stored there at its end. */
bool results_run(struct machine *, const struct plan *, struct run *);

/* The blocks that store so many results: a thread each, as far as there are threads. */
enum { RESULTS_BLOCK = 256 };
uint64_t results_store_grid(uint64_t n);
