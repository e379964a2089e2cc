/* Carries out reductions along axes on a machine. */
#pragma once

#include "run/passes.h"

/* Makes all results of a plan with axes. */
bool axes_run(struct machine *, const struct plan *, struct run *);
