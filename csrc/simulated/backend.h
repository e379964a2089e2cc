/* The simulated device. */
#pragma once

#include "run/backend.h"

extern const struct backend backend_simulated;
