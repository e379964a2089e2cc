#include "plan/plan.h"

#include "arrays/numpys.h"
#include "arrays/objects.h"
#include "arrays/operands.h"
#include "common/exact_sums.h"
#include "plan/arguments.h"
#include "plan/axes.h"

/* ---- choosing a device ---- */

/* Arrays on a device are reduced there. */
static bool use_array_device(const struct request *request, const struct view *view,
                             const char *name, struct plan *plan)
{
    plan->platform = view->platform;
    plan->device = view->device;
    if (!argument_given(request->device))
        return true;
    if (!platforms_parse(request->platforms, request->device, &plan->platform, &plan->device))
        return false;
    if (view->n == 0 || (plan->platform == view->platform && plan->device == view->device))
        return true;
    OWNED *device = platform_name(view->platform, view->device);
    return device && value_error("device %.200R: %s is on '%U', where it is reduced; omit device",
                                 request->device, name, device);
}

bool plan_choose_device(const struct request *request, struct view *view, struct plan *plan)
{
    const struct platforms *platforms = request->platforms;
    const bool offsets = request->offsets && request->offsets->on_device,
               has_other = offsets || (request->out && request->out->view.on_device);
    if (view->on_device && (view->n > 0 || !has_other))
        return platforms->locator.locate(&platforms->locator, view, "a") &&
               use_array_device(request, view, "a", plan);
    if (has_other)
        return use_array_device(request, offsets ? request->offsets : &request->out->view,
                                offsets ? "offsets" : "out", plan);
    return platforms_choose(platforms, request->device,
                            plan->method ? plan->method->places : METHOD_ON_HOST, &plan->platform,
                            &plan->device);
}

/* Sends a single result to out. Results along axes are described later, by results_describe. */
static bool bind_out(const struct request *request, struct plan *plan)
{
    const struct output *out = request->out;
    if (!out || !out->view.on_device)
        return true;
    if (out->view.platform != plan->platform || out->view.device != plan->device)
        return value_error("out is on another device than the array");
    plan->results = single_result((void *)out->view.layout.data, out->view.layout.input);
    return true;
}

static bool check_method_platform(const struct platforms *platforms, const struct method *method,
                                  const struct platform *platform)
{
    struct failure why = {0};
    if (method->places & platform->place) {
        if (platforms_count(platforms, platform, &why) > 0)
            return true;
        return PyErr_Format(PyExc_RuntimeError,
                            "method '%s' needs a GPU, and none is available (%s)", method->name,
                            why.text);
    }
    return value_error("method '%s' does not run on '%s'; it runs on%s%s%s", method->name,
                       platform->name, method->places & METHOD_ON_HOST ? " 'host'" : "",
                       method->places & METHOD_ON_SIMULATED ? " 'simulated' and" : "",
                       method->places & METHOD_ON_CUDA ? " 'cuda'" : "");
}

static bool choose_block(const struct request *request, struct plan *plan)
{
    static const char accepted[] = "None or a power of two from 32 to 1024";
    PyObject *const given = request->block_size;
    long block;
    if (!argument_given(given))
        return true;
    if (!integer_parse(given, "block_size", accepted, &block))
        return false;
    if (block < BLOCK_SIZE_MIN || block > BLOCK_SIZE_MAX || (block & (block - 1)))
        return value_error("block_size must be %s; got %.200R", accepted, given);
    if (plan->launch.block == 0)
        return value_error("block_size does not apply to %s on '%s'; got %.200R. It is for the "
                           "ladder's methods on 'cuda' or 'simulated'",
                           plan->method ? plan->method->name : "method 'auto'",
                           plan->platform->name, given);
    plan->launch.block = (unsigned)block;
    return true;
}

/* ---- checks ---- */

