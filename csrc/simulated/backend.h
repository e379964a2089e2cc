/* The simulated device. */
#pragma once

#include "run/backend.h"

extern const struct backend backend_simulated;

struct simulated_memory;

/* The memory that arrays of the simulated device lie in, from the backend's state. */
struct simulated_memory *simulated_memory_of(void *state);
