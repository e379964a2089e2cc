/* The entries of a rung of a user's own, for sums: what comes after it.
 *
 *     GRED_RUNG(In, Acc, Block)     its kernel, as in my_rung<counted<sum<Acc>>, global<const In>>
 *
 * and of one in ordinary CUDA that is of one type GRED_RUNG_TYPE, GRED_RUNG_ELEMENT. */
#pragma once

#include "own.cuh"

#include <stdio.h>
#include <stdlib.h>

#ifndef __CUDACC__

#include "../simulated/last_words.h"

#include <unistd.h>

/* Threads of several multiprocessors may call these at once, which the C library leaves undefined:
 * exit handlers would run twice. A kernel's process ends without them. The library is linked such
 * that its own calls come here. */
extern "C" void exit(int status) noexcept
{
    _exit(status);
}

extern "C" void quick_exit(int status) noexcept
{
    _exit(status);
}

#endif

namespace KERNELS
{
namespace
{

#ifdef __CUDACC__

/* What the driver knows a kernel by. That is launched by every CUDA runtime of the process, gred's
 * among them; the entry itself by this library's alone. */
const void *launched(const void *entry)
{
    cudaKernel_t kernel = nullptr;
    const cudaError_t error = cudaGetKernel(&kernel, entry);
    if (error != cudaSuccess) {
        fprintf(stderr, "cudaGetKernel: %s\n", cudaGetErrorString(error));
        abort();
    }
    return kernel;
}

#else

const void *launched(const void *entry)
{
    return entry;
}

#endif

template <class In, class Acc>
const void *entry(unsigned block)
{
    return launched(of_block(block, [](auto size) {
        constexpr unsigned Block = decltype(size)();
        return KERNEL_ENTRY(GRED_RUNG(In, Acc, Block));
    }));
}

} // namespace
} // namespace KERNELS

#if defined(GRED_PLAIN) && !defined(__CUDACC__)

/* A block's shared memory is what an ordinary kernel declares; the rung's, if that is extern. */
extern "C" __attribute__((visibility("default"))) size_t lab_shared_bytes(size_t bytes)
{
    using namespace KERNELS;
    return bytes_before(most_declarations) + (GRED_PLAIN_IS_DYNAMIC ? bytes : 0);
}

#endif

/* A kernel_finder. Unsigned 64-bit sums are the same bits as signed ones. */
extern "C" __attribute__((visibility("default"))) const void *lab_flat(struct kernel_key key)
{
    using namespace KERNELS;
    const auto input = key.input, accumulator = key.accumulator;
    const unsigned block = key.variant;
    if (key.fold != FOLD_sum)
        return nullptr;
#ifdef GRED_RUNG_TYPE
    return input == accumulator && input == GRED_RUNG_ELEMENT
               ? entry<GRED_RUNG_TYPE, GRED_RUNG_TYPE>(block)
               : nullptr;
#else
#ifdef GRED_PLAIN
    if (input != accumulator)
        return nullptr;
#endif
    return pairs_of_rungs<true>::find(input, accumulator, [&](auto in, auto acc) {
        return entry<decltype(in), decltype(acc)>(block);
    });
#endif
}