/* The default method merges any state, others only single values and mostly not complex ones. */
static bool check_method(const struct request *request, const struct plan *plan)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    const struct method *method = plan->method;
    if (!method)
        return true;
    if (!fold_is_on_ladder(row->fold) && method != method_at(plan->platform->automatic))
        return value_error("method '%s' does not support %s: the ladder's methods are for sum, "
                           "prod, min, max and mean; omit method, or pass 'auto'",
                           method->name, row->called);
    if (element_is_complex(plan->accumulator) && method != method_at(METHOD_last_block) &&
        method->places != METHOD_ON_HOST)
        return type_error("method '%s' does not support complex elements; 'auto', 'last_block' and "
                          "'recursive' do",
                          method->name);
    return true;
}

static bool choose_exactness(const struct request *request, struct layout *layout,
                             struct plan *plan)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    if (!plan->exact)
        return true;
    if (row->fold != FOLD_sum && row->fold != FOLD_nansum && row->fold != FOLD_norm2)
        return value_error("method 'exact' does not support %s here; it supports sum, mean, "
                           "nansum, nanmean and the norm of order 2, and gred.var, std, nanvar, "
                           "nanstd and describe",
                           row->called);
    plan_make_exact(request->out, layout, plan);
    return true;
}

/* Refuses empty arrays, and masks that may leave nothing, for reductions that then have no value.
 * Empty segments get the identity. */
static bool check_empty(const struct request *request, const struct plan *plan)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    const bool takes_initial = row->nothing != NOTHING_error;
    if (request->offsets || plan->finish.has_initial || row->nothing == NOTHING_nan ||
        (row->nothing == NOTHING_value && !request->initial))
        return true;
    if (plan->n == 0)
        return value_error("%s of an empty array has no value%s", row->called,
                           takes_initial ? "; pass initial= to give it one" : "");
    if (takes_initial && plan->layout->mask && !request->mask_nonempty)
        return value_error(
            "%s has no value where the mask excludes all elements; where= requires initial=",
            row->called);
    return true;
}

/* The host finishes a single result, or passes the mean to the device. */
static bool check_means(const struct request *request)
{
    if (!request->means || request->means->here || request->axes)
        return true;
    return PyErr_Format(PyExc_NotImplementedError,
                        "mean= of a whole array must be a number on the host, and it is on a "
                        "device; pass mean.item(), or keepdims=True");
}

/* A named method reduces a whole array. */
static bool choose_method(const struct request *request, struct view *view, struct plan *plan)
{
    struct method_argument method;
    if (!method_parse(request->method, &method))
        return false;
    plan->method = method.named;
    plan->exact = method.exact;
    plan->launch.batch_invariant = method.batch_invariant;
    if (method.batch_invariant && !request->axes_given)
        return value_error(
            "method 'batch_invariant' is for reductions along axes; pass axis= or keepdims=");
    if (plan->method && request->axes_given)
        return value_error(
            "method '%s' is for whole arrays; with axis= or keepdims= omit method, or pass 'auto'",
            plan->method->name);
    if (!plan_choose_device(request, view, plan) ||
        (plan->method && !check_method_platform(request->platforms, plan->method, plan->platform)))
        return false;
    plan_choose_launch(plan, !argument_given(request->block_size));
    return choose_block(request, plan);
}

/* The variant of the reduction for these types. Devices compute any and all by counting true
 * elements; their kernels for extremes of bools along axes count as well. */
static enum reduction resolve_reduction(const struct request *request, const struct plan *plan,
                                        enum element input, enum element type)
{
    const enum reduction reduction = request->reduction;
    const bool may_be_nan = (reduction == REDUCTION_nanmin || reduction == REDUCTION_nanmax) &&
                            argument_given(request->initial) && !element_is_integer(type);
    const enum reduction plain =
        element_is_integer(input) && !may_be_nan ? reduction_row(reduction)->plain : reduction;
    const bool counted =
        reduction_row(plain)->fold == FOLD_nonzero && plan->platform->place != METHOD_ON_HOST;
    return type == ELEMENT_BOOL && !counted ? reduction_row(plain)->bools : plain;
}

