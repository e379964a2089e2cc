/* What is decided for a call that gives a flat array of the host's and nothing else. That depends
 * on the reduction and the type of the elements alone, so plan_make decides it once for each, and a
 * call takes over what it has decided. */
#pragma once

#include "plan/plan.h"

struct cached_plans;

/* NULL with an exception set. */
struct cached_plans *cached_plans_make(const struct platforms *);
void cached_plans_free(struct cached_plans *);

/* The plan for a layout that is flat and normalised and has elements, whose type to convert to is
 * set on the way. False without an exception: plan_make has something to say to such a call. */
bool cached_plan(const struct cached_plans *, enum reduction, struct layout *, struct plan *);
