/* The memory that a pass of a rung is given. */
#pragma once

#include "plan/plan.h"
#include "run/passes.h"
#include "simulated/checker.h"

/* Of a pass from elements of the accumulator's own type. */
void regions_of(const struct plan *, const struct launch *, struct checked_launch *);
