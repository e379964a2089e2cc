/* The reductions as Python functions: they parse arguments, run a plan and return the result. */
#include "arrays/numpys.h"

#include "arrays/protocols.h"
#include "common/reduction.h"
#include "plan/arguments.h"
#include "python/call.h"

/* __cuda_array_interface__ implies a GPU; DLPack tells the device. */
bool offers_device_memory(PyObject *object)
{
    if (PyFloat_CheckExact(object) || PyLong_CheckExact(object))
        return false;
    if (PyObject_HasAttr(object, names.__cuda_array_interface__))
        return true;
    long type = DLPACK_CPU, index;
    OWNED *place = PyObject_HasAttr(object, names.__dlpack_device__)
                       ? PyObject_CallMethodNoArgs(object, names.__dlpack_device__)
                       : NULL;
    if (place && !PyArg_ParseTuple(place, "ll", &type, &index))
        type = DLPACK_CPU;
    PyErr_Clear();
    return type != DLPACK_CPU;
}

/* Whether it is a list or a tuple with an array on a device. */
static bool has_device_arrays(PyObject *object)
{
    bool found = false;
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    for (Py_ssize_t k = 0; !found && k < Py_SIZE(object); k++) {
        OWNED *one = PySequence_GetItem(object, k);
        found = one && offers_device_memory(one);
    }
    PyErr_Clear();
    return found;
}

/* Elements after the first are checked only here, since that is slow for lists of numbers. */
bool is_list_with_device_arrays(PyObject *object)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    const struct saved_exception saved = exception_save();
    const bool is_list = has_device_arrays(object);
    exception_restore(saved, !is_list);
    return is_list;
}

/* describe is called by gred/statistics/summary.py, whose two frames are not the user's. */
static int wrapper_frames(enum reduction reduction)
{
    return 2 * (reduction == REDUCTION_describe);
}

PyObject *call_run(struct call *call)
{
    const struct plan *const plan = &call->plan;
    const struct run *const run = &call->run;
    if (!results_allocate(call) || !execute_plan(call->state, plan, &call->run))
        return NULL;
    if ((!plan_device_result(plan) || plan->n == 0) &&
        !answer_check(call->request.reduction, plan, run))
        return NULL;
    if (plan->axes || call->output.as_array)
        return results_to_python(call);
    if (!call->output.object)
        return answer_to_python(plan, run);
    if (!plan_device_result(plan)) {
        const enum element type = plan->finish.result;
        const union scalar result = scalar_narrow(run->answer.values[0], type);
        output_store(&call->output, &result, type);
    }
    return Py_NewRef(call->output.object);
}

/* Reduces an array with any arguments. */
static PyObject *reduce_array(struct module_state *state, enum reduction reduction,
                              PyObject *const *slots)
{
    SCOPED_CALL *call = call_open(state, reduction, wrapper_frames(reduction), slots);
    return call ? call_run(call) : NULL;
}

/* Reduces a flat host array by a cached plan. NULL without an exception if there is none for it. */
static PyObject *reduce_flat(struct module_state *state, enum reduction reduction, PyObject *array)
{
    struct layout layout;
    struct plan plan;
    struct run run;
    if (!array_is_flat(array, &layout) ||
        !cached_plan(state->cached_plans, reduction, &layout, &plan))
        return NULL;
    run_begin(&run, wrapper_frames(reduction));
    Py_INCREF(array); /* prevents resizing meanwhile */
    const bool valid = execute_plan(state, &plan, &run) && answer_check(reduction, &plan, &run);
    Py_DECREF(array);
    return valid ? answer_to_python(&plan, &run) : NULL;
}

/* ---- lists of arrays ---- */

/* Calls gred/several.py, which reduces arrays on several devices, and by any method. */
static PyObject *reduce_several(enum reduction reduction, PyObject *arrays, PyObject *const *slots)
{
    const char *name = reduction_row(reduction)->name;
    if (reduction != REDUCTION_sum && reduction != REDUCTION_mean)
        return type_error("%s does not take arrays on different devices, or a method for arrays on "
                          "devices; sum and mean do",
                          name);
    if (argument_given(slots[OUT]) || argument_given(slots[DEVICE]) ||
        argument_given(slots[STREAM]) || slots[INITIAL])
        return type_error("%s of arrays on different devices, or by a method, takes dtype, method "
                          "and block_size; no out, initial, device or stream",
                          name);
    return python_call("gred.several", name, "(OONO)", arrays, argument_or(slots[DTYPE], Py_None),
                       slots[METHOD] ? Py_NewRef(slots[METHOD]) : PyUnicode_FromString("auto"),
                       argument_or(slots[BLOCK_SIZE], Py_None));
}

/* Concatenates the arrays, which then can be reduced in any way. */
static PyObject *reduce_concatenated(struct module_state *state, enum reduction reduction,
                                     PyObject *arrays, PyObject **slots)
{
    OWNED *joined = PyArray_Concatenate(arrays, NPY_RAVEL_AXIS);
    slots[slots[A] ? A : X] = joined;
    return joined ? reduce_array(state, reduction, slots) : NULL;
}

/* Whether method= names a method for a single array, or block_size= is given. */
static bool has_named_method(PyObject *const *slots)
{
    struct method_argument method;
    const bool parsed = method_parse(slots[METHOD], &method);
    PyErr_Clear();
    return !parsed || method.named || method.batch_invariant || argument_given(slots[BLOCK_SIZE]);
}

/* Whether the first and the last are of one type and report different devices. Most lists on
 * several devices are recognized by this, without viewing memory. */
