/* Kernels with the mistakes that the simulated device is there to find, and the same without them.
 * Most sum the values 0 to blockDim.x - 1 of every block into results[blockIdx.x]. Those with a
 * race look right to somebody who runs threads in one order only. */
#include "entry.cuh"
#include "hopper.cuh"
#include "launched.h"

#include <stdio.h>
#include <unistd.h>

namespace KERNELS
{

inline void barrier()
{
    __syncthreads();
}

inline void warp_barrier()
{
    __syncwarp();
}

inline void cluster()
{
    cluster_barrier();
}

inline void nothing() {}

/* A tree in shared memory; thread 0 has the sum. What the author put at the end of each level: of
 * a block, and where a warp has all that is left, whose lanes do not run in lockstep either. */
template <void (*Block)(), void (*Warp)()>
unsigned added_up(unsigned value)
{
    const shared<unsigned> x = block_memory<unsigned>();
    x[threadIdx.x] = value;
    __syncthreads();
    for (unsigned stride = blockDim.x / 2; stride > 0; stride /= 2) {
        if (threadIdx.x < stride)
            x[threadIdx.x] += x[threadIdx.x + stride];
        if (stride < warp_size)
            Warp();
        else
            Block();
    }
    return x[0];
}

template <void (*Block)(), void (*Warp)()>
__global__ void tree(unsigned *results, uint64_t)
{
    const unsigned sum = added_up<Block, Warp>(threadIdx.x);
    if (threadIdx.x == 0)
        results[blockIdx.x] = sum;
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

/* ---- bulk copies ---- */

alignas(16) static unsigned numbers[SIMULATOR_BLOCK_MAX + 1], zeros[SIMULATOR_BLOCK_MAX];

inline void wait_for_bytes(shared<mbarrier> filled, unsigned parity)
{
    mbarrier_wait(filled, parity);
}

inline void wait_for_nothing(shared<mbarrier>, unsigned) {}

/* The block's numbers are copied to shared memory, and then zeros to the same place. It must wait
 * for them, and with the zeros until all threads have taken their number. */
template <void (*Filled)(shared<mbarrier>, unsigned parity), void (*Taken)()>
__global__ void copies(unsigned *results, uint64_t)
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
        Filled(filled, k);
        value += x[threadIdx.x];
        Taken();
    }
    __syncthreads();
    value = added_up<barrier, barrier>(value);
    if (threadIdx.x == 0)
        results[blockIdx.x] = value;
}

/* One copy, and a barrier that waits for `announced` bytes of it. */
template <unsigned First, unsigned Announced, bool Waits>
__global__ void one_copy(unsigned *results, uint64_t)
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

/* Each block gives its sum to the next one of its cluster, which must have begun, and must wait for
 * it. */
template <void (*Begun)(), void (*Given)()>
__global__ void neighbours(unsigned *results, uint64_t)
{
    const shared<unsigned> given = block_memory<unsigned>() + blockDim.x;
    const unsigned sum = added_up<barrier, barrier>(threadIdx.x);
    Begun();
    if (threadIdx.x == 0)
        *in_block((cluster_rank() + 1) % cluster_size(), given) = sum;
    Given();
    if (threadIdx.x == 0)
        results[blockIdx.x] = *given;
}

/* Half the threads of each block wait for the cluster, the others for the block. */
__global__ void half_a_cluster(unsigned *results, uint64_t)
{
    if (threadIdx.x % 2)
        cluster_barrier();
    else
        __syncthreads();
    results[blockIdx.x] = 0;
}

/* ---- stacks ---- */

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

static const named_kernel kernels[] = {
    {"tree", KERNEL_ENTRY(tree<barrier, barrier>)},
    {"tree without barriers", KERNEL_ENTRY(tree<nothing, nothing>)},
    {"warp's tree", KERNEL_ENTRY(tree<barrier, warp_barrier>)},
    {"warp's tree without barriers", KERNEL_ENTRY(tree<barrier, nothing>)},
    {"half a shuffle", KERNEL_ENTRY(half_a_shuffle)},
    {"recursion", KERNEL_ENTRY(recursion)},
    {"absent block", KERNEL_ENTRY(absent_block), true},
    {"copies", KERNEL_ENTRY(copies<wait_for_bytes, barrier>)},
    {"copies that nobody waits for", KERNEL_ENTRY(copies<wait_for_nothing, barrier>)},
    {"copies onto what is in use", KERNEL_ENTRY(copies<wait_for_bytes, nothing>)},
    {"one copy", KERNEL_ENTRY(one_copy<0, 64, true>)},
    {"bytes that never come", KERNEL_ENTRY(one_copy<0, 80, true>)},
    {"a copy of no alignment", KERNEL_ENTRY(one_copy<1, 64, true>)},
    {"a copy after the end", KERNEL_ENTRY(one_copy<0, 64, false>)},
    {"neighbours", KERNEL_ENTRY(neighbours<cluster, cluster>), false, true},
    {"neighbours not begun", KERNEL_ENTRY(neighbours<nothing, cluster>), false, true},
    {"neighbours not awaited", KERNEL_ENTRY(neighbours<cluster, nothing>), false, true},
    {"half a cluster", KERNEL_ENTRY(half_a_cluster), false, true},
};

} // namespace KERNELS

/* The message is the simulator's. Two launches, so that one after a failure is tried, too. */
extern "C" int run_kernel(const char *name, uint64_t grid, unsigned block, uint64_t n, int order,
                          uint64_t seed, unsigned *results, char *message, size_t message_bytes)
{
    for (unsigned k = 0; k <= SIMULATOR_BLOCK_MAX; k++)
        KERNELS::numbers[k] = k;
    struct simulator *device = simulator_open(unsigned(sysconf(_SC_NPROCESSORS_ONLN)));
    simulator_set(device, static_cast<thread_order>(order), seed, nullptr);
    void *arguments[] = {&results, &n};
    const unsigned bytes = block * sizeof *results + sizeof(KERNELS::mbarrier);
    int status = launched(KERNELS::kernels, name, device, grid, block, bytes, arguments);
    if (launched(KERNELS::kernels, name, device, grid, block, bytes, arguments) != status)
        status = -2;
    snprintf(message, message_bytes, "%s", simulator_message(device));
    simulator_close(device);
    return status;
}
