/* A schedule as plain tuples, for gred.explain and for tests. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/schedule.h"

/* (form, accumulator, bytes a state, pieces, elements a piece, steps, parts, total bytes, where the
 * result is left).
 * A step is (when, kind, grid, block, shared bytes, blocks a cluster, cooperative, n, reads,
 * writes); when is
 * 'piece', 'last piece', 'results' or 'end'; a part is (name, offset, bytes). A new reference. */
PyObject *schedule_tuple(const struct schedule *);
