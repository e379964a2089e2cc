/* The methods, from the one table in ladder.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* How a method's passes are launched. */
enum style {
    STYLE_recursion,   /* on the host, no launches */
    STYLE_levels,      /* in place; a launch folds the upper half of the array onto the lower */
    STYLE_in_place,    /* in place; a block folds its data blocks to one partial; repeated on the
                             partials */
    STYLE_tiles,       /* reads; otherwise as in_place */
    STYLE_grid_stride, /* reads; as many blocks as the device holds; repeated on the partials */
    STYLE_one_atomic,  /* one launch onto a result that holds the identity beforehand */
    STYLE_last_block,  /* one launch with a ticket counter that starts, and ends, at 0 */
    STYLE_cooperative, /* one cooperative launch, the grid sized by occupancy */
    STYLE_bulk,        /* as last_block, through a ring in shared memory */
    STYLE_clusters,    /* as last_block, in clusters of blocks */
    STYLE_library,     /* a library's own function */
};

enum { METHOD_ON_HOST = 1, METHOD_ON_SIMULATED = 2, METHOD_ON_CUDA = 4 };

enum { BLOCK_SIZE_MIN = 32, BLOCK_SIZE_MAX = 1024, BLOCK_SIZES = 6 };

struct method {
    int number; /* -1: not a rung */
    const char *name;
    const char *alias; /* "" where there is none */
    enum style style;
    unsigned places; /* METHOD_ON_... */
    unsigned data_blocks;
    unsigned threads;    /* a multiprocessor, for the grid-stride style */
    unsigned block_size; /* the default; 0: a block size has no meaning */
    const char *source, *title, *idea;
};

/* One index a row of the table. */
enum method_index {
#define RUNG(number, name, ...)   METHOD_##name,
#define HOST_METHOD(name, ...)    METHOD_##name,
#define LIBRARY_METHOD(name, ...) METHOD_##name,
#include "common/ladder.def"
    METHODS
};

const struct method *method_at(enum method_index);
enum method_index method_index_of(const struct method *);

/* By name or alias; NULL if there is none. */
const struct method *method_find(const char *name);

/* The working copy that an in-place method folds in is gred's own. */
bool method_works_in_place(const struct method *);

/* Whether the last block of a launch folds what all others have left. */
bool method_has_last_block(const struct method *);

/* What a GPU needs to run it: 90 for compute capability 9.0; 0: nothing in particular. */
int method_capability(const struct method *);
