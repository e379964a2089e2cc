/* The kernels' addresses, as the host's C code finds them. There are two sets: nvcc's for a GPU, to
 * be launched through the CUDA runtime, and the host compiler's for the simulated device, of type
 * void(void **arguments). */
#pragma once

#include "common/method.h"
#include "common/op.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Shapes of the kernel that only reads: how many 16-byte loads a thread has in flight. */
enum { READ_SHAPES = 3 };

/* A library's own reduction: with `workspace` NULL it only says in *workspace_bytes how much it
 * needs. Returns a cudaError_t. */
typedef int library_reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result,
                           int64_t n, void *stream);

/* An array that is not flat, as a kernel's argument: a layout in device memory, from a position
 * on. */
struct entries_gathered {
    const void *layout;
    uint64_t first;
};

/* Kernels of a method take (array, n, partials[, tickets]). The array is a plain pointer, or an
 * entries_gathered, or a pointer to a layout. NULL stands for what is not compiled. */
struct kernels {
    /* From a pointer to elements of type `input`, each converted to the accumulator. */
    const void *(*flat)(enum op op, enum method_index method, enum element input,
                        enum element accumulator, unsigned block);

    /* From an entries_gathered; into the widest accumulator of a kind only: int64, uint64, float64
     * and complex128. */
    const void *(*gathered)(enum op op, enum method_index method, enum element accumulator);

    /* From a pointer to a layout with elements of type `input` and at least one dimension. */
    const void *(*strided)(enum op op, enum method_index method, enum element input,
                           enum element accumulator);

    /* The same for a library's function, of flat arrays only. */
    library_reduce *(*library)(enum op op, enum element input, enum element accumulator);

    /* Copies, with the op's identity where a mask hides an element: arguments (array, n, target).
     */
    const void *(*copy_flat)(enum element input, enum element accumulator);
    const void *(*copy_gathered)(enum op op, enum element accumulator);

    /* Arguments (folded, struct finish, counted, type of out, out), for one thread. */
    const void *(*finish)(void);

    /* Counts what a mask lets through: arguments (layout, n, counted). */
    const void *(*count)(void);

    /* Reads and does nothing else: arguments (data, n in 16-byte packs, sink). */
    const void *(*read)(unsigned shape);
};

extern const struct kernels kernels_cuda, kernels_simulated;

#ifdef __cplusplus
}
#endif
