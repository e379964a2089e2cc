/* The reductions, as functions of Python: arguments in, a plan that is run, and the answer back. */
#include "arrays/protocols.h"
#include "common/reduction.h"
#include "python/call.h"

/* ---- lists of arrays that lie on devices: each is reduced where it is, by gred/several.py ---- */

/* What has an interface of CUDA's has it for memory of a GPU; what speaks DLPack says where it is.
 */
static bool lies_on_device(PyObject *object)
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

/* Whether it is a list or a tuple, and any of its first elements an array on a device. */
static bool holds_any(PyObject *object, Py_ssize_t first)
{
    bool found = false;
    if (!PyList_CheckExact(object) && !PyTuple_CheckExact(object))
        return false;
    for (Py_ssize_t k = 0; !found && k < first && k < Py_SIZE(object); k++) {
        OWNED *one = PySequence_GetItem(object, k);
        found = one && lies_on_device(one);
    }
    PyErr_Clear();
    return found;
}

/* Other elements than the first are asked only here: of a list of numbers that takes long. */
bool several_were_given(PyObject *object)
{
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    const struct raised why = raised_set_aside();
    const bool given = holds_any(object, PY_SSIZE_T_MAX);
    raised_settle(why, !given);
    return given;
}

static PyObject *reduce_several(const char *name, PyObject *const *arguments, Py_ssize_t count,
                                PyObject *names)
{
    OWNED *module = PyImport_ImportModule("gred.several");
    if (!module)
        return NULL;
    if (!PyObject_HasAttrString(module, name))
        return type_error("%s does not take several arrays on devices; sum and mean do", name);
    OWNED *function = PyObject_GetAttrString(module, name);
    return function ? PyObject_Vectorcall(function, arguments, (size_t)count, names) : NULL;
}

/* ---- one array ---- */

/* describe is called by gred/summary.py, whose frame is not the user's. */
static int frames_of(enum reduction reduction)
{
    return reduction == REDUCTION_describe;
}

static PyObject *deliver(struct call *call)
{
    const struct plan *const plan = &call->plan;
    const struct run *const run = &call->run;
    if ((!plan->out.at || plan->n == 0) && !answer_is_sound(plan, run))
        return NULL;
    if (plan->axes)
        return results_deliver(call);
    if (!call->output.object)
        return answer_to_python(plan, run);
    if (!plan->out.at) {
        const enum element type = plan->finish.result;
        const union scalar result = scalar_narrow(run->answer.values[0], type);
        output_store(&call->output, &result, type);
    }
    return Py_NewRef(call->output.object);
}

/* All that can be asked. */
static PyObject *reduce_as_asked(struct module_state *state, enum reduction reduction,
                                 PyObject *const *slots)
{
    struct call *call = call_open(state, reduction, frames_of(reduction), slots);
    PyObject *result = call && results_make(call) && execute_plan(state, &call->plan, &call->run)
                           ? deliver(call)
                           : NULL;
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
    const char *name = reduction_row(reduction)->name;
    PyObject *slots[ARGUMENTS_END];
    PyObject *result = count == 1 && !names ? reduce_flat(state, reduction, arguments[0]) : NULL;
    if (result || PyErr_Occurred())
        return result;
    if (count && holds_any(arguments[0], 1))
        return reduce_several(name, arguments, count, names);
    if (!arguments_parse((enum signature_index)reduction, arguments, count, names, slots))
        return NULL;
    result = reduce_as_asked(state, reduction, slots);
    if (!result && count && several_were_given(arguments[0]))
        return reduce_several(name, arguments, count, names);
    return result;
}