/* NumPy's conversion errors do not name the argument. */
static bool choose_initial(const struct request *request, struct plan *plan)
{
    struct finish *finish = &plan->finish;
    PyObject *const kinds[] = {PyExc_ValueError, PyExc_TypeError, PyExc_OverflowError};
    union scalar initial;
    finish->includes_identity = !request->initial;
    finish->has_initial = argument_given(request->initial);
    if (!finish->has_initial)
        return true;
    if (numpy_pack(request->initial, finish->type, &initial)) {
        finish->initial = scalar_convert(initial, finish->type, plan->accumulator);
        return true;
    }
    for (int k = 0; k < 3; k++)
        if (PyErr_ExceptionMatches(kinds[k])) {
            PyErr_Format(
                kinds[k], "initial must be a number for results of %s; got %.200R (%.200s)",
                element_name(finish->type), request->initial, Py_TYPE(request->initial)->tp_name);
            break;
        }
    return false;
}

static bool choose_reduction(const struct request *request, struct layout *layout,
                             struct plan *plan)
{
    struct resolved_call resolved = {.ddof = request->ddof, .exact = plan->exact};
    if (!types_choose(request, layout, &resolved))
        return false;
    resolved.reduction = resolve_reduction(request, plan, layout->input, resolved.elements);
    plan_set_types(&resolved, layout, plan);
    if (request->means && !request->axes) {
        plan->finish.has_mean = true;
        plan->finish.mean = *request->means->here;
    }
    return choose_initial(request, plan) && check_empty(request, plan) &&
           choose_exactness(request, layout, plan);
}

bool plan_make(const struct request *request, struct view *view, const struct view *mask,
               struct plan *plan)
{
    struct layout *layout = &view->layout;
    *plan = (struct plan){
        .layout = layout,
        .n = request->axes ? axes_length(layout, request->reduced) : view->n,
        .elements = {.on_device = view->on_device, .mask_on_device = mask && mask->on_device},
        .means = request->means,
    };
    if (!choose_method(request, view, plan) || !check_means(request) || !bind_out(request, plan) ||
        !choose_reduction(request, layout, plan) || !check_method(request, plan))
        return false;
    /* No more code of arguments runs from here on, so check whether it has resized any array. */
    if (!array_check_unmoved(view, request->offsets ? "values" : "a") ||
        (mask && !array_check_unmoved(mask, "where")) ||
        (request->offsets && !array_check_unmoved(request->offsets, "offsets")) ||
        (request->out && !array_check_unmoved(&request->out->view, "out")))
        return false;
    const uint64_t whole = request->offsets ? 0 : UINT64_MAX; /* offsets are positions */
    plan_set_layout(layout, request->axes ? request->reduced : whole, request->order, request->axes,
                    plan);
    if (request->list_streams)
        plan->streams = *request->list_streams;
    plan->streams.consumer = request->consumer;
    const struct view *const viewed[] = {view, mask, request->offsets,
                                         request->out ? &request->out->view : NULL,
                                         request->means ? &request->means->view : NULL};
    for (size_t k = 0; k < sizeof viewed / sizeof *viewed; k++)
        if (viewed[k])
            plan_add_producer(&plan->streams, &viewed[k]->producer);
    return true;
}

/* ---- sums of products ---- */

static PyObject *device_name(const struct view *view)
{
    return view->on_device ? platform_name(view->platform, view->device)
                           : PyUnicode_FromString("host");
}

static bool choose_common_device(const struct request *request, struct view *a, struct view *b,
                                 struct plan *plan)
{
    const struct locator *locator = &request->platforms->locator;
    if (!locator->locate(locator, a, "a") || !locator->locate(locator, b, "b"))
        return false;
    const bool same = a->on_device == b->on_device &&
                      (!a->on_device || (a->platform == b->platform && a->device == b->device));
    if (same || a->n == 0) /* empty arrays may be anywhere */
        return plan_choose_device(request, a->on_device ? a : b, plan);
    OWNED *dev_a = device_name(a), *dev_b = device_name(b);
    return dev_a && dev_b &&
           value_error("a is on '%U' and b on '%U'; both must be on the same device", dev_a, dev_b);
}

