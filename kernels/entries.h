/* The kernels' addresses, as the host's C code finds them. There are two sets: nvcc's for a GPU, to
 * be launched through the CUDA runtime, and the host compiler's for the simulated device, of type
 * void(void **arguments). */
#pragma once

#include "../csrc/method.h"
#include "../csrc/op.h"

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

struct kernels {
    /* A method's kernel from `input` to `accumulator`, arguments (data, n, partials[, tickets]);
     * NULL where it is not compiled, and the array has to be converted first. */
    const void *(*of_method)(enum op op, enum method_index method, enum element input,
                             enum element accumulator, unsigned block);

    /* The same for a library's function; NULL where there is none. */
    library_reduce *(*of_library)(enum op op, enum element input, enum element accumulator);

    /* Copies and converts: arguments (source, n, target). */
    const void *(*working_copy)(enum element input, enum element accumulator);

    /* Reads and does nothing else: arguments (data, n in 16-byte packs, sink). */
    const void *(*read)(unsigned shape);
};

extern const struct kernels kernels_cuda, kernels_simulated;

#ifdef __cplusplus
}
#endif
