#include "arrays/numpys.h"

#include "python/call.h"

#include "common/reduction.h"
#include "plan/arguments.h"
#include "run/result.h"

/* ---- values ---- */

bool answer_check(enum reduction reduction, const struct plan *plan, const struct run *run)
{
    if (run->findings & FOUND_EMPTY)
        return value_error("%s has no value: %s", reduction_row(reduction)->called,
                           reduction_skips_nan(plan->reduction) ? "all included elements are NaN"
                                                                : "the mask excludes all elements");
    const char *const not_enough =
        fold_is_variance(plan->fold) ? "Degrees of freedom <= 0 for slice" : "Mean of empty slice";
    const char *const text = run->findings & FOUND_TOO_FEW   ? not_enough
                             : run->findings & FOUND_ALL_NAN ? "All-NaN slice encountered"
                                                             : NULL;
    return !text || PyErr_WarnEx(PyExc_RuntimeWarning, text, 1 + run->frames) == 0;
}

/* The number of an answer's values, and their types; `maybe_empty`: integers may have no
 * extremes. A description's values are in the order of kernels/reductions/summary.cuh, each of the
 * type of the reduction with its name. */
static unsigned answer_types(const struct plan *plan, bool maybe_empty, enum element *types)
{
    if (plan->reduction != REDUCTION_describe) {
        types[0] = types[1] = plan->finish.result;
        return plan->reduction == REDUCTION_minmax ? 2 : 1;
    }
    const enum element type = plan->finish.type;
    const bool integer = element_is_integer(type);
    types[0] = types[1] = ELEMENT_INT64;
    types[2] = types[3] = integer && maybe_empty ? ELEMENT_FLOAT64 : type;
    types[4] = integer ? ELEMENT_FLOAT64 : type;
    types[5] = element_real_part(types[4]);
    types[6] = sum_type(type);
    return 7;
}

static PyObject *answer_value(const struct run *run, unsigned k, enum element type)
{
    return numpy_scalar(scalar_narrow(run->answer.values[k], type), type);
}

PyObject *answer_to_python(const struct plan *plan, const struct run *run)
{
    enum element types[ANSWER_VALUES];
    const unsigned count = answer_types(plan, run->answer.values[0].integer == 0, types);
    if (count == 1)
        return answer_value(run, 0, types[0]);
    PyObject *record = PyList_New(0);
    for (unsigned k = 0; record && k < count; k++)
        list_append(&record, answer_value(run, k, types[k]));
    return list_to_tuple(record);
}

/* ---- arrays ---- */

/* Chooses the results' memory order: that of out's dimensions or, for new NumPy and CuPy arrays, of
 * the array's. If it is not C order, the shape (and out's layout) is permuted accordingly. */
static void order_results(struct call *call, bool kept)
{
    const struct layout *array = &call->view.layout;
    struct layout *const out = call->output.object ? &call->output.view.layout : NULL;
    const uint64_t reduced = kept ? 0 : call->request.reduced;
    uint64_t shape[DIMENSIONS_MAX];
    int64_t strides[DIMENSIONS_MAX] = {0};
    unsigned dims[DIMENSIONS_MAX], left[DIMENSIONS_MAX], count = 0;
    for (unsigned k = 0; k < array->dimensions; k++)
        if (!(reduced >> k & 1)) {
            strides[count] = out ? out->strides[count] : array->strides[k];
            left[count++] = k;
        }
    if (!axes_order(count, call->shape, strides, dims) ||
        !(out || PyArray_Check(call->like) || cupy_is_array(call->like)))
        return;
    call->request.order = call->order;
    for (unsigned i = 0; i < count; i++) {
        call->order[i] = left[dims[i]];
        call->inverse[dims[i]] = i;
        shape[i] = call->shape[dims[i]];
        if (out)
            out->strides[i] = strides[dims[i]];
    }
    memcpy(out ? out->shape : call->shape, shape, count * sizeof *shape);
    for (unsigned k = 0; k < array->dimensions; k++)
        if (reduced >> k & 1)
            call->order[count++] = k;
}

bool results_choose_shape(struct call *call, PyObject *const *slots)
{
    const struct layout *layout = &call->view.layout;
    struct request *request = &call->request;
    struct method_argument method;
    bool kept;
    if (!axis_parse(slots[AXIS], request->reduction, layout->dimensions, &request->reduced) ||
        !keepdims_parse(slots[KEEPDIMS], &kept) || !method_parse(request->method, &method))
        return false;
    request->axes_given = argument_given(slots[AXIS]) || kept;
    call->dimensions = axes_out_shape(layout, request->reduced, kept, call->shape);
    request->axes = call->dimensions || method.batch_invariant ? &call->axes : NULL;
    if (!output_check_shape(&call->output, &call->state->platforms.locator, call->dimensions,
                            call->shape))
        return false;
    /* Means and results of out=... are in C order. */
    if (call->dimensions > 1 && !call->output.as_array && !argument_given(slots[MEAN]))
        order_results(call, kept);
    return true;
}

