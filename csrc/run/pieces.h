/* A whole array's run, piece by piece; in upload.c what has to be brought before kernels can read
 * the array, or the one that it is multiplied with, and in execute_pieces.c all else. */
#pragma once

#include "run/execute.h"

/* What a step reads, as a kernel's argument. */
union argument {
    struct kernel_array flat;
    struct kernel_rows rows;
};

/* The array, or the one that it is multiplied with. */
struct source {
    const struct layout *from; /* the plan's, or its factors; NULL: there are none */
    enum part part;            /* where its pieces are, if it is brought */
    struct layout layout;      /* as the device sees it, where it is not flat */
};

/* On the heap: the caller's stack may be small. */
struct execution {
    struct executor on;
    const struct schedule *schedule;
    struct source array, factors;
    uint64_t piece;          /* which one is there, or on its way */
    uint64_t fed;            /* elements that took part, as far as the host knows */
    unsigned done;           /* passes over the last piece */
    uint64_t grid;           /* of the first of them */
    bool posted;             /* the state that is left comes to the mailbox */
    bool stored;             /* the result is where it is to stay */
    union argument argument; /* of the launch that is being made */
};

/* Before the first piece: an array of the device's may have a mask of the host's. */
bool source_prepare(const struct execution *, struct source *);

/* Brings the piece from `start` on, if it is the host's; *n of its elements are to be reduced,
 * those that a mask has left. */
bool feed_piece(struct execution *, uint64_t start, uint64_t length, uint64_t *n);

/* A flat array from `start` on, as the first kernel takes it. */
const void *source_at(const struct execution *, const struct source *, uint64_t start);
