/* Folds chunks of a layout's elements to states, in place or via a buffer. */
#pragma once

#include "cpu/host.h"

/* How elements get to a loop: in place, all together or by row; gathered; or also converted. */
enum way { IN_PLACE, IN_ROWS, GATHERED, CONVERTED };

static inline bool way_gathers(enum way way)
{
    return way == GATHERED || way == CONVERTED;
}

struct chunks {
    const struct plan *plan;
    struct layout layout;
    struct layout mask; /* as elements, for positions */
    enum instructions instructions;
    enum way way;
    bool indexed;     /* folds positions */
    bool by_position; /* with a mask: masked elements still count in positions */
    fold_values *fold_elements;
    merge_states *merge;
    is_settled *settled; /* NULL: all chunks are needed */
    size_t size, width;  /* bytes of a loop's element and of a state */
    size_t valid;        /* offset of the mask's bytes in the buffer */
    size_t buffer;       /* bytes of a thread's buffer */
};

/* The loop for the plan's elements without conversion; NULL if there is none. */
fold_values *chunk_loop(const struct job *);

enum way chunk_way(const struct job *);
const char *chunk_way_name(enum way);

void chunks_describe(struct chunks *, const struct job *);

/* Moves to another layout of the same shape, such as another result's. */
void chunks_move(struct chunks *, const void *data, const unsigned char *mask);

/* Folds up to LOOP_MOST elements, without masked ones, and returns how many there were. With
 * positions, *state must contain the state of the elements before. */
uint64_t chunk_fold(const struct chunks *, char *buffer, uint64_t start, uint64_t n, void *state);
