/* Segments and keys, for gred/segments.py: of values of one dimension, at offsets or with keys of
 * one dimension; offsets are int64 and lie one after the other. */
#include "arrays/numpys.h"

#include "arrays/protocols.h"
#include "plan/arguments.h"
#include "python/call.h"
#include "python/select.h"

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
    const struct segments *segments = &call->of_segments.segments;
    const uint64_t end = segments->elements + segments->may_be_empty;
    for (uint64_t k = 0; !call->of_segments.offsets.on_device && k < segments->count; k++)
        if ((uint64_t)segments->offsets[k] >= end)
            return PyErr_Format(PyExc_IndexError,
                                "offset %lld out-of-bounds in %s.reduceat [0, %llu)",
                                (long long)segments->offsets[k], op, (unsigned long long)end);
    return true;
}

/* What the device has seen of its offsets, where the call has waited for it. */
static bool check_findings(const struct call *call, const char *op)
{
    const struct segments *segments = &call->of_segments.segments;
    return !(call->run.findings & FOUND_OUTSIDE) ||
           PyErr_Format(PyExc_IndexError, "an offset is out-of-bounds in %s.reduceat [0, %llu)", op,
                        (unsigned long long)(segments->elements + segments->may_be_empty));
}

static bool view_arguments(struct call *call, PyObject *const *slots)
{
    const struct where *where = &call->state->platforms.where;
    struct view *const offsets = &call->of_segments.offsets;
    if (!call_view(call, "values", false, slots) || !check_dimensions(&call->view, "values"))
        return false;
    call->asked.name = "offsets";
    call->request.offsets = offsets;
    return array_view(slots[OFFSETS], &call->asked, offsets) && check_offsets(offsets) &&
           (!offsets->on_device || where->locate(where, offsets, "offsets"));
}

static bool describe(struct call *call, const int64_t *offsets, uint64_t count, int may_be_empty)
{
    call->of_segments.segments = (struct segments){
        .offsets = offsets, .count = count, .elements = call->view.n, .may_be_empty = may_be_empty};
    memset(&call->axes, 0, sizeof call->axes); /* how many results there are, and no more */
    call->axes.results = call->shape[0] = count;
    call->dimensions = 1;
    return may_be_empty >= 0 &&
           output_fits(&call->output, &call->state->platforms.where, 1, call->shape);
}

/* Whether offsets or keys are the host's, or lie where the values are reduced. */
static bool is_in_place(const struct call *call)
{
    const struct view *view = &call->of_segments.offsets;
    return !view->on_device || view->n == 0 ||
           (view->platform == call->plan.platform && view->device == call->plan.device);
}

/* Offsets come to where the values are reduced from the host only. */
static bool check_place(const struct call *call)
{
    return is_in_place(call) ||
           value_error("offsets are on another device than values; move both to one place");
}

/* Where elements are matters: the plan's own order is any that is good for memory. */
static bool make_plan(struct call *call)
{
    struct plan *plan = &call->plan;
    layout_copy(&call->view.layout, &call->of_segments.ordered);
    if (!plan_make(&call->request, &call->view, NULL, plan))
        return false;
    call->of_segments.ordered.type = plan->layout->type;
    plan->elements.flat = lies_flat(&call->of_segments.ordered);
    plan->layout = &call->of_segments.ordered;
    plan->out.at = NULL;
    plan->axes = &call->axes;
    plan->segments = (struct plan_segments){.of = &call->of_segments.segments};
    run_begin(&call->run, WRAPPER_FRAMES);
    return true;
}

static bool order_offsets(struct call *call)
{
    const struct view *offsets = &call->of_segments.offsets;
    call->plan.segments.offsets = offsets->on_device ? &offsets->layout : NULL;
    call->plan.streams.producers[1] = offsets->producer;
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
    if (names_method(slots))
        return value_error("reduceat takes method 'auto' or 'exact', not %R", slots[METHOD]);
    const char *op = reduction_row(reduction)->name;
    struct call *call = call_begin(state, slots[VALUES]);
    if (!call)
        return NULL;
    PyObject *result = NULL;
    if (call_request(call, reduction, WRAPPER_FRAMES, slots) && view_arguments(call, slots) &&
        describe(call, call->of_segments.offsets.layout.data, call->of_segments.offsets.n,
                 PyObject_IsTrue(slots[MAY_BE_EMPTY])) &&
        make_plan(call) && check_place(call) && check_range(call, op) && order_offsets(call) &&
        results_make(call) && execute_plan(state, &call->plan, &call->run) &&
        check_findings(call, op))
        result = results_deliver(call);
    call_close(call);
    return result;
}

/* ---- keys ---- */

