#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/plan.h"

#include "arrays/numpys.h"
#include "arrays/operands.h"
#include "plan/arguments.h"
#include "plan/axes.h"
#include "plan/place.h"
#include "plan/types.h"
#include "plan/widest.h"

/* ---- where ---- */

/* Where arrays are decides, unless the caller does; a rung without a device goes to the best that
 * runs rungs. */
static bool choose_device(const struct request *request, struct view *view, struct plan *plan)
{
    if (view->n == 0 && request->offsets && request->offsets->on_device)
        return place_stay(request->offsets, "offsets", request, &plan->platform, &plan->device);
    if (view->n == 0 && request->out && request->out->view.on_device)
        return place_stay(&request->out->view, "out", request, &plan->platform, &plan->device);
    if (view->on_device)
        return request->platforms->where.locate(&request->platforms->where, view, "a") &&
               place_stay(view, "a", request, &plan->platform, &plan->device);
    if (request->offsets && request->offsets->on_device)
        return place_stay(request->offsets, "offsets", request, &plan->platform, &plan->device);
    if (request->out && request->out->view.on_device)
        return place_stay(&request->out->view, "out", request, &plan->platform, &plan->device);
    if (argument_given(request->device))
        return platforms_parse(request->platforms, request->device, &plan->platform, &plan->device);
    plan->device = 0;
    plan->platform = platforms_on(request->platforms, METHOD_ON_HOST);
    if (!plan->method || plan->method->places == METHOD_ON_HOST)
        return true;
    bool gpu;
    if (!platforms_find_gpu(request->platforms, &gpu))
        return false;
    const bool on_gpu = gpu || plan->method->places == METHOD_ON_CUDA;
    plan->platform =
        platforms_on(request->platforms, on_gpu ? METHOD_ON_CUDA : METHOD_ON_SIMULATED);
    return true;
}

/* Results along axes go to out in a way of their own. */
static bool check_out(const struct request *request, struct plan *plan)
{
    const struct output *out = request->out;
    if (!out || !out->view.on_device)
        return true;
    if (out->view.platform != plan->platform || out->view.device != plan->device) {
        PyErr_SetString(PyExc_ValueError, "out lies on another device than the array");
        return false;
    }
    if (!request->axes)
        plan->out = (void *)out->view.layout.data;
    plan->out_element = out->view.layout.input;
    plan->producers[2] = out->view.producer;
    return true;
}

static bool check_method_runs_there(const struct platforms *platforms, const struct method *method,
                                    const struct platform *platform)
{
    struct failure why = {0};
    if (method->places & platform->place) {
        if (platforms_count(platforms, platform, &why) > 0)
            return true;
        PyErr_Format(PyExc_RuntimeError, "method '%s' runs on a GPU, and there is none to use (%s)",
                     method->name, why.text);
        return false;
    }
    PyErr_Format(PyExc_ValueError, "method '%s' does not run on '%s'; it runs on%s%s%s",
                 method->name, platform->name, method->places & METHOD_ON_HOST ? " 'host'" : "",
                 method->places & METHOD_ON_SIMULATED ? " 'simulated' and" : "",
                 method->places & METHOD_ON_CUDA ? " 'cuda'" : "");
    return false;
}

static bool choose_block(const struct request *request, struct plan *plan)
{
    unsigned block;
    if (!argument_given(request->block_size))
        return true;
    if (!block_size_parse(request->block_size, &block))
        return false;
    if (plan->block == 0) {
        PyErr_Format(PyExc_ValueError,
                     "block_size has no meaning for %s on '%s'; got %R. It is for the rungs on "
                     "'cuda' or 'simulated'",
                     plan->method ? plan->method->name : "method 'auto'", plan->platform->name,
                     request->block_size);
        return false;
    }
    plan->block = block;
    return true;
}

/* ---- what is refused ---- */