#define REDUCTION(name, ...)                                                                       \
    CORE_FUNCTION(name)                                                                            \
    {                                                                                              \
        return reduce(module, REDUCTION_##name, arguments, count, names);                          \
    }
#define VARIANT(name, ...)
#include "common/reductions.def"

/* ---- segments, for gred/segments.py: of values of one dimension, and at offsets of one dimension
 * that are int64 and lie one after the other ---- */

/* It is called by gred/segments.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

static bool lies_flat(const struct layout *layout)
{
    struct layout normal;
    layout_copy(layout, &normal);
    layout_normalise(&normal, true);
    return layout_is_flat(&normal);
}

static bool check_dimensions(const struct view *view, const char *name)
{
    return view->layout.dimensions == 1 ||
           value_error("%s must have one dimension; they have %u", name, view->layout.dimensions);
}

/* Those of a device are converted there, if that loses nothing. */
static bool check_offsets(const struct view *view)
{
    const enum element type = view->layout.input;
    if (!check_dimensions(view, "offsets"))
        return false;
    if (view->on_device)
        return (element_is_integer(type) && type != ELEMENT_UINT64) ||
               type_error("offsets must be integers that int64 holds, not %s", element_name(type));
    return (type == ELEMENT_INT64 && (view->n == 0 || lies_flat(&view->layout))) ||
           type_error("offsets must be int64, one after the other");
}

/* The host's offsets can be looked at; NumPy's words. */
static bool check_range(const struct call *call, const char *op)
{
    const struct segments *segments = &call->segments;
    const uint64_t end = segments->elements + segments->may_be_empty;
    for (uint64_t k = 0; !call->offsets.on_device && k < segments->count; k++)
        if ((uint64_t)segments->offsets[k] >= end)
            return PyErr_Format(PyExc_IndexError,
                                "offset %lld out-of-bounds in %s.reduceat [0, %llu)",
                                (long long)segments->offsets[k], op, (unsigned long long)end);
    return true;
}

/* What the device has seen of its offsets, where the call has waited for it. */
static bool check_findings(const struct call *call, const char *op)
{
    const struct segments *segments = &call->segments;
    return !(call->run.findings & FOUND_OUTSIDE) ||
           PyErr_Format(PyExc_IndexError, "an offset is out-of-bounds in %s.reduceat [0, %llu)", op,
                        (unsigned long long)(segments->elements + segments->may_be_empty));
}

static bool view_arguments(struct call *call, PyObject *const *slots)
{
    const struct where *where = &call->state->platforms.where;
    struct view *const offsets = &call->offsets;
    if (!call_view(call, "values", slots) || !check_dimensions(&call->view, "values"))
        return false;
    call->asked.name = "offsets";
    call->request.offsets = offsets;
    return array_view(slots[OFFSETS], &call->asked, offsets) && check_offsets(offsets) &&
           (!offsets->on_device || where->locate(where, offsets, "offsets"));
}

static bool describe(struct call *call, PyObject *may_be_empty)
{
    const int may = PyObject_IsTrue(may_be_empty);
    call->segments = (struct segments){.offsets = call->offsets.layout.data,
                                       .count = call->offsets.n,
                                       .elements = call->view.n,
                                       .may_be_empty = may};
    memset(&call->axes, 0, sizeof call->axes); /* how many results there are, and no more */
    call->axes.results = call->shape[0] = call->offsets.n;
    call->dimensions = 1;
    return may >= 0 && output_fits(&call->output, &call->state->platforms.where, 1, call->shape);
}

/* Offsets come to where the values are reduced from the host only. */
static bool check_place(const struct call *call)
{
    const struct view *offsets = &call->offsets;
    return !offsets->on_device || offsets->n == 0 ||
           (offsets->platform == call->plan.platform && offsets->device == call->plan.device) ||
           value_error("offsets are on another device than values; move both to one place");
}

/* Where elements are matters: the plan's own order is any that is good for memory. */
static bool make_plan(struct call *call, const char *op)
{
    struct plan *plan = &call->plan;
    layout_copy(&call->view.layout, &call->ordered);
    if (!plan_make(&call->request, &call->view, NULL, plan) || !check_place(call) ||
        !check_range(call, op))
        return false;
    call->ordered.type = plan->layout->type;
    plan->elements.flat = lies_flat(&call->ordered);
    plan->layout = &call->ordered;
    plan->out.at = NULL;
    plan->axes = &call->axes;
    plan->segments.of = &call->segments;
    plan->segments.offsets = call->offsets.on_device ? &call->offsets.layout : NULL;
    plan->streams.producers[1] = call->offsets.producer;
    run_begin(&call->run, WRAPPER_FRAMES);
    return true;
}

CORE_FUNCTION(reduceat)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    enum reduction reduction;
    if (!arguments_parse(SIGNATURE_reduceat, arguments, count, names, slots) ||
        !reduction_parse(slots[OP], &reduction))
        return NULL;
    const char *op = reduction_row(reduction)->name;
    struct call *call = call_begin(state, slots[VALUES]);
    if (!call)
        return NULL;
    call->request = (struct request){.platforms = &state->platforms,
                                     .reduction = reduction,
                                     .dtype = slots[DTYPE],
                                     .device = slots[DEVICE],
                                     .frames = WRAPPER_FRAMES};
    PyObject *result = NULL;
    if (view_arguments(call, slots) && describe(call, slots[MAY_BE_EMPTY]) && make_plan(call, op) &&
        results_make(call) && execute_plan(state, &call->plan, &call->run) &&
        check_findings(call, op))
        result = results_deliver(call);
    call_close(call);
    return result;
}
