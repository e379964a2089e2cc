/* What gred._testing may call of gred._core, which is hidden from other libraries: a table of
 * functions in a capsule. They force how work is shared among threads, or choose that for arrays
 * and devices that are not there. */
#pragma once

#include <Python.h>

#include "schedule/launch_config.h"
#include "schedule/schedule.h"
#include "schedule/segments_schedule.h"

#define HOOKS_NAME "gred._core._hooks"

/* (form, accumulator, bytes a state, pieces, elements a piece, steps, parts, total bytes, where the
 * result is left).
 * A step is (when, kind, grid, block, shared bytes, blocks a cluster, cooperative, n, reads,
 * writes); when is 'begin', 'piece', 'last piece', 'results' or 'end'. A new reference. */
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
    HOOK(element_named)                                                                            \
    HOOK(element_size)

struct hooks {
#define HOOK(name) __typeof__(name) *name;
    HOOKS(HOOK)
#undef HOOK
};