bool products_plan(const struct request *request, struct view *a, struct view *b, bool exactly,
                   struct plan *plan)
{
    plan->method = NULL;
    if (!choose_common_device(request, a, b, plan) || !array_check_unmoved(a, "a") ||
        !array_check_unmoved(b, "b"))
        return false;
    products_plan_on(plan->platform, plan->device, a, b, exactly, plan);
    plan->streams.consumer = request->consumer;
    return true;
}

/* ---- cached plans for short calls ---- */

/* The platform is NULL where there is no plan. */
struct cached_plans {
    struct plan plans[FIRST_VARIANT][ELEMENTS];
};

/* A type or value error leaves no plan, and is raised again by each call that needs one. */
static bool make_plan(const struct platforms *platforms, enum reduction reduction,
                      enum element element, struct plan *plan)
{
    static const union scalar elements[2];
    const struct request request = {.platforms = platforms, .reduction = reduction};
    struct view view = {.layout = {.data = elements,
                                   .input = element,
                                   .type = element,
                                   .dimensions = 1,
                                   .shape = {2},
                                   .strides = {(int64_t)element_size(element)}},
                        .n = 2};
    if (plan_make(&request, &view, NULL, plan))
        return true;
    plan->platform = NULL;
    if (!PyErr_ExceptionMatches(PyExc_TypeError) && !PyErr_ExceptionMatches(PyExc_ValueError))
        return false;
    PyErr_Clear();
    return true;
}

struct cached_plans *cached_plans_make(const struct platforms *platforms)
{
    struct cached_plans *self = PyMem_Malloc(sizeof *self);
    bool made = self;
    for (int r = 0; made && r < FIRST_VARIANT; r++)
        for (int e = 0; made && e < ELEMENTS; e++)
            made = make_plan(platforms, (enum reduction)r, (enum element)e, &self->plans[r][e]);
    if (made)
        return self;
    if (!self)
        PyErr_NoMemory();
    PyMem_Free(self);
    return NULL;
}

bool cached_plan(const struct cached_plans *self, enum reduction reduction, struct layout *layout,
                 struct plan *plan)
{
    *plan = self->plans[reduction][layout->input];
    layout->type = plan->finish.type;
    plan->layout = layout;
    plan->n = plan->finish.count = layout_length(layout);
    return plan->platform;
}

/* ---- properties of a plan ---- */

struct exact_span plan_exact_span(const struct plan *plan, enum element accumulator)
{
    return plan_adds_products(plan) ? exact_span_of_products(plan->fold, accumulator)
                                    : exact_span_of(accumulator);
}

enum exact_rounding plan_exact_rounding(const struct plan *plan)
{
    return plan->fold == FOLD_norm2                                 ? EXACT_ROOT
           : reduction_row(plan->reduction)->nothing == NOTHING_nan ? EXACT_MEAN
                                                                    : EXACT_SUM;
}

bool plan_results_are_zero(const struct plan *plan)
{
    return (plan->fold == FOLD_argmin || plan->fold == FOLD_argmax) && plan->n == 1 &&
           !plan->layout->mask && plan->axes->first == 0;
}

bool plan_fits(const struct plan *plan, struct failure *failure)
{
    const uint64_t grid_max = INT32_MAX;
    if (!plan->method || !method_is(plan->method, METHOD_GRID_GROWS) ||
        plan->n / plan->launch.block / plan->launch.data_blocks < grid_max)
        return true;
    return failure_record(
        failure, FAILURE_VALUE,
        "%s of %llu elements in blocks of %u needs more blocks than a grid can have; "
        "choose a larger block_size",
        plan->method->name, (unsigned long long)plan->n, plan->launch.block);
}