static bool view_keys(struct call *call, PyObject *const *slots)
{
    struct view *const keys = &call->of_segments.offsets;
    if (!call_view(call, "values", false, slots) || !check_dimensions(&call->view, "values"))
        return false;
    call->asked.name = "keys";
    call->request.offsets = keys;
    const struct where *where = &call->state->platforms.where;
    if (!array_view(slots[KEYS], &call->asked, keys) || !check_dimensions(keys, "keys") ||
        (keys->on_device && !where->locate(where, keys, "keys")))
        return false;
    if (!element_is_integer(keys->layout.input))
        return type_error("keys must be integers, not %s", element_name(keys->layout.input));
    const uint64_t n = call->view.n;
    const bool shared = keys->on_device && keys->n > 0 && n % keys->n == 0;
    return keys->n == n || shared ||
           value_error("there are %llu keys and %llu values", (unsigned long long)keys->n,
                       (unsigned long long)n);
}

/* The plan's, in their own order. */
static bool take_keys(struct call *call, PyObject *const *slots)
{
    struct plan *const plan = &call->plan;
    struct view *const keys = &call->of_segments.offsets;
    const bool on_host = plan->platform->place == METHOD_ON_HOST;
    if (keys->n > 0 && (keys->on_device == on_host || !is_in_place(call)))
        return type_error("keys and values must lie in one place, on the host or on one device");
    layout_normalise(&keys->layout, true);
    plan->segments.keys = &keys->layout;
    plan->segments.drops = PyObject_IsTrue(slots[DROPS]) > 0;
    plan->streams.producers[1] = keys->producer;
    return true;
}

CORE_FUNCTION(by_key)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    enum reduction reduction;
    if (!arguments_parse(SIGNATURE_by_key, arguments, count, names, slots) ||
        !reduction_parse(slots[OP], &reduction))
        return NULL;
    if (names_method(slots))
        return value_error("by_key takes method 'auto' or 'exact', not %R", slots[METHOD]);
    const Py_ssize_t results = PyNumber_AsSsize_t(slots[NUM_KEYS], PyExc_OverflowError);
    if (results < 0)
        return PyErr_Occurred() ? NULL : value_error("num_keys must not be negative");
    struct call *call = call_begin(state, slots[VALUES]);
    if (!call)
        return NULL;
    PyObject *result = NULL;
    if (call_request(call, reduction, WRAPPER_FRAMES, slots) && view_keys(call, slots) &&
        describe(call, NULL, (uint64_t)results, true) && make_plan(call) &&
        take_keys(call, slots)) {
        if (call->plan.platform->place != METHOD_ON_HOST && !plan_goes_by_key(&call->plan))
            result = Py_NewRef(Py_NotImplemented);
        else if (results_make(call) && execute_plan(state, &call->plan, &call->run))
            result = results_deliver(call);
    }
    if (result && call->run.findings & FOUND_OUTSIDE) {
        Py_CLEAR(result);
        PyErr_Format(PyExc_IndexError, "a key is not in [0, %zd)", results);
    }
    call_close(call);
    return result;
}

/* ---- quantiles ---- */

static bool take_rows(PyObject *asked, const struct view *values, uint64_t rows,
                      struct kernel_select *select)
{
    *select = (struct kernel_select){.rows = rows, .n = rows ? values->n / rows : 0};
    if (!quantiles_parse(asked, &select->of))
        return false;
    if (select->n == 0 || values->n % rows || select->of.count > SHARES_MOST ||
        (select->n > INT32_MAX && !select->of.sorted))
        return type_error("select_rows takes what gred/statistics/quantiles.py gives it");
    memcpy(select->shares, select->of.shares, select->of.count * sizeof *select->shares);
    select->of.shares = NULL;
    select->of.input = values->layout.input;
    return true;
}

CORE_FUNCTION(select_rows)
{
    struct module_state *state = PyModule_GetState(module);
    struct kernel_select select;
    PyObject *slots[ARGUMENTS_END];
    if (!arguments_parse(SIGNATURE_select_rows, arguments, count, names, slots))
        return NULL;
    const Py_ssize_t rows = PyNumber_AsSsize_t(slots[NUM_KEYS], PyExc_OverflowError);
    struct call *call = rows < 0 ? NULL : call_begin(state, slots[VALUES]);
    if (!call)
        return NULL;
    PyObject *result = NULL;
    if (call_request(call, REDUCTION_max, WRAPPER_FRAMES, slots) &&
        call_view(call, "values", false, slots) && check_dimensions(&call->view, "values") &&
        take_rows(slots[OP], &call->view, (uint64_t)rows, &select) &&
        describe(call, NULL, (uint64_t)rows * select.of.count, true) && make_plan(call)) {
        call->plan.segments.quantiles = &select;
        if (!call->view.on_device || !call->plan.elements.flat)
            result = Py_NewRef(Py_NotImplemented);
        else if (results_make(call) && execute_plan(state, &call->plan, &call->run))
            result = results_deliver(call);
    }
    call_close(call);
    return result;
}
