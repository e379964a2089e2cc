/* What has to be brought to a device before its kernels can read an array, or the one that it is
 * multiplied with: pieces of a host array, and a host's mask. */
#pragma once

#include "run/executor.h"

struct upload {
    const struct executor *on;
    const struct schedule *schedule;
    const struct layout *from; /* the array: the plan's, or its factors */
    enum part part;            /* where its pieces are */
    uint64_t piece;            /* which one is there, or on its way */
    struct layout layout;      /* as the device sees it, where it is not flat */
};

/* Of the plan's array or, for the part that is theirs, of its factors. */
void upload_begin(struct upload *, const struct executor *, const struct schedule *,
                  enum part part);

/* Before the first piece. */
bool upload_prepare(struct upload *);

/* The next piece, which is from `start` on; *n of its elements are to be reduced, those that a mask
 * has left. */
bool upload_piece(struct upload *, uint64_t start, uint64_t length, uint64_t *n);

/* A flat array from `start` on, as the first kernel takes it. */
struct kernel_array upload_array(const struct upload *, uint64_t start);
