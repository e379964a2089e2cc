/* Lists of arrays as arguments: all are viewed, and one plan is made for them. */
#include "arrays/numpys.h"

#include "python/call.h"

#include "arrays/array.h"
#include "plan/arguments.h"

struct list_state {
    struct array_list list;
    struct list_entry *at;
    struct held *held;
    uint64_t viewed;   /* arrays */
    bool multi_device; /* the arrays are on several devices */
    uint64_t elements; /* of all arrays */
    PyObject *arrays;  /* a tuple */
    struct exchange_cache cache;
    struct plan_streams streams;
    struct extent allocation; /* of the array that was located last */
};

void list_state_free(struct list_state *self)
{
    if (!self)
        return;
    for (uint64_t k = 0; k < self->viewed; k++) {
        held_release(&self->held[k]);
        PyMem_Free((void *)self->at[k].layout);
    }
    Py_XDECREF(self->cache.class);
    Py_XDECREF(self->cache.capsule);
    PyMem_Free(self->held);
    PyMem_Free(self->at);
    Py_DECREF(self->arrays);
    PyMem_Free(self);
}

static struct list_state *list_state_new(PyObject *arrays)
{
    struct list_state *self = PyMem_Calloc(1, sizeof *self);
    if (!self)
        return (void *)PyErr_NoMemory();
    const size_t count = (size_t)PyTuple_GET_SIZE(arrays);
    self->arrays = Py_NewRef(arrays);
    self->list.count = count;
    self->list.fewest = UINT64_MAX;
    self->list.at = self->at = PyMem_Calloc(count, sizeof *self->at);
    self->held = PyMem_Calloc(count, sizeof *self->held);
    if (self->at && self->held)
        return self;
    list_state_free(self);
    return (void *)PyErr_NoMemory();
}

/* Moves the view's memory to the list. A layout that is not flat is copied. */
static bool append_view(struct list_state *self, struct view *view, bool in_order)
{
    struct list_entry *const array = &self->at[self->viewed];
    struct layout *const layout = &view->layout;
    self->held[self->viewed++] = view->held;
    view_init_empty(view);
    layout_normalise(layout, in_order);
    *array = (struct list_entry){.data = layout->data, .n = view->n, .input = layout->input};
    if (__builtin_add_overflow(self->elements, view->n, &self->elements) ||
        self->elements > INT64_MAX / 128)
        return value_error("the list has more elements than memory can hold");
    if (view->n < self->list.fewest)
        self->list.fewest = view->n;
    if (view->n == 0 || layout_is_flat(layout))
        return true;
    struct layout *const copy = PyMem_Malloc(sizeof *copy);
    if (copy)
        layout_copy(layout, copy);
    else
        PyErr_NoMemory();
    array->layout = copy;
    return copy;
}

/* The others are reserved for other arguments. */
enum { STREAMS_MAX = PRODUCERS_MAX - 2 };

/* Promotes the list's element type to hold this array's, by NumPy's rules, and compares devices. */
static bool promote_type(struct call *call, const struct view *view)
{
    struct view *const all = &call->view;
    enum element *const type = &all->layout.input;
    if (*type != view->layout.input && !numpy_promote(*type, view->layout.input, type))
        return false;
    if (view->n == 0)
        return true;
    if (call->list->elements == 0) {
        all->layout.data = view->layout.data;
        all->on_device = view->on_device;
        all->platform = view->platform;
        all->device = view->device;
    }
    call->list->multi_device |= all->on_device != view->on_device ||
                                all->platform != view->platform || all->device != view->device;
    return true;
}

/* Locates an array, often in the allocation of the one before it and so on the same device. */
static bool locate(const struct call *call, struct list_state *self, struct view *view)
{
    const struct extent extent = layout_extent(&view->layout), previous = self->allocation;
    if (!view->on_device || view->n == 0)
        return true;
    if (extent.first >= previous.first && extent.bytes <= previous.bytes &&
        extent.first - previous.first <= previous.bytes - extent.bytes) {
        view->platform = call->view.platform;
        view->device = call->view.device;
        return true;
    }
    if (!call->view_request.locator->locate(call->view_request.locator, view, "a"))
        return false;
    self->allocation = view->allocation;
    return true;
}

