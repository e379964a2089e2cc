/* Segments and keys, for gred/segments.py: one-dimensional values with one-dimensional offsets or
 * keys. Host offsets are contiguous int64. */
#include "arrays/numpys.h"

#include "arrays/protocols.h"
#include "plan/arguments.h"
#include "python/call.h"

/* The frame of gred/segments.py is not the user's. */
enum { WRAPPER_FRAMES = 1 };

static bool is_contiguous(const struct layout *layout)
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

/* Device offsets are converted there, if that loses nothing. */
static bool check_offsets(const struct view *view)
{
    const enum element type = view->layout.input;
    if (view->on_device)
        return (element_is_integer(type) && type != ELEMENT_UINT64) ||
               type_error("offsets must be of an integer type that fits int64, not %s",
                          element_name(type));
    return (type == ELEMENT_INT64 && (view->n == 0 || is_contiguous(&view->layout))) ||
           type_error("offsets must be int64 and contiguous");
}

static const char *reduction_name(const struct call *call)
{
    return reduction_row(call->request.reduction)->name;
}

/* Host offsets are checked here, with NumPy's message. */
static bool check_range(const struct call *call)
{
    const struct segments *segments = &call->segmented.segments;
    const uint64_t end = segments->elements + segments->may_be_empty;
    for (uint64_t k = 0; !call->segmented.offsets.on_device && k < segments->count; k++)
        if ((uint64_t)segments->offsets[k] >= end)
            return PyErr_Format(
                PyExc_IndexError, "offset %lld out-of-bounds in %s.reduceat [0, %llu)",
                (long long)segments->offsets[k], reduction_name(call), (unsigned long long)end);
    return true;
}

/* Raises if a run that was waited for found keys or device offsets out of range. */
static bool check_findings(const struct call *call)
{
    const struct segments *segments = &call->segmented.segments;
    if (!(call->run.findings & FOUND_OUTSIDE))
        return true;
    if (call->plan.segments.keys)
        return PyErr_Format(PyExc_IndexError, "a key is not in [0, %llu)",
                            (unsigned long long)segments->count);
    return PyErr_Format(PyExc_IndexError, "an offset is out-of-bounds in %s.reduceat [0, %llu)",
                        reduction_name(call),
                        (unsigned long long)(segments->elements + segments->may_be_empty));
}

/* Runs the call's plan and returns its results. NULL with an exception set. */
static PyObject *run_segments(struct call *call)
{
    return results_allocate(call) && execute_plan(call->state, &call->plan, &call->run) &&
                   check_findings(call)
               ? results_to_python(call)
               : NULL;
}

/* Views the values and the offsets or keys, which `name` names. */
static bool view_arguments(struct call *call, PyObject *const *slots, enum argument argument,
                           const char *name)
{
    const struct locator *locator = &call->state->platforms.locator;
    struct view *const view = &call->segmented.offsets;
    if (!call_view(call, "values", false, slots) || !check_dimensions(&call->view, "values"))
        return false;
    call->view_request.name = name;
    call->request.offsets = view;
    return array_view(slots[argument], &call->view_request, view) && check_dimensions(view, name) &&
           locator->locate(locator, view, name);
}

static bool set_segments(struct call *call, const int64_t *offsets, uint64_t count,
                         int may_be_empty)
{
    call->segmented.segments = (struct segments){
        .offsets = offsets, .count = count, .elements = call->view.n, .may_be_empty = may_be_empty};
    return may_be_empty >= 0 && results_set_count(call, count, true);
}

/* Whether offsets or keys are on the host or on the device that reduces the values. */
static bool is_on_same_device(const struct call *call)
{
    const struct view *view = &call->segmented.offsets;
    return !view->on_device || view->n == 0 ||
           (view->platform == call->plan.platform && view->device == call->plan.device);
}

/* Positions matter, so the values keep their own order, which the plan may have changed. */
static bool make_plan(struct call *call)
{
    struct plan *plan = &call->plan;
    layout_copy(&call->view.layout, &call->segmented.ordered);
    if (!plan_make(&call->request, &call->view, NULL, plan))
        return false;
    call->segmented.ordered.type = plan->layout->type;
    plan->elements.flat = is_contiguous(&call->segmented.ordered);
    plan->layout = &call->segmented.ordered;
    plan->axes = &call->axes;
    plan->segments = (struct plan_segments){.of = &call->segmented.segments};
    return true;
}

/* Only host offsets are moved to the values' device. */
static bool set_offsets(struct call *call)
{
    const struct view *offsets = &call->segmented.offsets;
    call->plan.segments.offsets = offsets->on_device ? &offsets->layout : NULL;
    return is_on_same_device(call) ||
           value_error("offsets are on another device than values; move both to the same device");
}

