/* What carries a schedule out. */
#pragma once

#include "run/passes.h"

/* Fills the run's answer or its samples. False: the machine's failure says why not. */
bool carry_out(struct machine *, const struct schedule *, struct run *);
