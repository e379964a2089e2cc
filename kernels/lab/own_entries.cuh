/* The entry points of a user's rung for sums. Included after the rung, which is named by the macros
 *
 *     GRED_RUNG(In, Acc, Block)     the kernel, e.g. my_rung<counted<sum<Acc>>, global<const In>>
 *
 * and, for an ordinary CUDA kernel of a single type, GRED_RUNG_TYPE and GRED_RUNG_ELEMENT. */
#pragma once

#include "own.cuh"

#include <stdio.h>
#include <stdlib.h>

#ifndef __CUDACC__

#include "../simulated/last_words.h"

#include <unistd.h>

/* Threads of several multiprocessors may call these concurrently, which is undefined in the C
 * library: exit handlers would run twice. These run no exit handlers. The library is linked such
 * that its own calls resolve to them. */
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

/* The driver's handle of a kernel, which any CUDA runtime in the process, including gred's, can
 * launch; only this library's runtime can launch the entry itself. */
const void *kernel_handle(const void *entry)
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

const void *kernel_handle(const void *entry)
{
    return entry;
}

#endif

template <class In, class Acc>
const void *entry(unsigned block)
{
    return kernel_handle(of_block(block, [](auto size) {
        constexpr unsigned Block = decltype(size)();
        return KERNEL_ENTRY(GRED_RUNG(In, Acc, Block));
    }));
}

} // namespace
} // namespace KERNELS

#if defined(GRED_PLAIN) && !defined(__CUDACC__)

/* Bytes of shared memory per block: static declarations, plus the rung's if one is extern. */
extern "C" __attribute__((visibility("default"))) size_t lab_shared_bytes(size_t bytes)
{
    using namespace KERNELS;
    return declaration_offset(max_declarations) + (GRED_PLAIN_IS_DYNAMIC ? bytes : 0);
}

#endif

/* A kernel_finder. Unsigned 64-bit sums have the same bits as signed ones. */
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
