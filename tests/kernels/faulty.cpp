/* Kernels with the mistakes that the simulated device is there to find, and the same without them.
 * Each sums the values 0 to blockDim.x - 1 of every block into results[blockIdx.x]. Every one of
 * them looks right to somebody who runs its threads in one order only. */
#include "entry.cuh"
#include "simulated/simulator.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

namespace KERNELS
{

/* A tree in shared memory. `Level` is what the author put at the end of each level. */
template <void (*Level)()>
__global__ void tree(unsigned *results, uint64_t)
{
    const shared<unsigned> x = block_memory<unsigned>();
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            x[threadIdx.x] += x[threadIdx.x + stride];
        Level();
    }
    if (threadIdx.x == 0)
        results[blockIdx.x] = x[0];
}

inline void barrier()
{
    __syncthreads();
}

inline void nothing() {}

/* The last thread adds up what all have loaded. It must wait for them. */
template <void (*Loaded)()>
__global__ void last_adds(unsigned *results, uint64_t)
{
    const shared<unsigned> x = block_memory<unsigned>();
    x[threadIdx.x] = threadIdx.x;
    Loaded();
    if (threadIdx.x != blockDim.x - 1)
        return;
    unsigned sum = 0;
    for (unsigned k = 0; k < blockDim.x; k++)
        sum += x[k];
    results[blockIdx.x] = sum;
}

/* Neighbours in a warp hand over their values: lanes are not in step without a warp's barrier. */
template <void (*Level)()>
__global__ void warp_tree(unsigned *results, uint64_t)
{
    const shared<unsigned> x = block_memory<unsigned>();
    x[threadIdx.x] = threadIdx.x;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride >= warp_size; stride /= 2) {
        if (threadIdx.x < stride)
            x[threadIdx.x] += x[threadIdx.x + stride];
        __syncthreads();
    }
    if (threadIdx.x < warp_size) {
        for (unsigned stride = warp_size / 2; stride > 0; stride /= 2) {
            if (threadIdx.x < stride)
                x[threadIdx.x] += x[threadIdx.x + stride];
            Level();
        }
        if (threadIdx.x == 0)
            results[blockIdx.x] = x[0];
    }
}

inline void warp_barrier()
{
    __syncwarp();
}

/* The classic mistake: threads past the end leave, and the others wait for them. */
__global__ void early_return(unsigned *results, uint64_t n)
{
    const uint64_t i = uint64_t(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    tree<barrier>(results, n);
}

/* Even threads wait for the block, odd ones for their warp. */
__global__ void two_barriers(unsigned *results, uint64_t)
{
    if (threadIdx.x % 2)
        __syncwarp();
    else
        __syncthreads();
    results[blockIdx.x] = 0;
}

/* Half a warp shuffles with a mask that names all of it. */
__global__ void half_a_shuffle(unsigned *results, uint64_t)
{
    if (threadIdx.x % warp_size < warp_size / 2)
        results[blockIdx.x] = __shfl_down_sync(whole_warp, threadIdx.x, 1);
}

/* One block of a cooperative grid does not come to the grid's barrier. */
__global__ void absent_block(unsigned *results, uint64_t)
{
    if (blockIdx.x == 0)
        grid_barrier(results);
    results[blockIdx.x] = 0;
}

/* One thread calls itself until what it needs is more than a stack, and ends the process if nobody
 * stops it: it is in the next thread's stack by then. A call looks at its caller's frame, so that
 * no compiler makes a loop of it. */
__attribute__((noinline)) static unsigned dig(uint64_t bytes, volatile unsigned char *above)
{
    volatile unsigned char hole[256];
    hole[bytes % sizeof hole] = above ? above[0] : 1;
    const unsigned deeper = bytes > sizeof hole ? dig(bytes - sizeof hole, hole) : 1;
    return deeper + hole[bytes % sizeof hole];
}

__global__ void recursion(unsigned *results, uint64_t n)
{
    if (threadIdx.x != blockDim.x / 2)
        return;
    results[blockIdx.x] = dig(n, nullptr);
    if (n > 65536)
        _exit(0);
}

struct named_kernel {
    const char *name;
    const void *entry;
    bool cooperative;
};

static const named_kernel kernels[] = {
    {"tree", KERNEL_ENTRY(tree<barrier>), false},
    {"tree without barriers", KERNEL_ENTRY(tree<nothing>), false},
    {"last adds", KERNEL_ENTRY(last_adds<barrier>), false},
    {"last adds without a barrier", KERNEL_ENTRY(last_adds<nothing>), false},
    {"warp's tree", KERNEL_ENTRY(warp_tree<warp_barrier>), false},
    {"warp's tree without barriers", KERNEL_ENTRY(warp_tree<nothing>), false},
    {"early return", KERNEL_ENTRY(early_return), false},
    {"two barriers", KERNEL_ENTRY(two_barriers), false},
    {"half a shuffle", KERNEL_ENTRY(half_a_shuffle), false},
    {"recursion", KERNEL_ENTRY(recursion), false},
    {"absent block", KERNEL_ENTRY(absent_block), true},
};

} // namespace KERNELS

/* Runs a kernel by name. Returns the simulator's status, -1 if there is no such kernel; the message
 * is the simulator's. Two launches, so that one after a failure is tried, too. */
extern "C" int run_kernel(const char *name, uint64_t grid, unsigned block, uint64_t n, int order,
                          uint64_t seed, unsigned *results, char *message, size_t message_bytes)
{
    for (const KERNELS::named_kernel &kernel : KERNELS::kernels) {
        if (strcmp(kernel.name, name) != 0)
            continue;
        struct simulator *device = simulator_open();
        simulator_set(device, static_cast<thread_order>(order), seed, nullptr);
        void *arguments[] = {&results, &n};
        struct simulator_launch launch = {};
        launch.kernel = reinterpret_cast<void (*)(void **)>(const_cast<void *>(kernel.entry));
        launch.arguments = arguments;
        launch.grid = grid;
        launch.block = block;
        launch.shared_bytes = block * sizeof *results;
        launch.cluster = 1;
        launch.cooperative = kernel.cooperative;
        int status = simulator_launch(device, &launch);
        if (simulator_launch(device, &launch) != status)
            status = -2;
        snprintf(message, message_bytes, "%s", simulator_message(device));
        simulator_close(device);
        return status;
    }
    return -1;
}