/* A fold whose state is more than one value is the default method's, which merges any. */
static bool check_method(const struct request *request, const struct plan *plan)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    if (fold_is_on_ladder(row->fold) || !plan->method ||
        plan->method == method_at(plan->platform->automatic))
        return true;
    PyErr_Format(PyExc_ValueError,
                 "method '%s' does not run %s: only sum, prod, min, max and mean climb the ladder; "
                 "leave method out, or say 'auto'",
                 plan->method->name, row->called);
    return false;
}

static bool check_complex(const struct plan *plan)
{
    if (!element_is_complex(plan->accumulator) || !plan->method ||
        plan->method == method_at(METHOD_last_block) || plan->method->places == METHOD_ON_HOST)
        return true;
    PyErr_Format(PyExc_TypeError,
                 "method '%s' does not take complex elements; 'auto', last_block and recursive do",
                 plan->method->name);
    return false;
}

/* What is rounded once is rounded to the type in which it is kept, or, if that is of integers, to
 * the one from which these are made. */
static void round_for_output(const struct output *out, struct plan *plan)
{
    struct finish *finish = &plan->finish;
    if (out && !element_is_integer(out->view.layout.input))
        finish->result = out->view.layout.input;
    else if (element_is_integer(finish->result))
        finish->result = reduction_row(plan->reduction)->result == RESULT_real
                             ? element_real_part(finish->type)
                             : finish->type;
}

/* A type that devices copy elements to without a rounding, where they cannot be read as they lie.
 */
static enum element holder_of(enum element input, enum element type)
{
    if (element_is_integer(input))
        return input == ELEMENT_UINT64 ? ELEMENT_UINT64 : ELEMENT_INT64;
    return element_is_complex(input) && element_is_complex(type) ? ELEMENT_COMPLEX128
                                                                 : ELEMENT_FLOAT64;
}

/* Sums of integers are exact by any method. */
static bool choose_exactness(const struct request *request, struct layout *layout,
                             struct plan *plan)
{
    const struct reduction_row *row = reduction_row(request->reduction);
    if (!plan->exact)
        return true;
    if (row->fold != FOLD_sum && row->fold != FOLD_nansum && row->fold != FOLD_norm2) {
        PyErr_Format(PyExc_ValueError,
                     "method 'exact' is for sum, mean, nansum, nanmean and the norm of order 2; "
                     "not for %s",
                     row->called);
        return false;
    }
    plan->exact = !element_is_integer(plan->finish.type);
    if (!plan->exact)
        return true;
    round_for_output(request->out, plan);
    if (plan->platform->place == METHOD_ON_HOST)
        return true;
    layout->type = plan_adds_products(plan) ? holder_of_factor(layout->input, layout->type)
                                            : holder_of(layout->input, layout->type);
    return true;
}

/* Where nothing is needed of a reduction that has no value then, or the mask may leave nothing.
 * Segments of no elements have the neutral element. */
static bool check_nothing(const struct request *request, const struct plan *plan)
{
    if (request->offsets)
        return true;
    const struct reduction_row *row = reduction_row(request->reduction);
    const bool named = plan->finish.has_initial;
    const bool has_value = named || row->nothing == NOTHING_nan ||
                           (row->nothing == NOTHING_value && !request->initial);
    const bool takes_initial = row->nothing != NOTHING_error;
    if (!has_value && plan->n == 0) {
        PyErr_Format(PyExc_ValueError, "%s of an empty array has no value%s", row->called,
                     takes_initial ? "; initial= gives it one" : "");
        return false;
    }
    if (!has_value && takes_initial && plan->layout->mask) {
        PyErr_Format(PyExc_ValueError,
                     "%s has no value where the mask hides all; where= needs initial=, too",
                     row->called);
        return false;
    }
    return true;
}

/* ---- the plan ---- */

/* Methods are ways to reduce a whole array. */
static bool check_method_along(const struct request *request, const struct plan *plan)
{
    if (!plan->method || !request->along)
        return true;
    PyErr_Format(PyExc_ValueError,
                 "method '%s' is for whole arrays; with axis= or keepdims= leave method out, or "
                 "say 'auto'",
                 plan->method->name);
    return false;
}

