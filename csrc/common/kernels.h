/* The one table of kernels, as the host's C code finds them. There are two: nvcc's for a GPU, whose
 * kernels are launched through the CUDA runtime, and the host compiler's for the simulated device,
 * whose kernels are of type void(void **arguments). */
#pragma once

#include "common/kernel_arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes of the kernel that only reads: how many 16-byte loads a thread has in flight. */
enum { READ_SHAPES = 3 };

/* A library's own reduction: with `workspace` NULL it only says in *workspace_bytes how much it
 * needs. Returns a cudaError_t. */
typedef int library_reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result,
                           int64_t n, void *stream);

/* Variants of typed kernels: elements are neighbours, or every second element is one, and short
 * rows or their elements may lie anywhere. */
enum kernel_access { ACCESS_ALIGNED, ACCESS_STRIDED };

/* What a kernel is found by, as far as its kind asks for it. */
struct kernel_key {
    enum kernel_kind kind;
    enum fold fold;
    enum element input, accumulator;
    enum method_index method; /* of KERNEL_FLAT and KERNEL_STRIDED */
    unsigned variant;
};

/* NULL stands for what is not compiled. */
typedef const void *kernel_finder(struct kernel_key);

struct kernels {
    kernel_finder *find;
    kernel_finder *flat; /* of KERNEL_FLAT, in place of those; NULL: they are the ones */

    /* A library's own function, of flat arrays only. */
    library_reduce *(*reducer)(enum fold fold, enum element input, enum element accumulator);

    /* Whether kernels of segments wait themselves for the launch before them, and may follow it. */
    bool (*segments_follow)(void);
};

static inline const void *kernel_find(const struct kernels *self, struct kernel_key key)
{
    return key.kind == KERNEL_FLAT && self->flat ? self->flat(key) : self->find(key);
}

/* The only one of its kind. */
static inline const void *kernel_of_kind(const struct kernels *self, enum kernel_kind kind)
{
    const struct kernel_key key = {kind, FOLDS, ELEMENTS, ELEMENTS, METHODS, 0};
    return self->find(key);
}

static inline const void *kernel_that_reads(const struct kernels *self, unsigned shape)
{
    const struct kernel_key key = {KERNEL_READ, FOLDS, ELEMENTS, ELEMENTS, METHODS, shape};
    return self->find(key);
}

extern const struct kernels kernels_cuda, kernels_simulated;

/* For the simulated device, in the place of `flat`: the same kernels, which tell what they access.
 * NULL but for sums by rungs that all GPUs have, of the types that these are compiled for. */
kernel_finder counting_flat;

#ifdef __cplusplus
}
#endif
