/* What code that is not Python's may call of gred._core, in any thread and without the GIL: one
 * function, in a capsule, with arguments that `settle` has checked before. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define FOREIGN_NAME "gred._core._foreign"

/* An array in C order, and its results one after the other, in memory that is ready for them. */
struct foreign_call {
    const char *reduction;                 /* as `settle` names it */
    const char *input, *elements, *result; /* types: of the array, converted to, of results */
    bool exact, batch_invariant;
    double ddof;
    const void *data, *factors; /* what vectors' elements are multiplied with, of one type with
                                   them, before they are added; NULL: nothing */
    unsigned dimensions;
    const int64_t *shape;
    uint64_t axes; /* that are reduced, a bit each */
    void *results;
    size_t data_bytes, results_bytes; /* which have to be those of the types and the shape */

    /* Both lie on a device, and the work is only put on this stream: nobody waits for it. */
    bool on_device;
    uintptr_t stream;
};

struct foreign {
    void *state;

    /* False: `why` says why not. */
    bool (*reduce)(void *state, const struct foreign_call *, char *why, size_t length);
};

#ifdef __cplusplus
}
#endif
