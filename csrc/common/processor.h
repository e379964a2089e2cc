/* The processor that this process runs on. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* Cores that this process may use. */
unsigned processor_cores(void);

/* Bytes. */
uint64_t processor_memory(void);
uint64_t processor_last_level_cache(void);

/* The maker's name for it. */
void processor_title(char *title, size_t bytes);
