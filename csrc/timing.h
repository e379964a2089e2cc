/* Small help for measuring: a clock, a median, and data that no memory or compiler can guess. */
#pragma once

#include "backend.h"

#include <stddef.h>

/* Seconds on a clock that only goes forward. */
double timing_now(void);

/* Of timing->seconds, whose order stays. */
double timing_median(const struct timing *);

void timing_random(void *memory, size_t bytes);
