/* A call of any function that takes an array as the reductions do: its arguments and what they keep
 * alive, its plan and its results. Functions returning bool return false with an exception set. */
#pragma once

#include "arrays/objects.h"
#include "arrays/operands.h"
#include "common/segments.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "python/arguments.h"
#include "python/module.h"

/* For segments and keys; lists and products use `offsets`, too. */
struct call_segments {
    struct view offsets; /* or keys, the list's array being viewed, or dot's b */
    struct segments segments;
    struct layout ordered; /* the values' layout, in their own order */
};

/* On the heap: an argument's code may call gred again, and threads' stacks may be small. */
struct call {
    struct module_state *state;
    PyObject *like;          /* the array, borrowed */
    struct list_state *list; /* for lists; else NULL */
    PyObject *valid_mask;    /* mask of the elements that are not null; NULL: no nulls */

    /* The results' dimensions, and how many of their values have memory. */
    unsigned dimensions, count;
    struct view_request view_request; /* of arrays; call_begin sets few members from here on */
    struct request request;
    struct view view, mask;
    struct output output;
    struct means means;
    struct axes axes;
    struct plan plan;
    struct run run;

    struct call_segments segmented;
    uint64_t shape[DIMENSIONS_MAX]; /* of results; of new ones, in memory order */

    /* The array's dimensions in memory order, and each result dimension's index in that order. */
    unsigned order[DIMENSIONS_MAX], inverse[DIMENSIONS_MAX];
    struct result_memory memory[ANSWER_VALUES];
};

/* A call that is closed at the end of its variable's scope. */
#define SCOPED_CALL CLEANUP(call_close) struct call

void call_close(struct call **); /* no-op for NULL */

/* Begins a call and reads its arguments, except those that place results. `frames`: gred's own
 * Python frames between the function and its user. NULL with an exception set. */
struct call *call_begin(struct module_state *, enum reduction, int frames, PyObject *const *slots);

/* Reads stream= and views out= and the array, whose nulls are refused unless `masked`. */
bool call_view(struct call *, const char *name, bool masked, PyObject *const *slots);

/* Begins a call, views its arrays and makes the plan. NULL with an exception set. */
struct call *call_open(struct module_state *, enum reduction, int frames, PyObject *const *slots);

/* The same for a function with op= that gred's Python code calls. */
struct call *call_open_op(struct module_state *, PyObject *const *slots);

/* Runs the call's plan and returns its result. NULL with an exception set. */
PyObject *call_run(struct call *);

/* Reads ddof= or correction=, which are synonyms. */
bool ddof_parse(PyObject *const *slots, double *ddof);

/* Views a tuple of arrays and makes the plan of a call that has begun, with one result for `each`,
 * or one for all. False without an exception if the arrays are on several devices. */
bool call_open_list(struct call *, PyObject *arrays, bool each, PyObject *const *slots);
void list_state_free(struct list_state *); /* no-op for NULL */

/* Reads op= of a function with methods 'auto' and 'exact' only. False with an exception set. */
bool op_parse(const char *function, PyObject *const *slots, enum reduction *);

/* The arrays as a tuple, if `a` is a list, a tuple or an iterator of arrays and not an array
 * itself. Lists of host arrays are left to NumPy, as one array, if there are axes. NULL if it is
 * not a list of arrays, or with an exception set. */
PyObject *list_of_arrays(PyObject *const *slots);

/* Whether it offers device memory. */
bool offers_device_memory(PyObject *object);

/* Whether an object that could not be viewed as one array, with an exception set, is a list or a
 * tuple with an array on a device. If so, clears the exception. */
bool is_list_with_device_arrays(PyObject *object);

/* ---- values: a NumPy scalar, or a tuple for a record ---- */

/* Issues NumPy's warnings, and raises ValueError if no element was included. */
bool answer_check(enum reduction, const struct plan *, const struct run *);

PyObject *answer_to_python(const struct plan *, const struct run *);

/* ---- arrays, which are allocated before a plan runs, to receive its results ---- */

/* Reads axis= and keepdims= and chooses the results' shape; 0-d results are of the whole array. The
 * memory order is that of out or, for new NumPy and CuPy arrays, of the array. */
bool results_choose_shape(struct call *, PyObject *const *slots);

/* The same for `count` results in one dimension (`each`), or for a single result. */
bool results_set_count(struct call *, uint64_t count, bool each);

/* Sets plan.results, except for the memory of new results. */
void results_describe(struct call *);

/* Sets plan.results and allocates memory, unless there is a single 0-d result. */
bool results_allocate(struct call *);

/* Returns the array, a tuple of arrays, or the caller's out=. */
PyObject *results_to_python(struct call *);
