/* Included before a user's rung, in a library that gred.lab compiles for a GPU or for the simulated
 * device. Pointers count accesses if GRED_COUNTING is defined. */
#pragma once

#include "../entry.cuh"
#include "common/kernels.h"

#include "../reductions/sum.cuh"
#include "counted_fold.cuh"

/* A kernel has one shared memory allocation, so that the simulated device can check its bounds. */
#ifndef __CUDACC__
#define __shared__ _Pragma("GCC error \"shared memory is block_memory<T>(), as on the ladder\"")
#endif
