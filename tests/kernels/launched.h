/* Kernels by name, each launched alone on a simulated device. */
#pragma once

#include "simulated/simulator.h"

#include <string.h>

struct named_kernel {
    const char *name;
    const void *entry;
    bool cooperative;
    bool together; /* all blocks are one cluster */
};

/* Returns the simulator's status, -1 if there is no such kernel. */
template <size_t N>
int launched(const named_kernel (&kernels)[N], const char *name, struct simulator *device,
             uint64_t grid, unsigned block, unsigned shared_bytes, void **arguments,
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
        launch.counts = counts;
        return simulator_launch(device, &launch);
    }
    return -1;
}
