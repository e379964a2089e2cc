/* The table of kernels for the host's C code. There are two: nvcc's for GPUs, launched through the
 * CUDA runtime, and the host compiler's for the simulated device: void(void **arguments). */
#pragma once

#include "common/kernel_arguments.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Variants of KERNEL_READ: 16-byte loads in flight per thread. */
enum { READ_SHAPES = 3 };

/* A library's own reduction. If `workspace` is NULL, it only sets *workspace_bytes to the size that
 * it needs. Returns a cudaError_t. */
typedef int library_reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result,
                           int64_t n, void *stream);

/* Variants of typed kernels of rows: elements are contiguous; or every second one is used, and
 * short rows and their elements may have any strides. */
enum kernel_access { ACCESS_ALIGNED, ACCESS_STRIDED };

/* The key of a kernel; each kind uses only some of the members. */
struct kernel_key {
    enum kernel_kind kind;
    enum fold fold;
    enum element input, accumulator;
    enum method_index method; /* of KERNEL_FLAT and KERNEL_STRIDED */
    unsigned variant;
};

/* Returns NULL if the kernel is not compiled. */
typedef const void *kernel_finder(struct kernel_key);

struct kernels {
    kernel_finder *find;
    kernel_finder *flat; /* finds KERNEL_FLAT; NULL: `find` does */

    /* A library's own function, for flat arrays only. */
    library_reduce *(*reducer)(enum fold fold, enum element input, enum element accumulator);

    /* Whether segment kernels wait for the preceding launch themselves, and so may overlap it. */
    bool (*segments_can_overlap)(void);
};

static inline const void *kernel_find(const struct kernels *self, struct kernel_key key)
{
    return key.kind == KERNEL_FLAT && self->flat ? self->flat(key) : self->find(key);
}

/* The kernel of a kind that has only one. */
static inline const void *kernel_of_kind(const struct kernels *self, enum kernel_kind kind)
{
    const struct kernel_key key = {kind, FOLDS, ELEMENTS, ELEMENTS, METHODS, 0};
    return self->find(key);
}

static inline const void *kernel_of_reads(const struct kernels *self, unsigned shape)
{
    const struct kernel_key key = {KERNEL_READ, FOLDS, ELEMENTS, ELEMENTS, METHODS, shape};
    return self->find(key);
}

extern const struct kernels kernels_cuda, kernels_simulated;

/* Replaces `flat` on the simulated device: the same kernels, reporting their memory accesses. NULL
 * except for sums by the rungs that all GPUs have, of the types compiled for them. */
kernel_finder counting_flat;

#ifdef __cplusplus
}
#endif
