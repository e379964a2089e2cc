/* Carries out exact sums along axes on a machine, where one launch can make all of them. */
#pragma once

#include "plan/exact_along.h"
#include "run/passes.h"

bool exact_along_run(struct machine *, const struct plan *, const struct exact_along *);