bool results_set_count(struct call *call, uint64_t count, bool each)
{
    memset(&call->axes, 0, sizeof call->axes); /* only the number of results is needed */
    call->axes.results = call->shape[0] = count;
    call->dimensions = each;
    return output_check_shape(&call->output, &call->state->platforms.locator, each, call->shape);
}

/* Uses out itself if it is ready and, as on the host, no offsets may still prove wrong. */
static bool place_in_output(struct call *call)
{
    struct output *const out = &call->output;
    struct results *results = &call->plan.results;
    const bool safe = !call->plan.elements.list && (!call->plan.segments.of || results->on_device);
    if (!out->object || !safe ||
        !output_is_direct(out, results->type, &call->view.layout,
                          call->plan.segments.of ? &call->segmented.offsets.layout : NULL))
        return false;
    results->at[0] = (void *)out->view.layout.data;
    return true;
}

/* Allocates results in gred's own memory. False with an exception set. */
static bool allocate_own(struct call *call, const struct result_request *request,
                         struct result_memory *result, void **data)
{
    struct plan *const plan = &call->plan;
    struct device_memory memory = {.at = NULL};
    const uint64_t count = plan->axes ? plan->axes->results : 1;
    const size_t bytes = count * element_size(request->type);
    OWNED *owner = device_memory_new(call->state, plan->platform, plan->device, bytes, &memory);
    *data = memory.at;
    plan_add_producer(&plan->streams, &memory.stream);
    result->array = owner ? result_wrap(request, owner) : NULL;
    result->is_device_array = result->array;
    return result->is_device_array;
}

/* Requests value k as an array of the caller's library, where the caller's array is. */
static struct result_request describe_result(const struct call *call, unsigned k)
{
    return (struct result_request){.like = call->like,
                                   .device =
                                       call->plan.results.on_device ? call->plan.device : ON_HOST,
                                   .type = call->plan.results.types[k],
                                   .dimensions = call->dimensions,
                                   .shape = call->shape};
}

/* Allocates new results: NumPy's on the host unless the caller's library can get its own. */
static bool allocate_arrays(struct call *call)
{
    struct results *results = &call->plan.results;
    const bool numpy = PyArray_Check(call->like) || call->output.object ||
                       !(call->dimensions || call->output.as_array);
    while (call->count < results->values) {
        const unsigned k = call->count++;
        const struct result_request request = describe_result(call, k);
        struct result_memory *const slot = &call->memory[k];
        *slot = (struct result_memory){.array = NULL};
        const int status =
            results->on_device || !numpy ? result_allocate(&request, slot, &results->at[k]) : 0;
        if (status == 0 && !results->on_device)
            slot->array =
                numpy_empty(call->dimensions, call->shape, &results->types[k], &results->at[k]);
        if (status < 0 ||
            (status == 0 && !slot->array &&
             !(results->on_device && allocate_own(call, &request, slot, &results->at[k]))))
            return false;
    }
    return true;
}

/* Device results for out are written to it directly, or converted to it at the end. */
void results_describe(struct call *call)
{
    struct plan *const plan = &call->plan;
    struct results *const results = &plan->results;
    struct output *const out = &call->output;
    const bool empty =
        plan->elements.list && plan->axes ? plan->elements.list->fewest == 0 : plan->n == 0;
    results->values = answer_types(plan, empty || plan->layout->mask, results->types);
    results->type = results->types[0];
    results->on_device = out->view.on_device || (call->view.on_device && !out->object &&
                                                 (call->dimensions || call->output.as_array));
    if (out->view.on_device && !place_in_output(call))
        results->out = &out->view.layout;
}

bool results_allocate(struct call *call)
{
    struct plan *const plan = &call->plan;
    if (!plan->axes && !call->output.as_array)
        return true;
    results_describe(call);
    if (call->output.view.on_device || (!plan->results.on_device && place_in_output(call)))
        return true;
    return allocate_arrays(call);
}

/* Value k as an array of the caller's library. */
static PyObject *wrap_array(struct call *call, unsigned k)
{
    struct result_memory *const memory = &call->memory[k];
    if (call->dimensions == 0 && !call->output.as_array)
        return PyArray_Return((PyArrayObject *)Py_NewRef(memory->array));
    if (memory->array && !memory->is_device_array)
        return Py_NewRef(memory->array);
    const struct result_request request = describe_result(call, k);
    return result_array(&request, memory);
}

static PyObject *finish_array(struct call *call, unsigned k)
{
    PyObject *array = wrap_array(call, k);
    return call->request.order ? result_transpose(array, call->dimensions, call->inverse) : array;
}

PyObject *results_to_python(struct call *call)
{
    const struct results *results = &call->plan.results;
    if (!call->plan.axes && !plan_device_result(&call->plan))
        run_store(&call->run, &call->plan, 0, results->at[0]);
    if (call->output.object) {
        if (call->count && !results->on_device)
            output_store(&call->output, results->at[0], results->type);
        return Py_NewRef(call->output.object);
    }
    if (results->values == 1)
        return finish_array(call, 0);
    PyObject *record = PyList_New(0);
    for (unsigned k = 0; record && k < results->values; k++)
        list_append(&record, finish_array(call, k));
    return list_to_tuple(record);
}