static bool view_all(struct call *call, bool in_order)
{
    struct list_state *const self = call->list;
    struct view *const view = &call->segmented.offsets;
    call->view_request.cache = &self->cache;
    call->request.list_streams = &self->streams;
    for (uint64_t k = 0; k < self->list.count && !self->multi_device; k++) {
        PyObject *const object = PyTuple_GET_ITEM(self->arrays, (Py_ssize_t)k);
        if (!array_view(object, &call->view_request, view))
            return false;
        if (!locate(call, self, view) || !promote_type(call, view))
            return false;
        plan_add_producer(&self->streams, &view->producer);
        if (self->streams.count > STREAMS_MAX)
            return value_error("arrays of one list may come from %d streams at most; synchronize "
                               "first, or pass fewer arrays",
                               STREAMS_MAX);
        if (!append_view(self, view, in_order))
            return false;
    }
    return true;
}

static bool check_unmoved(const struct list_state *self)
{
    for (uint64_t k = 0; k < self->viewed; k++)
        if (!held_check_unmoved(&self->held[k], self->at[k].n, "an array of the list"))
            return false;
    return true;
}

/* Describes all arrays as one view, which is empty if each has a result and any is empty. */
static void combine_views(struct call *call)
{
    struct layout *const layout = &call->view.layout;
    const struct array_list *const list = &call->list->list;
    array_release(&call->view);
    call->view.n = list->each && list->fewest == 0 ? 0 : call->list->elements;
    layout->type = layout->input;
    layout_make_flat(layout, call->view.n);
    layout->mask = NULL;
    layout->swapped = false;
}

static bool make_plan(struct call *call)
{
    struct list_state *const self = call->list;
    struct plan *const plan = &call->plan;
    if (!plan_make(&call->request, &call->view, NULL, plan) || !check_unmoved(self))
        return false;
    if (!call->view.on_device && plan->platform->place != METHOD_ON_HOST)
        return value_error("the arrays of the list are on the host, but out or method requires a "
                           "device; move them there first");
    self->list.uniform = true;
    for (uint64_t k = 0; k < self->list.count; k++)
        self->list.uniform &=
            !self->at[k].n || (!self->at[k].layout && self->at[k].input == plan->layout->input);
    plan->elements.list = &self->list;
    plan->n = plan->finish.count = self->elements;
    if (self->list.each) {
        plan->axes = &call->axes;
        return true;
    }
    const struct results planned = plan->results;
    results_describe(call);
    plan->results.on_device = planned.on_device;
    plan->results.out = NULL;
    if (planned.on_device) {
        plan->results.at[0] = planned.at[0];
        plan->results.type = planned.type;
    }
    return true;
}

/* A given argument that only single arrays have; `check_mean`: also consider mean=. NULL: none. */
static const char *single_array_argument(PyObject *const *slots, bool check_mean)
{
    const struct {
        enum argument argument;
        const char *name;
        PyObject *missing;
    } unsupported[] = {{AXIS, "axis", Py_None},
                       {KEEPDIMS, "keepdims", Py_False},
                       {WHERE, "where", Py_True},
                       {MEAN, "mean", Py_Ellipsis}};
    for (size_t k = 0; k < (check_mean ? 4 : 3); k++) {
        PyObject *const given = slots[unsupported[k].argument];
        if (given && given != unsupported[k].missing && !numpy_is_no_value(given))
            return unsupported[k].name;
    }
    return NULL;
}

bool call_open_list(struct call *call, PyObject *arrays, bool each, PyObject *const *slots)
{
    call->like = PyTuple_GET_SIZE(arrays) ? PyTuple_GET_ITEM(arrays, 0) : arrays;
    call->list = list_state_new(arrays);
    const char *wrong = single_array_argument(slots, true);
    if (wrong)
        return type_error("%s of a list of arrays does not take %s",
                          reduction_row(call->request.reduction)->name, wrong);
    if (!call->list || !call_view(call, "a", false, slots))
        return false;
    call->list->list.each = each;
    const bool in_order = fold_is_indexed(reduction_row(call->request.reduction)->fold);
    if (!view_all(call, in_order))
        return false;
    combine_views(call);
    return !call->list->multi_device && results_set_count(call, call->list->list.count, each) &&
           make_plan(call);
}

/* ---- recognizing lists of arrays ---- */

PyObject *list_of_arrays(PyObject *const *slots)
{
    PyObject *const a = slots[A] ? slots[A] : slots[X];
    if (PyGen_CheckExact(a) || (PyIter_Check(a) && !array_offers_memory(a)))
        return PySequence_Tuple(a);
    if (!(PyList_CheckExact(a) || PyTuple_CheckExact(a)) || Py_SIZE(a) == 0)
        return NULL;
    OWNED *first = PySequence_GetItem(a, 0);
    if (!first || !array_offers_memory(first) ||
        (single_array_argument(slots, false) && !offers_device_memory(first)))
        return NULL;
    return PySequence_Tuple(a);
}
