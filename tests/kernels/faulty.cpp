/* Kernels with mistakes that the simulated device must find, and the same kernels without them.
 * Most sum the values 0 to blockDim.x - 1 of every block into results[blockIdx.x]. Those with a
 * race give the right result in one order of threads. */
#include "entry.cuh"
#include "hopper.cuh"
#include "launched.h"

#include <stdio.h>
#include <unistd.h>

namespace KERNELS
{

/* A tree in shared memory; returns the sum in thread 0. `Block` and `Warp` say which barriers
 * follow a level: __syncthreads, and __syncwarp where one warp does the rest, whose lanes do not
 * run in lockstep either. */
template <bool Block, bool Warp>
unsigned added_up(unsigned value)
{
    const shared<unsigned> x = block_memory<unsigned>();
    x[threadIdx.x] = value;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            x[threadIdx.x] += x[threadIdx.x + stride];
        if (Warp && stride < warp_size)
            __syncwarp();
        if (Block && stride >= warp_size)
            __syncthreads();
    }
    return x[0];
}

template <bool Block, bool Warp>
__global__ void tree(unsigned *results)
{
    const unsigned sum = added_up<Block, Warp>(threadIdx.x);
    if (threadIdx.x == 0)
        results[blockIdx.x] = sum;
}

/* Half a warp shuffles with a full mask. */
__global__ void half_a_shuffle(unsigned *results)
{
    if (threadIdx.x % warp_size < warp_size / 2)
        results[blockIdx.x] = __shfl_down_sync(whole_warp, threadIdx.x, 1);
}

/* One block of a cooperative grid never reaches the grid's barrier. */
__global__ void absent_block(unsigned *results)
{
    if (blockIdx.x == 0)
        grid_barrier(results);
    results[blockIdx.x] = 0;
}

/* ---- bulk copies ---- */

alignas(16) static unsigned numbers[SIMULATOR_BLOCK_MAX + 1], zeros[SIMULATOR_BLOCK_MAX];

/* The block's numbers are copied to shared memory, and then zeros to the same place. The kernel
 * must wait for each copy, and must not start the second until all threads have read the first. */
template <bool Filled, bool Taken>
__global__ void copies(unsigned *results)
{
    const shared<unsigned> x = block_memory<unsigned>();
    const shared<mbarrier> filled = reinterpret_cast<mbarrier *>(x + blockDim.x);
    const unsigned bytes = blockDim.x * sizeof *x;
    unsigned value = 0;
    if (threadIdx.x == 0)
        mbarrier_init(filled, 1);
    __syncthreads();
    for (unsigned k = 0; k < 2; k++) {
        if (threadIdx.x == 0) {
            mbarrier_arrive(filled, bytes);
            bulk_copy(x, k == 0 ? numbers : zeros, bytes, filled);
        }
        if (Filled)
            mbarrier_wait(filled, k);
        value += x[threadIdx.x];
        if (Taken)
            __syncthreads();
    }
    __syncthreads();
    value = added_up<true, true>(value);
    if (threadIdx.x == 0)
        results[blockIdx.x] = value;
}

/* One copy, and a barrier that expects `Announced` bytes. */
template <unsigned First, unsigned Announced, bool Waits>
__global__ void one_copy(unsigned *results)
{
    const shared<unsigned> x = block_memory<unsigned>();
    const shared<mbarrier> filled = reinterpret_cast<mbarrier *>(x + blockDim.x);
    if (threadIdx.x == 0) {
        mbarrier_init(filled, 1);
        mbarrier_arrive(filled, Announced);
        bulk_copy(x, numbers + First, 64, filled);
    }
    __syncthreads();
    if (Waits)
        mbarrier_wait(filled, 0);
    results[blockIdx.x] = 0;
}

/* ---- clusters ---- */

/* Each block stores its sum in the next block of its cluster, which must have started, and waits
 * for the sum that it receives. */
template <bool Begun, bool Given>
__global__ void neighbours(unsigned *results)
{
    const shared<unsigned> given = block_memory<unsigned>() + blockDim.x;
    const unsigned sum = added_up<true, true>(threadIdx.x);
    if (Begun)
        cluster_barrier();
    if (threadIdx.x == 0)
        *map_shared_rank((cluster_rank() + 1) % cluster_size(), given) = sum;
    if (Given)
        cluster_barrier();
    if (threadIdx.x == 0)
        results[blockIdx.x] = *given;
}

/* Half the threads of each block wait for the cluster, the others for the block. */
__global__ void half_a_cluster(unsigned *results)
{
    if (threadIdx.x % 2)
        cluster_barrier();
    else
        __syncthreads();
    results[blockIdx.x] = 0;
}

static const named_kernel kernels[] = {
    {"tree", KERNEL_ENTRY(tree<true, true>)},
    {"tree without barriers", KERNEL_ENTRY(tree<false, false>)},
    {"tree without a warp's", KERNEL_ENTRY(tree<true, false>)},
    {"half a shuffle", KERNEL_ENTRY(half_a_shuffle)},
    {"absent block", KERNEL_ENTRY(absent_block), true},
    {"copies", KERNEL_ENTRY(copies<true, true>)},
    {"copies that nobody waits for", KERNEL_ENTRY(copies<false, true>)},
    {"copies onto what is in use", KERNEL_ENTRY(copies<true, false>)},
    {"one copy", KERNEL_ENTRY(one_copy<0, 64, true>)},
    {"bytes that never come", KERNEL_ENTRY(one_copy<0, 80, true>)},
    {"a copy of no alignment", KERNEL_ENTRY(one_copy<1, 64, true>)},
    {"a copy after the end", KERNEL_ENTRY(one_copy<0, 64, false>)},
    {"neighbours", KERNEL_ENTRY(neighbours<true, true>), false, true},
    {"neighbours not begun", KERNEL_ENTRY(neighbours<false, true>), false, true},
    {"neighbours not awaited", KERNEL_ENTRY(neighbours<true, false>), false, true},
    {"half a cluster", KERNEL_ENTRY(half_a_cluster), false, true},
};

} // namespace KERNELS

/* Launches a kernel twice, to test a launch after a failure; returns the simulator's message. */
extern "C" int run_kernel(const char *name, uint64_t grid, unsigned block, int order, uint64_t seed,
                          unsigned *results, char *message, size_t message_bytes)
{
    for (unsigned k = 0; k <= SIMULATOR_BLOCK_MAX; k++)
        KERNELS::numbers[k] = k;
    struct simulator *device = simulator_open(unsigned(sysconf(_SC_NPROCESSORS_ONLN)));
    void *arguments[] = {&results};
    const unsigned bytes = block * sizeof *results + sizeof(KERNELS::mbarrier);
    const auto launch = [=, &arguments] {
        return launched(KERNELS::kernels, name, device, grid, block, bytes, order, seed, arguments);
    };
    const int status = launch()->kind;
    const struct failure *again = launch();
    const bool same = again->kind == status;
    snprintf(message, message_bytes, "%s", again->text);
    simulator_close(device);
    return same ? status : -2;
}
