/* Small help for measuring: a clock, and data that no memory or compiler can guess. */
#pragma once

#include <stddef.h>

/* Seconds on a clock that only goes forward. */
double clock_now(void);

void clock_random(void *memory, size_t bytes);