static bool ends_differ_in_device(PyObject *arrays)
{
    const Py_ssize_t last = PyTuple_GET_SIZE(arrays) - 1;
    if (last < 1 || Py_TYPE(PyTuple_GET_ITEM(arrays, 0)) != Py_TYPE(PyTuple_GET_ITEM(arrays, last)))
        return false;
    OWNED *one = PyObject_GetAttr(PyTuple_GET_ITEM(arrays, 0), names.device);
    OWNED *other = one ? PyObject_GetAttr(PyTuple_GET_ITEM(arrays, last), names.device) : NULL;
    const bool apart = other && PyObject_RichCompareBool(one, other, Py_NE) == 1;
    if (PyErr_Occurred() && PyErr_ExceptionMatches(PyExc_Exception))
        PyErr_Clear();
    return apart;
}

bool op_parse(const char *function, PyObject *const *slots, enum reduction *reduction)
{
    return reduction_parse(slots[OP], reduction) &&
           (!has_named_method(slots) ||
            value_error("%s takes method 'auto' or 'exact', not %.200R", function, slots[METHOD]));
}

/* Uses one plan if all arrays are on one device. */
static PyObject *reduce_list(struct module_state *state, enum reduction reduction, PyObject *arrays,
                             bool each, int frames, PyObject **slots)
{
    const Py_ssize_t length = PyTuple_GET_SIZE(arrays);
    if (!each && has_named_method(slots) && has_device_arrays(arrays))
        return reduce_several(reduction, arrays, slots);
    const bool has_device = argument_given(slots[DEVICE]) ||
                            (argument_given(slots[OUT]) && offers_device_memory(slots[OUT]));
    if (!each && length && (has_named_method(slots) || has_device) && !has_device_arrays(arrays))
        return reduce_concatenated(state, reduction, arrays, slots);
    SCOPED_CALL *call = call_begin(state, reduction, frames, slots);
    if (!call)
        return NULL;
    if (call_open_list(call, arrays, each, slots))
        return call_run(call);
    if (PyErr_Occurred())
        return NULL;
    return each ? value_error(
                      "the arrays are on different devices; pass those of each device to one call")
                : reduce_several(reduction, arrays, slots);
}

SLOTS_FUNCTION(each)
{
    enum reduction reduction;
    OWNED *arrays = op_parse("each", slots, &reduction) ? PySequence_Tuple(slots[A]) : NULL;
    return arrays ? reduce_list(state, reduction, arrays, true, 1, slots) : NULL;
}

/* ---- reductions implemented in Python ---- */

/* Calls a Python module with `extra` (weights or a list's arrays) and the supported arguments. */
static PyObject *reduce_in_python(enum reduction reduction, const char *module_name,
                                  const char *accepted, PyObject *extra, PyObject *const *slots)
{
    const char *name = reduction_row(reduction)->name;
    PyObject *const mean = slots[MEAN];
    double ddof;
    bool kept;
    if (argument_given(slots[OUT]) || argument_given(slots[DEVICE]) ||
        argument_given(slots[STREAM]) || argument_given(slots[BLOCK_SIZE]) ||
        (argument_given(mean) && mean != Py_Ellipsis && !numpy_is_no_value(mean)))
        return type_error("%s %s; no out, mean, device, stream or block_size", name, accepted);
    OWNED *module = PyImport_ImportModule(module_name); /* waits for other threads' imports */
    if (!module || !keepdims_parse(slots[KEEPDIMS], &kept) || !ddof_parse(slots, &ddof))
        return NULL;
    return python_call(module_name, "reduced", "(sOOOOdOOO)", name, slots[A],
                       argument_or(extra, Py_None), argument_or(slots[AXIS], Py_None),
                       argument_or(slots[DTYPE], Py_None), ddof, kept ? Py_True : Py_False,
                       argument_or(slots[WHERE], Py_True), argument_or(slots[METHOD], Py_None));
}

static bool is_exact_variance(enum reduction reduction, PyObject *const *slots)
{
    struct method_argument method = {.exact = false};
    if (!fold_is_variance(reduction_row(reduction)->fold))
        return false;
    if (!method_parse(slots[METHOD], &method))
        PyErr_Clear(); /* raised again when a plan is made */
    return method.exact;
}

static PyObject *reduce(PyObject *module, enum reduction reduction, PyObject *const *arguments,
                        Py_ssize_t count, PyObject *names)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    PyObject *result = count == 1 && !names ? reduce_flat(state, reduction, arguments[0]) : NULL;
    if (result || PyErr_Occurred() || !arguments_parse(reduction, arguments, count, names, slots))
        return result;
    const int frames = wrapper_frames(reduction);
    OWNED *arrays = list_of_arrays(slots);
    if (arrays && count == 1 && !names && ends_differ_in_device(arrays))
        return reduce_several(reduction, arrays, slots);
    if (PyErr_Occurred())
        return NULL;
    if (argument_given(slots[WEIGHTS]))
        return reduce_in_python(reduction, "gred.statistics.weights",
                                "with weights takes axis, dtype, ddof, keepdims, where and method",
                                slots[WEIGHTS], slots);
    if (is_exact_variance(reduction, slots))
        return reduce_in_python(reduction, "gred.exact.moments",
                                "by method 'exact' takes axis, dtype, ddof, keepdims and where",
                                arrays, slots);
    if (arrays)
        return reduce_list(state, reduction, arrays, false, frames, slots);
    result = reduce_array(state, reduction, slots);
    if (!result && count && is_list_with_device_arrays(arguments[0])) {
        OWNED *others = PySequence_Tuple(arguments[0]);
        result = others ? reduce_list(state, reduction, others, false, frames, slots) : NULL;
    }
    return result;
}

#define REDUCTION(name, ...)                                                                       \
    CORE_FUNCTION(name)                                                                            \
    {                                                                                              \
        return reduce(module, REDUCTION_##name, arguments, count, names);                          \
    }
#define VARIANT(name, ...)
#include "common/reductions.def"
