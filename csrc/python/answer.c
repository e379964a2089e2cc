#include "python/answer.h"

#include "arrays/array.h"

static bool warn(const struct run *run, const char *text)
{
    return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + run->frames) == 0;
}

static bool warn_of_findings(const struct plan *plan, const struct run *run)
{
    if (run->findings.not_enough)
        return warn(run, plan->fold == FOLD_variance ? "Degrees of freedom <= 0 for slice"
                                                     : "Mean of empty slice");
    return !run->findings.all_nan || warn(run, "All-NaN slice encountered");
}

bool answer_is_sound(const struct plan *plan, const struct run *run)
{
    if (run->findings.of_nothing) {
        PyErr_Format(PyExc_ValueError, "%s has no value: the mask hides all elements",
                     reduction_row(plan->reduction)->name);
        return false;
    }
    return warn_of_findings(plan, run);
}

static PyObject *value(const struct run *run, int k, enum element type)
{
    return array_scalar(scalar_narrow(run->answer.values[k], type), type);
}

/* A new tuple of `count` new references; NULL with an exception set if one of them is. */
static PyObject *tuple_of(PyObject *const *values, Py_ssize_t count)
{
    PyObject *tuple = PyTuple_New(count);
    bool complete = tuple;
    for (Py_ssize_t k = 0; k < count; k++) {
        complete = complete && values[k];
        if (tuple)
            PyTuple_SET_ITEM(tuple, k, values[k]);
        else
            Py_XDECREF(values[k]);
    }
    if (!complete)
        Py_CLEAR(tuple);
    return tuple;
}

/* In the order in which kernels/reductions/summary.cuh answers; each of the type that the reduction
 * of its name has. */
static PyObject *described(const struct plan *plan, const struct run *run)
{
    const enum element type = plan->finish.type;
    const bool integer = element_is_integer(type), empty = run->answer.values[0].integer == 0;
    const enum element mean = integer ? ELEMENT_FLOAT64 : type;
    const enum element sum = !integer                ? type
                             : type <= ELEMENT_INT64 ? ELEMENT_INT64
                                                     : ELEMENT_UINT64;
    const enum element ends = integer && empty ? ELEMENT_FLOAT64 : type;
    PyObject *const values[] = {
        value(run, 0, ELEMENT_INT64), value(run, 1, ELEMENT_INT64),
        value(run, 2, ends),          value(run, 3, ends),
        value(run, 4, mean),          value(run, 5, element_real_part(mean)),
        value(run, 6, sum),
    };
    return tuple_of(values, sizeof values / sizeof *values);
}

PyObject *answer_to_python(const struct plan *plan, const struct run *run)
{
    const enum element result = plan->finish.result;
    if (plan->reduction == REDUCTION_describe)
        return described(plan, run);
    if (plan->reduction == REDUCTION_minmax) {
        PyObject *const values[] = {value(run, 0, result), value(run, 1, result)};
        return tuple_of(values, 2);
    }
    return value(run, 0, result);
}
