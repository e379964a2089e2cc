/* Kernels with known accesses, for tests of the counters: a thread accesses element at[thread] of
 * memory, or none if that is negative. */
#define GRED_COUNTING

#include "run/counting.h"
#include "entry.cuh"

#include "launched.h"

#include <stdlib.h>

namespace KERNELS
{

/* A 16-byte vector element. */
struct alignas(16) pack {
    uint32_t at[4];
};

template <class T>
__global__ void shared_load(const int *at, global<T>, T *kept)
{
    const shared<T> x = block_memory<T>();
    if (at[threadIdx.x] >= 0)
        kept[threadIdx.x] = x[at[threadIdx.x]];
}

template <class T>
__global__ void shared_store(const int *at, global<T>, T *kept)
{
    const shared<T> x = block_memory<T>();
    if (at[threadIdx.x] >= 0)
        x[at[threadIdx.x]] = kept[threadIdx.x];
}

/* A thread loads the same element at[threadIdx.x] times, so that turns have different lanes. */
__global__ void turns(const int *at, global<uint32_t> memory, uint32_t *kept)
{
    for (int k = 0; k < at[threadIdx.x]; k++)
        kept[threadIdx.x] = memory[threadIdx.x];
}

/* The lower half of a warp loads before a barrier, and then all lanes load after it. */
__global__ void again(const int *, global<uint32_t> memory, uint32_t *kept)
{
    for (unsigned round = 0; round < 2; round++) {
        if (round == 1 || threadIdx.x % warp_size < warp_size / 2)
            kept[threadIdx.x] = memory[threadIdx.x];
        __syncwarp();
    }
}

#define OF(name, T)        {#name " " #T, KERNEL_ENTRY(name<T>)}
#define OF_EACH_SIZE(name) OF(name, uint8_t), OF(name, uint32_t), OF(name, uint64_t), OF(name, pack)

const named_kernel kernels[] = {
    OF_EACH_SIZE(shared_load),
    OF_EACH_SIZE(shared_store),
    {"turns uint32_t", KERNEL_ENTRY(turns)},
    {"again uint32_t", KERNEL_ENTRY(again)},
};

} // namespace KERNELS

/* Adds up requests, lanes, pieces and conflicts over all source lines of one event. */
extern "C" int count_kernel(const char *name, unsigned block, const int *at, int event, int order,
                            uint64_t sums[4])
{
    alignas(256) static char memory[1 << 20], kept[1 << 20];
    char *first = memory, *own = kept;
    void *arguments[] = {&at, &first, &own};
    struct counted_launch counts = {};
    struct simulator *device = simulator_open(1);
    const int status =
        launched(KERNELS::kernels, name, device, 1, block, 1 << 16, order, 7, arguments, &counts)
            ->kind;
    for (size_t k = 0; k < counts.count; k++)
        if (counts.tallies[k].event == event) {
            sums[0] += counts.tallies[k].warps;
            sums[1] += counts.tallies[k].lanes;
            sums[2] += counts.tallies[k].pieces;
            sums[3] += counts.tallies[k].conflicts;
        }
    simulator_close(device);
    free(counts.tallies);
    return status;
}
