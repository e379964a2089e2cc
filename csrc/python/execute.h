/* Runs plans, without the GIL where that is worth it, lets Python interrupt them, and turns
 * failures into exceptions. */
#pragma once

#include "python/state.h"
#include "run/backend.h"

/* True with run->answer there, or the plan's `out` written; false with an
 * exception set. */
bool execute_plan(struct module_state *, const struct plan *plan, struct run *run);

bool execute_read(struct module_state *, const struct platform *, int index, size_t bytes,
                  struct run *);
