/* Errors of CUDA's, noted as failures. */
#pragma once

#include "common/failure.h"

#include <cuda_runtime_api.h>

#include <stdbool.h>

/* False, with the failure noted, unless `error` is cudaSuccess. `call` is the function that gave
 * it. */
bool cuda_check(struct failure *failure, cudaError_t error, const char *call);

/* Calls a function of the runtime. */
#define CUDA_TRY(failure, function, ...) cuda_check(failure, function(__VA_ARGS__), #function)
