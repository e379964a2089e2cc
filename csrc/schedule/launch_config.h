/* How a reduction along axes is shared among a device's threads, and by which kernel: a pure
 * function of the axes, the types, the kernels that there are, and the device's size. */
#pragma once

#include "common/kernels.h"

struct launch_problem;

/* The first of these for which there is a kernel, and as whose kernel wants them elements lie:
 * places among one element each, short rows, long rows and columns of a known type, columns,
 * results of few elements, any. */
void launch_config_choose(const struct launch_problem *, struct launch_config *);

/* What config->kernel is found by, besides the fold and the types. */
enum kernel_access launch_access(const struct launch_config *);

/* Whether it is one of those that know the elements' type. */
bool launch_is_typed(const struct launch_config *);

/* Counters of blocks. */
uint64_t launch_tickets(const struct launch_config *);

/* What the kernel takes, in words. */
const char *launch_name(const struct launch_config *);
