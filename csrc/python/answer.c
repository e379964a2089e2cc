#include "python/answer.h"

#include "arrays/numpys.h"
#include "common/findings.h"

static bool warn(const struct run *run, const char *text)
{
    return PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + run->frames) == 0;
}

static bool warn_of_findings(const struct plan *plan, const struct run *run)
{
    if (run->findings & FOUND_NOT_ENOUGH)
        return warn(run, plan->fold == FOLD_variance ? "Degrees of freedom <= 0 for slice"
                                                     : "Mean of empty slice");
    return !(run->findings & FOUND_ALL_NAN) || warn(run, "All-NaN slice encountered");
}

bool answer_is_sound(const struct plan *plan, const struct run *run)
{
    if (run->findings & FOUND_NOTHING) {
        PyErr_Format(PyExc_ValueError, "%s has no value: the mask hides all elements",
                     reduction_row(plan->reduction)->called);
        return false;
    }
    return warn_of_findings(plan, run);
}

static PyObject *value(const struct run *run, int k, enum element type)
{
    return numpys_scalar(scalar_narrow(run->answer.values[k], type), type);
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
static unsigned described_types(enum element type, bool maybe_nothing, enum element *types)
{
    const bool integer = element_is_integer(type);
    const enum element mean = integer ? ELEMENT_FLOAT64 : type;
    types[0] = types[1] = ELEMENT_INT64;
    types[2] = types[3] = integer && maybe_nothing ? ELEMENT_FLOAT64 : type;
    types[4] = mean;
    types[5] = element_real_part(mean);
    types[6] = !integer ? type : type <= ELEMENT_INT64 ? ELEMENT_INT64 : ELEMENT_UINT64;
    return 7;
}

unsigned answer_types(const struct plan *plan, bool maybe_nothing, enum element *types)
{
    if (plan->reduction == REDUCTION_describe)
        return described_types(plan->finish.type, maybe_nothing, types);
    types[0] = types[1] = plan->finish.result;
    return plan->reduction == REDUCTION_minmax ? 2 : 1;
}

PyObject *answer_to_python(const struct plan *plan, const struct run *run)
{
    enum element types[ANSWER_VALUES];
    PyObject *values[ANSWER_VALUES];
    const bool nothing = run->answer.values[0].integer == 0;
    const unsigned count = answer_types(plan, nothing, types);
    for (unsigned k = 0; k < count; k++)
        values[k] = value(run, (int)k, types[k]);
    return count == 1 ? values[0] : tuple_of(values, count);
}
