/* Folds chunks of a layout's elements to states, in place or via a buffer. */
#pragma once

#include "cpu/host.h"

/* How elements get to a loop: in place, all together or by row; gathered; or also converted. */
enum load_mode { IN_PLACE, IN_ROWS, GATHERED, CONVERTED };

static inline bool mode_gathers(enum load_mode mode)
{
    return mode == GATHERED || mode == CONVERTED;
}

struct chunks {
    const struct plan *plan;
    struct layout layout;
    struct layout mask; /* as elements, for positions */
    enum instructions instructions;
    enum load_mode mode;
    bool indexed;          /* folds positions */
    bool masked_positions; /* with a mask: masked elements still count in positions */
    fold_values *fold_elements;
    merge_states *merge;
    is_settled *settled; /* NULL: all chunks are needed */
    size_t size, width;  /* bytes of a loop's element and of a state */
    size_t valid;        /* offset of the mask's bytes in the buffer */
    size_t buffer;       /* bytes of a thread's buffer */
};

/* The loop for the plan's elements without conversion; NULL if there is none. */
fold_values *chunk_loop(const struct job *);

enum load_mode chunk_load_mode(const struct job *);
const char *load_mode_name(enum load_mode);

void chunks_describe(struct chunks *, const struct job *);

/* Moves to another layout of the same shape, such as another result's. */
void chunks_move(struct chunks *, const void *data, const unsigned char *mask);

/* Folds up to CHUNK_MAX elements, without masked ones, and returns how many there were. With
 * positions, *state must contain the state of the elements before. */
uint64_t chunk_fold(const struct chunks *, char *buffer, uint64_t start, uint64_t n, void *state);
