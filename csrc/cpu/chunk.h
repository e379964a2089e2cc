/* How a chunk of a layout's elements becomes a state: where they lie, or in a buffer that they are
 * brought to. */
#pragma once

#include "cpu/host.h"

/* How elements come to a loop: as they lie, all or a row at a time, gathered, or converted,
 * too. */
enum way { IN_PLACE, IN_ROWS, GATHERED, CONVERTED };

static inline bool way_gathers(enum way way)
{
    return way == GATHERED || way == CONVERTED;
}

struct chunks {
    const struct plan *plan;
    struct layout layout;
    struct layout mask; /* its bytes as elements, where positions matter */
    enum instructions instructions;
    enum way way;
    bool indexed;     /* positions matter */
    bool by_position; /* and there is a mask: what it hides still counts in positions */
    fold_values *fold_elements;
    merge_states *merge;
    is_settled *settled; /* NULL: all chunks matter */
    size_t size, width;  /* of an element as a loop takes it and of a state, bytes */
    size_t valid;        /* where in a buffer the mask's bytes begin */
    size_t buffer;       /* bytes that one thread gathers into */
};

/* A loop that takes the plan's elements as they are; NULL: there is none. */
fold_values *chunk_loop(const struct job *);

enum way chunk_way(const struct job *);
const char *chunk_way_name(enum way);

void chunks_describe(struct chunks *, const struct job *);

/* To a layout of the same shape that begins at these, such as another result's. */
void chunks_move(struct chunks *, const void *data, const unsigned char *mask);

/* Folds up to LOOP_MOST elements, those that the mask lets through, and returns how many there
 * were. Where positions matter *state is what lies before. */
uint64_t chunk_fold(const struct chunks *, char *buffer, uint64_t start, uint64_t n, void *state);
