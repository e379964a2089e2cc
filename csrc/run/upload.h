/* What has to be brought to a device before its kernels can read an array: pieces of a host array,
 * a host's mask, and the layout as the device is to see it. */
#pragma once

#include "run/passes.h"

struct upload {
    struct machine *machine;
    const struct schedule *schedule;
    char *memory;       /* the arena */
    uint64_t described; /* the elements of the layout that is there; 0: there is none yet */
};

/* Before the first piece. */
bool upload_prepare(struct upload *);

/* The piece from `start` on; *n of its elements are to be reduced, those that a mask has left. */
bool upload_piece(struct upload *, uint64_t start, uint64_t length, uint64_t *n);

/* The array from `start` on, as the first kernel takes it. */
struct kernel_array upload_array(const struct upload *, uint64_t start);
