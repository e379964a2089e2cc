/* The processor that this process runs on, and what of it the process may use. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Cores that this process may use. */
unsigned processor_cores(void);

/* Whole cores' worth of time that the control group of this process lets it use, at least 1;
 * UINT_MAX where there is no limit: containers are limited in this way. Files are looked for below
 * `root`, "" for the system's own. */
unsigned cgroup_cores(const char *root);

/* Bytes. */
uint64_t processor_memory(void);
uint64_t processor_last_level_cache(void);

/* The maker's name for it. */
void processor_title(char *title, size_t bytes);
