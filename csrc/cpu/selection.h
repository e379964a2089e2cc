/* Order statistics, as the host's threads find them. */
#pragma once

#include "cpu/host.h"

/* Writes all results of a selection. False: memory is short. */
bool selection_run(struct job *, const struct selection *);
