/* What comes before a rung of a user's own, in a library that gred.lab compiles: for a GPU, or for
 * the simulated device, with pointers that count if GRED_COUNTING is defined. */
#pragma once

#include "../entry.cuh"
#include "common/kernels.h"

#include "../reductions/sum.cuh"
#include "counted_fold.cuh"

/* A kernel's shared memory is one piece, so that the simulated device knows where it ends. */
#ifndef __CUDACC__
#define __shared__ _Pragma("GCC error \"shared memory is block_memory<T>(), as on the ladder\"")
#endif
