/* CUDA's words on a CPU, as far as folds use them: they are plain functions there. */
#pragma once

#include <string.h>

#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
