/* Functions of gred._core for gred._testing, in a capsule, since its symbols are not exported: they
 * force how work is shared among threads, or choose it for nonexistent arrays and devices. */
#pragma once

#include <Python.h>

#include "schedule/launch_config.h"
#include "schedule/schedule.h"
#include "schedule/segments_schedule.h"

#define HOOKS_NAME "gred._core._hooks"

/* Returns (form, accumulator, bytes per state, pieces, elements per piece, steps, parts, total
 * bytes, part with the result). A step is (when, kind, grid, block, shared bytes, blocks per
 * cluster, cooperative, n, reads, writes); when is 'begin', 'piece', 'last piece', 'results' or
 * 'end'. A new reference. */
PyObject *explain_schedule(const struct schedule *);

#define HOOKS(HOOK)                                                                                \
    HOOK(kernels_simulated)                                                                        \
    HOOK(measured)                                                                                 \
    HOOK(tuned)                                                                                    \
    HOOK(axes_make)                                                                                \
    HOOK(launch_config_choose)                                                                     \
    HOOK(segments_shape_make)                                                                      \
    HOOK(fastest_choose)                                                                           \
    HOOK(schedule_make)                                                                            \
    HOOK(explain_schedule)                                                                         \
    HOOK(method_find)                                                                              \
    HOOK(reduction_find)                                                                           \
    HOOK(reduction_row)                                                                            \
    HOOK(fold_is_on_ladder)                                                                        \
    HOOK(element_find)                                                                             \
    HOOK(element_size)

struct hooks {
#define HOOK(name) __typeof__(name) *name;
    HOOKS(HOOK)
#undef HOOK
};
