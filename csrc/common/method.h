/* The methods, from the table in ladder.def. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum {
    METHOD_IN_PLACE = 1,   /* folds in the array, and so needs a working copy */
    METHOD_REPEATS = 2,    /* blocks leave partial results for another pass */
    METHOD_GRID_GROWS = 4, /* with the array; else the device determines it */
    METHOD_LAST_BLOCK = 8, /* of a launch; it folds the partial results of all */
    HOPPER = 90            /* compute capability 9.0 */
};

/* How a method's passes are launched: its properties, and the compute capability it needs. */
/* clang-format off */
#define STYLES(STYLE)                                                                              \
    STYLE(recursion, 0, 0)           /* on the host, no launches */                                \
    STYLE(levels, METHOD_IN_PLACE | METHOD_GRID_GROWS, 0) /* a launch folds the upper half of the  \
                                        array onto the lower */                                    \
    STYLE(in_place, METHOD_IN_PLACE | METHOD_GRID_GROWS | METHOD_REPEATS, 0) /* a block folds its  \
                                        data blocks to one partial result */                       \
    STYLE(tiles, METHOD_GRID_GROWS | METHOD_REPEATS, 0)                                            \
    STYLE(grid_stride, METHOD_REPEATS, 0)                                                          \
    STYLE(one_atomic, 0, 0)          /* the result is initialized with the identity */             \
    STYLE(last_block, METHOD_LAST_BLOCK, 0) /* a ticket counter is 0 before and after a launch */  \
    STYLE(cooperative, 0, 0)         /* one cooperative launch, grid size from occupancy */        \
    STYLE(bulk, METHOD_LAST_BLOCK, HOPPER) /* via a ring in shared memory */                       \
    STYLE(clusters, METHOD_LAST_BLOCK, HOPPER)                                                     \
    STYLE(library, 0, 0)             /* a library's own function */
/* clang-format on */

#define STYLE(name, holds, capability) STYLE_##name,
enum style { STYLES(STYLE) };
#undef STYLE

#define STYLE(name, holds, capability) HOLDS_##name = (holds), CAPABILITY_##name = (capability),
enum { STYLES(STYLE) };
#undef STYLE

enum { METHOD_ON_HOST = 1, METHOD_ON_SIMULATED = 2, METHOD_ON_CUDA = 4 };

enum { BLOCK_SIZE_MIN = 32, BLOCK_SIZE_MAX = 1024, BLOCK_SIZES = 6 };

struct method {
    int number; /* -1: not a rung */
    const char *name;
    const char *alias; /* "" if there is none */
    enum style style;
    unsigned holds;  /* properties of its style */
    int capability;  /* compute capability that it needs: 90 for 9.0; 0: any */
    unsigned places; /* METHOD_ON_... */
    unsigned data_blocks;
    unsigned threads;    /* per multiprocessor, for the grid-stride style */
    unsigned block_size; /* default; 0: not applicable */
    const char *source, *title, *idea;
};

/* One index per row of the table. */
enum method_index {
#define RUNG(number, name, ...)   METHOD_##name,
#define HOST_METHOD(name, ...)    METHOD_##name,
#define LIBRARY_METHOD(name, ...) METHOD_##name,
#include "common/ladder.def"
    METHODS
};

const struct method *method_at(enum method_index);
enum method_index method_index_of(const struct method *);

/* By name or alias; NULL if there is no such method. */
const struct method *method_find(const char *name);

/* Whether its style has all of these properties. */
static inline bool method_is(const struct method *method, unsigned holds)
{
    return (method->holds & holds) == holds;
}