SLOTS_FUNCTION(reduceat)
{
    enum reduction reduction;
    if (!op_parse("reduceat", slots, &reduction))
        return NULL;
    SCOPED_CALL *call = call_begin(state, reduction, WRAPPER_FRAMES, slots);
    if (!call || !view_arguments(call, slots, OFFSETS, "offsets") ||
        !check_offsets(&call->segmented.offsets) ||
        !set_segments(call, call->segmented.offsets.layout.data, call->segmented.offsets.n,
                      PyObject_IsTrue(slots[MAY_BE_EMPTY])) ||
        !make_plan(call) || !set_offsets(call) || !check_range(call))
        return NULL;
    return run_segments(call);
}

/* ---- keys ---- */

static bool check_keys(const struct call *call)
{
    const struct view *keys = &call->segmented.offsets;
    const uint64_t n = call->view.n;
    if (!element_is_integer(keys->layout.input))
        return type_error("keys must be integers, not %s", element_name(keys->layout.input));
    return keys->n == n || (keys->on_device && keys->n > 0 && n % keys->n == 0) ||
           value_error("there are %llu keys and %llu values", (unsigned long long)keys->n,
                       (unsigned long long)n);
}

/* Sets the plan's keys, in their own order. */
static bool set_keys(struct call *call, PyObject *const *slots)
{
    struct plan *const plan = &call->plan;
    struct view *const keys = &call->segmented.offsets;
    const bool on_host = plan->platform->place == METHOD_ON_HOST;
    if (keys->n > 0 && (keys->on_device == on_host || !is_on_same_device(call)))
        return type_error("keys and values must be in one place, on the host or on one device");
    layout_normalise(&keys->layout, true);
    plan->segments.keys = &keys->layout;
    const int drops = PyObject_IsTrue(slots[DROPS]);
    plan->segments.drops = drops > 0;
    return drops >= 0;
}

SLOTS_FUNCTION(by_key)
{
    enum reduction reduction;
    if (!op_parse("by_key", slots, &reduction))
        return NULL;
    const Py_ssize_t results = PyNumber_AsSsize_t(slots[NUM_KEYS], PyExc_OverflowError);
    if (results < 0)
        return PyErr_Occurred() ? NULL : value_error("num_keys must not be negative");
    SCOPED_CALL *call = call_begin(state, reduction, WRAPPER_FRAMES, slots);
    if (!call || !view_arguments(call, slots, KEYS, "keys") || !check_keys(call) ||
        !set_segments(call, NULL, (uint64_t)results, true) || !make_plan(call) ||
        !set_keys(call, slots))
        return NULL;
    if (call->plan.platform->place != METHOD_ON_HOST && !plan_has_key_kernels(&call->plan))
        return Py_NewRef(Py_NotImplemented);
    return run_segments(call);
}

/* ---- quantiles ---- */

static bool set_rows(PyObject *tuple, const struct view *values, uint64_t rows, uint64_t inner,
                     struct kernel_select *select)
{
    *select =
        (struct kernel_select){.rows = rows, .n = rows ? values->n / rows : 0, .inner = inner};
    if (!quantiles_parse(tuple, &select->of))
        return false;
    select->of.input = values->layout.input;
    if (select->n == 0 || values->n % rows || inner == 0 || rows % inner ||
        (inner > 1 && !select_sorts(select)) || select->of.count > QUANTILES_MAX ||
        (select->n > INT32_MAX && !select->of.sorted))
        return type_error("select_rows takes what gred/statistics/quantiles.py gives it");
    for (uint64_t k = 0; k < select->of.count; k++) {
        select->shares[k] = select->of.shares[k];
        select->places[k] = quantile_place(select->of.method, select->shares[k], select->n);
    }
    select->of.shares = NULL;
    return true;
}

SLOTS_FUNCTION(select_rows)
{
    struct kernel_select select;
    const Py_ssize_t rows = PyNumber_AsSsize_t(slots[NUM_KEYS], PyExc_OverflowError);
    const Py_ssize_t inner = PyNumber_AsSsize_t(slots[INNER], PyExc_OverflowError);
    SCOPED_CALL *call =
        rows < 0 || inner < 0 ? NULL : call_begin(state, REDUCTION_max, WRAPPER_FRAMES, slots);
    if (!call || !call_view(call, "values", false, slots) ||
        !check_dimensions(&call->view, "values") ||
        !set_rows(slots[QUANTILES], &call->view, (uint64_t)rows, (uint64_t)inner, &select) ||
        !set_segments(call, NULL, (uint64_t)rows * select.of.count, true) || !make_plan(call))
        return NULL;
    call->plan.segments.quantiles = &select;
    return call->view.on_device && call->plan.elements.flat ? run_segments(call)
                                                            : Py_NewRef(Py_NotImplemented);
}
