/* This process, and what it measures with: a clock, and data that no memory or compiler can guess.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

/* Its number, without asking the operating system every time; a forked child has another. */
pid_t process_here(void);

/* Seconds on a clock that only goes forward. */
double clock_now(void);

void clock_random(void *memory, size_t bytes);
