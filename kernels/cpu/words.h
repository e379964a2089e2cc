/* The CUDA keywords that folds use, for host compilation. */
#pragma once

#include <string.h>

#define __host__
#define __device__
#define __forceinline__ inline __attribute__((always_inline))
#define __noinline__    __attribute__((noinline))
