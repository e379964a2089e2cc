/* Plans of sums of products: of two arrays' elements, in pairs. */
#pragma once

#include "plan/plan.h"

/* Makes the plan of two arrays of one shape, whose elements have a common type and layouts are
 * normalised, in order. Of the request only the device and the consumer count. On the host there is
 * no more to it than where it is done. False with an exception set. */
bool products_plan(const struct request *, struct view *a, struct view *b, bool exactly,
                   struct plan *);

/* What sums of products of a type are: integers keep all their bits, floats stay what they are. */
enum element products_type(enum element);
