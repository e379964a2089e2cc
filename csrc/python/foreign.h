/* The interface of gred._core to code other than Python's: one function, in a capsule, which any
 * thread may call without the GIL. `settle` must have checked its arguments. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOREIGN_NAME "gred._core._foreign"

/* An array in C order, and memory for its contiguous results. */
struct foreign_call {
    const char *reduction;                 /* as `settle` names it */
    const char *input, *elements, *result; /* types: the array's, converted elements', results' */
    bool exact, batch_invariant;
    double ddof;
    const void *data, *factors; /* a second vector of the same type, for dot; or NULL */
    unsigned dimensions;
    const int64_t *shape;
    uint64_t axes; /* reduction axes, a bit each */
    void *results;
    size_t data_bytes, results_bytes; /* checked against the types and the shape */

    /* Memory is on a device, and the work is only enqueued on this stream, not waited for. */
    bool on_device;
    uintptr_t stream;
};

struct foreign {
    void *state;

    /* On failure returns false and writes the reason to `why`. */
    bool (*reduce)(void *state, const struct foreign_call *, char *why, size_t length);
};

#ifdef __cplusplus
}
#endif