/* The host finishes a single state, or tells the device what with. */
static bool check_means(const struct request *request)
{
    if (!request->means || request->means->here || request->axes)
        return true;
    PyErr_SetString(PyExc_NotImplementedError,
                    "mean= of a whole array is to be a number on the host, and it lies on a "
                    "device; give mean.item(), or keepdims=True");
    return false;
}

static bool choose_method(const struct request *request, struct view *view, struct plan *plan)
{
    if (!method_parse(request->method, &plan->method, &plan->exact) ||
        !check_method_along(request, plan) || !choose_device(request, view, plan))
        return false;
    if (plan->method && !check_method_runs_there(request->platforms, plan->method, plan->platform))
        return false;
    const bool automatic = !plan->method && plan->platform->automatic != METHODS;
    plan->automatic = automatic && !argument_given(request->block_size);
    if (automatic)
        plan->method = method_at(plan->platform->automatic);
    if (plan->method) {
        plan->block = plan->method->block_size;
        plan->data_blocks = plan->method->data_blocks;
    }
    return choose_block(request, plan);
}

/* What the reduction is of these values. */
static enum reduction resolved(const struct request *request, enum element input, enum element type)
{
    const enum reduction asked = request->reduction;
    const bool extreme = asked == REDUCTION_nanmin || asked == REDUCTION_nanmax;
    const bool may_be_nan =
        extreme && argument_given(request->initial) && !element_is_integer(type);
    const enum reduction plain =
        element_is_integer(input) && !may_be_nan ? reduction_row(asked)->plain : asked;
    return type == ELEMENT_BOOL ? reduction_row(plain)->bools : plain;
}

/* NumPy's words for what cannot be converted do not say which argument that was. */
static bool wrong_initial(PyObject *initial, enum element type)
{
    PyObject *const kinds[] = {PyExc_ValueError, PyExc_TypeError, PyExc_OverflowError};
    for (int k = 0; k < 3; k++)
        if (PyErr_ExceptionMatches(kinds[k])) {
            PyErr_Format(kinds[k],
                         "initial must be a number for results of %s; got %.200R (%.200s)",
                         element_name(type), initial, Py_TYPE(initial)->tp_name);
            break;
        }
    return false;
}

static bool choose_initial(const struct request *request, struct plan *plan)
{
    struct finish *finish = &plan->finish;
    union scalar initial;
    finish->from_nothing = !request->initial;
    finish->has_initial = argument_given(request->initial);
    if (!finish->has_initial)
        return true;
    if (!numpys_value(request->initial, finish->type, &initial))
        return wrong_initial(request->initial, finish->type);
    finish->initial = scalar_convert(initial, finish->type, plan->accumulator);
    return true;
}

/* Whether the run has to count what takes part: the reduction may want to know, or nothing may. */
static bool has_to_count(const struct plan *plan)
{
    const struct reduction_row *row = reduction_row(plan->reduction);
    return row->counts ||
           (row->nothing == NOTHING_error && plan->layout->mask && !fold_is_indexed(plan->fold));
}

static bool choose_reduction(const struct request *request, struct layout *layout,
                             struct plan *plan)
{
    struct types types;
    if (!types_choose(request, layout, &types))
        return false;
    layout->type = types.elements;
    plan->reduction = resolved(request, layout->input, types.elements);
    plan->fold = reduction_row(plan->reduction)->fold;
    plan->accumulator = element_accumulator(types.elements);
    plan->finish = (struct finish){.accumulator = plan->accumulator,
                                   .type = types.elements,
                                   .result = types.result,
                                   .count = plan->n,
                                   .ddof = request->ddof};
    plan->counts = has_to_count(plan);
    if (request->means && !request->axes) {
        plan->finish.has_mean = true;
        plan->finish.mean = *request->means->here;
    }
    return choose_initial(request, plan) && check_nothing(request, plan) &&
           choose_exactness(request, layout, plan);
}

