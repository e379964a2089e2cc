/* The reductions, as functions of Python: arguments in, a plan that is run, and the answer back. */
#include "arrays/array.h"
#include "python/arguments.h"
#include "python/call.h"
#include "python/execute.h"
#include "python/functions.h"

/* describe is called by gred/summary.py, whose frame is not the user's. */
static int frames_of(enum reduction reduction)
{
    return reduction == REDUCTION_describe;
}

static PyObject *deliver(struct call *call)
{
    const struct plan *const plan = &call->plan;
    const struct run *const run = &call->run;
    struct output *output = &call->output;
    const bool known = !plan->out || plan->n == 0;
    if (known && !answer_is_sound(plan, run))
        return NULL;
    if (plan->axes)
        return array_results_deliver(&call->results, plan);
    if (plan->out)
        return Py_NewRef(output->object);
    if (!output->object)
        return answer_to_python(plan, run);
    const enum element result = plan->finish.result;
    output_store(output, scalar_narrow(run->answer.values[0], result), result);
    return Py_NewRef(output->object);
}

/* All that can be asked. */
static PyObject *reduce_as_asked(struct module_state *state, enum reduction reduction,
                                 PyObject *const *slots)
{
    struct call *call = call_open(state, reduction, frames_of(reduction), slots);
    if (!call)
        return NULL;
    const bool ran = array_results_make(&call->results, &call->plan) &&
                     array_results_run(&call->results, &call->plan, &call->run);
    PyObject *result = ran ? deliver(call) : NULL;
    call_close(call);
    return result;
}

/* Of nothing but an array, by the cached plan. NULL without an exception set: the call has to go
 * the long way. */
static PyObject *reduce_flat(struct module_state *state, enum reduction reduction, PyObject *array)
{
    struct layout layout;
    struct plan plan;
    struct run run;
    if (!array_lies_flat(array, &layout) ||
        !cached_plan(state->cached_plans, reduction, &layout, &plan))
        return NULL;
    run_begin(&run, frames_of(reduction));
    Py_INCREF(array); /* so that nobody resizes it meanwhile */
    const bool sound = execute_plan(state, &plan, &run) && answer_is_sound(&plan, &run);
    Py_DECREF(array);
    return sound ? answer_to_python(&plan, &run) : NULL;
}

static PyObject *reduce(PyObject *module, enum reduction reduction, PyObject *const *arguments,
                        Py_ssize_t count, PyObject *names)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    PyObject *result = count == 1 && !names ? reduce_flat(state, reduction, arguments[0]) : NULL;
    if (result || PyErr_Occurred())
        return result;
    if (count && several_are_given(arguments[0]))
        return several_reduce(reduction_row(reduction)->name, arguments, count, names);
    if (!arguments_parse(signature_at(reduction), arguments, count, names, slots))
        return NULL;
    result = reduce_as_asked(state, reduction, slots);
    if (!result && count && several_were_given(arguments[0]))
        return several_reduce(reduction_row(reduction)->name, arguments, count, names);
    return result;
}

#define REDUCTION(name, ...)                                                                       \
    PyObject *reduce_##name(PyObject *module, PyObject *const *arguments, Py_ssize_t count,        \
                            PyObject *names)                                                       \
    {                                                                                              \
        return reduce(module, REDUCTION_##name, arguments, count, names);                          \
    }
#define VARIANT(name, ...)
#include "common/reductions.def"
