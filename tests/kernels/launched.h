/* Kernels by name, for single launches on a simulated device. */
#pragma once

#include "simulated/launch.h"

#include <string.h>

struct named_kernel {
    const char *name;
    const void *entry;
    bool cooperative;
    bool together; /* all blocks are one cluster */
};

/* Launches a kernel and returns the simulator's result. */
template <size_t N>
const struct failure *launched(const named_kernel (&kernels)[N], const char *name,
                               struct simulator *device, uint64_t grid, unsigned block,
                               unsigned shared_bytes, int order, uint64_t seed, void **arguments,
                               struct counted_launch *counts = nullptr)
{
    for (const named_kernel &kernel : kernels) {
        if (strcmp(kernel.name, name) != 0)
            continue;
        struct simulator_launch launch = {};
        launch.kernel = reinterpret_cast<void (*)(void **)>(const_cast<void *>(kernel.entry));
        launch.arguments = arguments;
        launch.grid = grid;
        launch.block = block;
        launch.shared_bytes = shared_bytes;
        launch.cluster = kernel.together ? unsigned(grid) : 1;
        launch.cooperative = kernel.cooperative;
        launch.order = static_cast<thread_order>(order);
        launch.seed = seed;
        launch.counts = counts;
        return simulator_launch(device, &launch);
    }
    static const struct failure unknown = {FAILURE_VALUE, "there is no such kernel"};
    return &unknown;
}
