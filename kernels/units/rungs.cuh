/* The rungs' kernels by method, element types and block size. The including file defines
 * RUNG_FOLD<Acc>, the fold, and RUNG_LATER if the rungs for compute capability 9.0 are included. */
#pragma once

#include "../entry.cuh"
#include "../ladder.cuh"
#ifdef RUNG_LATER
#include "../ladder/23_bulk.cuh"
#include "../ladder/24_cluster.cuh"
#endif

namespace KERNELS
{
namespace
{

/* The block sizes for which rungs of `each_block` and of `default_block` are compiled; 0 means
 * known at run time, as always on the simulated device, where results and counts are the same. */
#ifdef __CUDACC__
#define EACH_BLOCK(block)    (block)
#define DEFAULT_BLOCK(block) ((block) == 256 ? 256 : 0)
#else
#define EACH_BLOCK(block)    0
#define DEFAULT_BLOCK(block) 0
#endif

/* A rung's template arguments depend on its input: its own working copy in the accumulator's type,
 * or the caller's array. They may include the block size. */
#define IN_PLACE_any_block(name)  KERNEL_ENTRY(name<RUNG_FOLD<Acc>>)
#define IN_PLACE_each_block(name) KERNEL_ENTRY(name<RUNG_FOLD<Acc>, block()>)
#define READS_any_block(name)     KERNEL_ENTRY(name<RUNG_FOLD<Acc>, global<const In>>)
#define READS_each_block(name)                                                                     \
    KERNEL_ENTRY(name<RUNG_FOLD<Acc>, global<const In>, EACH_BLOCK(block())>)
#define READS_default_block(name)                                                                  \
    KERNEL_ENTRY(name<RUNG_FOLD<Acc>, global<const In>, DEFAULT_BLOCK(block())>)
#ifdef RUNG_LATER
#define LATER_any_block(name) KERNEL_ENTRY(name<RUNG_FOLD<Acc>, In>)
#else
#define LATER_any_block(name) nullptr
#endif

#define KIND_levels(blocks)      IN_PLACE_##blocks
#define KIND_in_place(blocks)    IN_PLACE_##blocks
#define KIND_tiles(blocks)       READS_##blocks
#define KIND_grid_stride(blocks) READS_##blocks
#define KIND_one_atomic(blocks)  READS_##blocks
#define KIND_last_block(blocks)  READS_##blocks
#define KIND_cooperative(blocks) READS_##blocks
#define KIND_bulk(blocks)        LATER_##blocks
#define KIND_clusters(blocks)    LATER_##blocks

template <bool Signed>
const void *rung_kernel(const kernel_key &key)
{
    return pairs_of_rungs<Signed>::find(key.input, key.accumulator, [&](auto in, auto acc) {
        using In = decltype(in);
        using Acc = decltype(acc);
        return of_block(key.variant, [&](auto block) -> const void * {
            switch (key.method) {
#define RUNG(number, name, alias, style, blocks, ...)                                              \
    case METHOD_##name:                                                                            \
        return KIND_##style(blocks)(name);
#define HOST_METHOD(name, ...)
#define LIBRARY_METHOD(name, ...)
#include "common/ladder.def"
            default:
                return nullptr;
            }
        });
    });
}

} // namespace
} // namespace KERNELS
