/* Carries out reductions of segments on a machine. */
#pragma once

#include "run/passes.h"

/* Makes all results of a plan with segments. */
bool segments_reduce(struct machine *, const struct plan *, struct run *);
