/* Standing plans: what is decided for a call that gives a flat array of the host's and nothing
 * else. That depends on the reduction and the type of the elements alone, so plan_make decides it
 * once for each, and a call takes over what it has decided. */
#pragma once

#include "plan/plan.h"

struct standing;

/* NULL with an exception set. */
struct standing *standing_make(const struct platforms *);
void standing_free(struct standing *);

/* The plan for a layout that is flat and normalised and has elements, whose type to convert to is
 * set on the way. False without an exception: plan_make has something to say to such a call. */
bool standing_plan(const struct standing *, enum reduction, struct layout *, struct plan *);
