/* gred.explain: how a call would go, without it going, as plain tuples; and for tests, schedules of
 * plans that nobody has an array for. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "schedule/schedule.h"

/* (form, accumulator, bytes a state, pieces, elements a piece, steps, parts, total bytes, where the
 * result is left).
 * A step is (when, kind, grid, block, shared bytes, blocks a cluster, cooperative, n, reads,
 * writes); when is 'begin', 'piece', 'last piece', 'results' or 'end'; a part is (name, offset,
 * bytes). A new reference. */
PyObject *explain_schedule(const struct schedule *);
