/* A call's arguments and all that they keep alive, and the plan that they lead to: for all
 * functions that take an array as the reductions do. */
#pragma once

#include "arrays/operands.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "python/arguments.h"
#include "python/results.h"

/* On the heap: an argument's own code may call again, to any depth that Python allows, and threads'
 * stacks may be small. */
struct call {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
    struct axes axes;
    struct array_results results; /* where there are several or keepdims= asks for them */
    struct means means;
    struct plan plan;
    struct run run; /* begun, for whoever runs the plan */
};

/* Reads the arguments, views what they are of, and makes the plan, but runs nothing. `frames` of
 * gred's own in Python lie between the function and its user. The call is to be closed; NULL with
 * an exception set. */
struct call *call_open(struct module_state *, enum reduction, int frames, PyObject *const *slots);
void call_close(struct call *);

/* ---- lists of arrays that lie on devices: each is reduced where it is, by gred/several.py ---- */

/* Whether it is a list or a tuple, the first element of which is an array on a device. */
bool several_are_given(PyObject *object);

/* Whether what has just failed to be one array, with an exception set, is a list or a tuple, any
 * element of which is one on a device. Then there is no exception any more. */
bool several_were_given(PyObject *object);

/* Calls the function of that name in gred/several.py. */
PyObject *several_reduce(const char *name, PyObject *const *arguments, Py_ssize_t count,
                         PyObject *names);
