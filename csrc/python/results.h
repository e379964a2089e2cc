/* What becomes of a run: a NumPy scalar, or a tuple of a record's values, with what NumPy would
 * warn of; or arrays, which are made before a plan runs, where it is to leave them, and delivered.
 */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/operands.h"
#include "arrays/result.h"
#include "plan/plan.h"
#include "python/state.h"
#include "run/backend.h"

/* ---- values ---- */

/* Gives NumPy's warnings, and ValueErrors where a mask left nothing. False with an exception set.
 */
bool answer_is_sound(const struct plan *, const struct run *);

/* How many values an answer has, and of which types each is; `maybe_nothing`: integers may have no
 * extremes. */
unsigned answer_types(const struct plan *, bool maybe_nothing, enum element *types);

PyObject *answer_to_python(const struct plan *, const struct run *);

/* ---- arrays ---- */

/* What they are made for is the caller's. */
struct array_results {
    struct module_state *state;
    PyObject *like; /* the array that they are of, and what is known of it */
    const struct view *view;
    const struct view *beside; /* what else is read; or NULL */
    struct output *output;
    unsigned dimensions;
    uint64_t shape[DIMENSIONS_MAX];
    PyObject
        *arrays[ANSWER_VALUES]; /* that a plan's results are written to, of NumPy's or gred's */
    bool own;                   /* those are in device memory of gred's own */
    struct result_memory
        made[ANSWER_VALUES]; /* or memory that the caller's library has given for them */
    unsigned count;          /* of those */
};

/* Everything but the shape. */
void array_results_begin(struct array_results *, struct module_state *, PyObject *like,
                         const struct view *, struct output *);
void array_results_end(struct array_results *);

/* axis= and keepdims=: the shape that they leave, to which out has to be like; nothing but one
 * value is a whole array's. False with an exception set. */
bool array_results_choose(struct array_results *, struct request *, PyObject *axis,
                          PyObject *keepdims, struct axes *);

/* What plan->results, if there are several, are and where they go, but not yet where new ones lie.
 */
void array_results_describe(const struct array_results *, struct plan *);

/* Fills plan->results, unless the plan has but one, without a shape. False with an exception set.
 */
bool array_results_make(struct array_results *, struct plan *);

/* As execute_plan; but no results need no device. */
bool array_results_run(struct array_results *, const struct plan *, struct run *);

/* The array, a tuple of them, or what the caller gave for them. */
PyObject *array_results_deliver(struct array_results *, const struct plan *);
