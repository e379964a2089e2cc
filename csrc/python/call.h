/* A call's arguments and all that they keep alive, the plan that they lead to, and what becomes of
 * its run: for all functions that take an array as the reductions do. Functions of bool return
 * false with an exception set. */
#pragma once

#include "arrays/objects.h"
#include "arrays/operands.h"
#include "common/segments.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "python/arguments.h"
#include "python/module.h"

/* Of segments alone. */
struct call_segments {
    struct view offsets; /* or an array of a list, as it is viewed */
    struct segments segments;
    struct layout ordered; /* the values', in their own order */
};

/* On the heap: an argument's code may call again, and threads' stacks may be small. */
struct call {
    struct module_state *state;
    PyObject *like;        /* the array, borrowed */
    struct listed *listed; /* of a list alone */
    PyObject *present;     /* a mask that hides nulls; NULL: there are none */

    /* Of results: how many have memory, where there are several or keepdims= asks for them. */
    unsigned dimensions, count;
    struct view_request asked; /* of arrays; from here on call_begin sets but little */
    struct request request;
    struct view view, mask;
    struct output output;
    struct means means;
    struct axes axes;
    struct plan plan;
    struct run run;

    struct call_segments of_segments;
    uint64_t shape[DIMENSIONS_MAX]; /* of results, or of new ones as they lie */

    /* Of the array's dimensions in memory, and which of its own each of the result's is there. */
    unsigned order[DIMENSIONS_MAX], permuted[DIMENSIONS_MAX];
    struct result_memory made[ANSWER_VALUES];
};

/* A call, which is closed at the end of its variable's scope. */
#define OPENED RELEASED_BY(call_close) struct call

void call_close(struct call **); /* NULL: there is none */

/* A call of the arguments, which are read, but for those that say where results go. `frames` of
 * gred's own in Python lie between the function and its user. NULL with an exception set. */
struct call *call_begin(struct module_state *, enum reduction, int frames, PyObject *const *slots);

/* Reads stream= and views out= and the array, which may have nulls where there can be a mask. */
bool call_view(struct call *, const char *name, bool masked, PyObject *const *slots);

/* Begins a call, views what it is of, and makes the plan. NULL with an exception set. */
struct call *call_open(struct module_state *, enum reduction, int frames, PyObject *const *slots);

/* The same of a function that takes op=, and is called by one of gred's own in Python. */
struct call *call_open_op(struct module_state *, PyObject *const *slots);

/* Runs a call whose plan is made. NULL with an exception set. */
PyObject *call_answer(struct call *);

/* ddof= and correction= are two names for one thing. */
bool ddof_parse(PyObject *const *slots, double *ddof);

/* Views the arrays of a tuple and makes the plan of a call that has begun: with a result for each,
 * or one of all of them. Without an exception and false where they lie in several places. */
bool call_open_list(struct call *, PyObject *arrays, bool each, PyObject *const *slots);
void listed_free(struct listed *); /* NULL: there is none */

/* op= of a function of that name, which has no method that goes through one array. False with an
 * exception set. */
bool op_parse(const char *function, PyObject *const *slots, enum reduction *);

/* The arrays as a tuple, where `a` is a list, a tuple or an iterator of such and no array itself;
 * of the host's, lists that NumPy makes an array of are one where there are axes. NULL: it is none,
 * or with an exception set. */
PyObject *list_of_arrays(PyObject *const *slots);

/* Whether it offers memory of a device. */
bool lies_on_device(PyObject *object);

/* Whether what has just failed to be one array, with an exception set, is a list or a tuple, any
 * element of which is one on a device. Then there is no exception any more. */
bool several_were_given(PyObject *object);

/* ---- values: a NumPy scalar, or a tuple of a record's ---- */

/* Gives NumPy's warnings, and ValueErrors where a mask left nothing. */
bool answer_is_sound(enum reduction asked, const struct plan *, const struct run *);

PyObject *answer_to_python(const struct plan *, const struct run *);

/* ---- arrays, which are made before a plan runs, where it is to leave them ---- */

/* axis= and keepdims=: the shape that they leave; nothing but one value is a whole array's. Results
 * lie in the order of out's dimensions or, new ones of NumPy and CuPy, of the array's. */
bool results_choose(struct call *, PyObject *const *slots);

/* The same of so many results in one dimension, or of one of all. */
bool results_count(struct call *, uint64_t count, bool each);

/* What plan.results are and where they go, but not yet where new ones lie. */
void results_describe(struct call *);

/* Fills plan.results, unless the plan has but one, without a shape. */
bool results_make(struct call *);

/* The array, a tuple of them, or what the caller gave for them. */
PyObject *results_deliver(struct call *);
