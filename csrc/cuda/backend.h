/* GPUs, or, built without nvcc, none. */
#pragma once

#include "run/backend.h"

extern const struct backend backend_cuda;