/* Whether an element may be taken in as often as one likes. */
static bool is_idempotent(enum reduction reduction)
{
    switch (reduction) {
    case REDUCTION_any:
    case REDUCTION_all:
    case REDUCTION_min:
    case REDUCTION_max:
    case REDUCTION_nanmin:
    case REDUCTION_nanmax:
    case REDUCTION_ptp:
    case REDUCTION_minmax:
        return true;
    default:
        return false;
    }
}

/* Of broadcast elements one is enough, then; but a method that is asked for shall see all. */
static void leave_out_repeats(const struct request *request, struct layout *layout,
                              struct plan *plan)
{
    const uint64_t reduced = request->axes ? request->reduced : UINT64_MAX;
    if (!is_idempotent(plan->reduction) || layout->mask || plan->n == 0 ||
        (plan->method && !plan->automatic))
        return;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (reduced >> k & 1 && layout->strides[k] == 0) {
            plan->n /= layout->shape[k];
            layout->shape[k] = 1;
        }
    plan->finish.count = plan->n;
}

/* In their best order. */
static void find_elements(const struct request *request, struct layout *layout, struct plan *plan)
{
    const bool in_order = fold_is_indexed(plan->fold);
    leave_out_repeats(request, layout, plan);
    if (request->axes) {
        axes_make(layout, request->reduced, in_order, request->axes);
        plan->axes = request->axes;
        plan->layout = &request->axes->reduced;
        plan->flat = layout_is_flat(plan->layout) && request->axes->aligned;
    } else {
        layout_normalise(layout, in_order);
        plan->flat = layout_is_flat(layout);
    }
}

size_t results_widest(const struct results *self)
{
    size_t widest = 0;
    for (unsigned v = 0; v < self->values; v++)
        if (element_size(self->types[v]) > widest)
            widest = element_size(self->types[v]);
    return widest;
}

/* What arguments' code has done to the arrays, now that no more of it runs. */
static bool arrays_still_lie(const struct request *request, const struct view *view,
                             const struct view *mask)
{
    const struct view *const offsets = request->offsets;
    return array_still_lies(view, offsets ? "values" : "a") &&
           (!mask || array_still_lies(mask, "where")) &&
           (!offsets || array_still_lies(offsets, "offsets")) &&
           (!request->out || array_still_lies(&request->out->view, "out"));
}

bool plan_make(const struct request *request, struct view *view, const struct view *mask,
               struct plan *plan)
{
    struct layout *layout = &view->layout;
    *plan = (struct plan){
        .layout = layout,
        .n = request->axes ? axes_length(layout, request->reduced) : view->n,
        .on_device = view->on_device,
        .mask_on_device = mask && mask->on_device,
        .consumer = request->consumer,
        .means = request->means,
    };
    if (!choose_method(request, view, plan) || !check_means(request) || !check_out(request, plan) ||
        !choose_reduction(request, layout, plan) || !check_method(request, plan) ||
        !check_complex(plan) || !arrays_still_lie(request, view, mask))
        return false;
    find_elements(request, layout, plan);
    plan->direct = types_convert_directly(layout, plan->accumulator);
    plan->producers[0] = view->producer;
    if (mask)
        plan->producers[1] = mask->producer;
    if (request->means)
        plan->producers[4] = request->means->view.producer;
    return true;
}

/* ---- grids ---- */

bool plan_grid_grows(const struct plan *plan)
{
    return plan->method->style == STYLE_levels || plan->method->style == STYLE_in_place ||
           plan->method->style == STYLE_tiles;
}

bool plan_fits(const struct plan *plan, struct failure *failure)
{
    const uint64_t grid_max = INT32_MAX;
    if (!plan->method || !plan_grid_grows(plan) ||
        plan->n / plan->block / plan->data_blocks < grid_max)
        return true;
    failure_note(failure, FAILURE_VALUE,
                 "%s of %llu elements in blocks of %u needs more blocks than a grid can have; "
                 "choose a larger block_size",
                 plan->method->name, (unsigned long long)plan->n, plan->block);
    return false;
}
