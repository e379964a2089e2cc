/* The fastest rung on a device, where the caller leaves the method to gred: what a plan has before
 * is right for every device. */
#pragma once

#include "plan/schedule.h"

/* Gives the plan the method that is fastest there for its array, and that method's block. */
void fastest_choose(const struct facts *, struct plan *);
