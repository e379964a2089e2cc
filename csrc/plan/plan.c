#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/plan.h"

#include "arrays/mask.h"
#include "arrays/output.h"
#include "plan/method_argument.h"
#include "plan/wrong.h"

#include <string.h>

/* ---- where ---- */

/* What lies on a device is reduced there, and nowhere else. */
static bool stay_where(const struct view *view, const char *name, const struct request *request,
                       struct plan *plan)
{
    plan->platform = view->platform;
    plan->device = view->device;
    if (!argument_given(request->device))
        return true;
    if (!platforms_parse(request->platforms, request->device, &plan->platform, &plan->device))
        return false;
    if (view->n == 0 || (plan->platform == view->platform && plan->device == view->device))
        return true;
    PyObject *place = platform_name(view->platform, view->device);
    if (place)
        PyErr_Format(PyExc_ValueError,
                     "device %R: %s lies on '%U' and the work is done there; leave device out",
                     request->device, name, place);
    Py_XDECREF(place);
    return false;
}

/* Where arrays are decides, unless the caller does; a rung without a device goes to the best that
 * runs rungs. */
static bool choose_device(const struct request *request, struct view *view, struct plan *plan)
{
    if (view->n == 0 && request->out && request->out->view.on_device)
        return stay_where(&request->out->view, "out", request, plan);
    if (view->on_device)
        return request->platforms->where.locate(&request->platforms->where, view, "a") &&
               stay_where(view, "a", request, plan);
    if (request->out && request->out->view.on_device)
        return stay_where(&request->out->view, "out", request, plan);
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

static bool check_out(const struct output *out, struct plan *plan)
{
    if (!out || !out->view.on_device)
        return true;
    if (out->view.platform != plan->platform || out->view.device != plan->device) {
        PyErr_SetString(PyExc_ValueError, "out lies on another device than the array");
        return false;
    }
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
    plan->block = plan->method ? plan->method->block_size : 0;
    if (!argument_given(request->block_size))
        return true;
    unsigned block;
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

/* ---- types ---- */

static bool warn_of_lost_imaginary_part(int frames)
{
    PyObject *exceptions = PyImport_ImportModule("numpy.exceptions");
    PyObject *category = exceptions ? PyObject_GetAttrString(exceptions, "ComplexWarning") : NULL;
    const bool fine =
        category &&
        PyErr_WarnEx(category, "Casting complex values to real discards the imaginary part",
                     1 + frames) == 0;
    Py_XDECREF(category);
    Py_XDECREF(exceptions);
    return fine;
}

/* With an out, NumPy reduces in the type that the elements and out promote to; but means of
 * integers in float64, and those of float16 in float32. */
static bool choose_type_for_output(const struct request *request, struct layout *layout)
{
    if (request->mean && element_is_integer(layout->input))
        layout->type = ELEMENT_FLOAT64;
    else if (request->mean && layout->input == ELEMENT_FLOAT16)
        layout->type = ELEMENT_FLOAT32;
    else
        return array_promote(layout->input, request->out->view.layout.input, &layout->type);
    return true;
}

/* Whether a complex number is true depends on both its parts. */
static bool loses_imaginary_part(enum element from, enum element to)
{
    return element_is_complex(from) && !element_is_complex(to) && to != ELEMENT_BOOL;
}

static bool choose_type(const struct request *request, struct layout *layout, struct plan *plan)
{
    if (argument_given(request->dtype)) {
        if (!array_element(request->dtype, "dtype", &layout->type))
            return false;
    } else if (request->out) {
        if (!choose_type_for_output(request, layout))
            return false;
    } else {
        layout->type = op_default_type(request->op, request->mean, layout->input);
    }
    plan->accumulator = element_accumulator(layout->type);
    const bool lost =
        loses_imaginary_part(layout->input, layout->type) ||
        (request->out && loses_imaginary_part(layout->type, request->out->view.layout.input));
    return !lost || warn_of_lost_imaginary_part(request->frames);
}

/* Whether C's conversion from the elements to the accumulator is all that is asked. */
static bool converts_directly(const struct layout *layout, enum element accumulator)
{
    const enum element input = layout->input, type = layout->type;
    if (input == type)
        return true;
    if (type != accumulator || element_is_complex(input) || element_is_complex(type))
        return false;
    return element_is_integer(input) || !element_is_integer(type);
}

/* The sum of truth values is whether there is a true one, their product whether all are, as in
 * NumPy. */
static void reduce_truth(struct plan *plan)
{
    union scalar nothing = {0};
    if (plan->op == OP_SUM || plan->op == OP_PROD) {
        nothing.i32 = plan->op == OP_PROD;
        plan->op = plan->op == OP_SUM ? OP_MAX : OP_MIN;
        plan->finish.op = plan->op;
        if (!plan->finish.has_initial)
            plan->finish.initial = nothing;
        plan->finish.has_initial = true;
    }
}

static bool choose_initial(const struct request *request, const struct layout *layout,
                           struct plan *plan)
{
    const bool named = request->initial && request->initial != Py_None;
    const bool has_value = named || (op_has_value_of_nothing(plan->op) && !request->initial);
    plan->finish = (struct finish){.op = plan->op,
                                   .from_nothing = !request->initial,
                                   .mean = request->mean,
                                   .has_initial = named,
                                   .accumulator = plan->accumulator,
                                   .type = layout->type,
                                   .count = plan->n};
    if (!has_value && !request->mean && plan->n == 0) {
        PyErr_Format(PyExc_ValueError, "%s of an empty array has no value; initial= gives it one",
                     op_name(plan->op));
        return false;
    }
    if (!has_value && !request->mean && layout->mask) {
        PyErr_Format(PyExc_ValueError,
                     "%s has no value where the mask hides all; where= needs initial=, too",
                     op_name(plan->op));
        return false;
    }
    union scalar initial;
    if (!named)
        return true;
    if (!array_value(request->initial, layout->type, &initial))
        return false;
    plan->finish.initial = scalar_convert(initial, layout->type, plan->accumulator);
    return true;
}

/* ---- the plan ---- */

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

static bool check_size(const struct plan *plan)
{
    const uint64_t grid_max = INT32_MAX;
    if (plan->block && plan->n / plan->block / plan->method->data_blocks >= grid_max) {
        PyErr_Format(PyExc_ValueError,
                     "%s of %llu elements in blocks of %u needs more blocks than a grid can have; "
                     "choose a larger block_size",
                     plan->method->name, (unsigned long long)plan->n, plan->block);
        return false;
    }
    return true;
}

static bool choose_method(const struct request *request, struct view *view, struct plan *plan)
{
    if (!method_parse(request->method, &plan->method) || !choose_device(request, view, plan))
        return false;
    if (plan->method && !check_method_runs_there(request->platforms, plan->method, plan->platform))
        return false;
    if (!plan->method && plan->platform->automatic != METHODS)
        plan->method = method_at(plan->platform->automatic);
    return choose_block(request, plan);
}

bool plan_make(const struct request *request, struct view *view, const struct mask *mask,
               struct plan *plan)
{
    struct layout *layout = &view->layout;
    *plan = (struct plan){
        .op = request->op,
        .layout = layout,
        .n = view->n,
        .on_device = view->on_device,
        .mask_on_device = mask && mask->on_device,
        .consumer = request->consumer,
    };
    if (!choose_method(request, view, plan) || !check_out(request->out, plan) ||
        !choose_type(request, layout, plan) || !choose_initial(request, layout, plan) ||
        !check_complex(plan) || !check_size(plan))
        return false;
    layout_normalise(layout);
    plan->flat = layout_is_flat(layout);
    plan->direct = converts_directly(layout, plan->accumulator);
    plan->producers[0] = view->producer;
    if (mask)
        plan->producers[1] = mask->producer;
    if (layout->type == ELEMENT_BOOL)
        reduce_truth(plan);
    return true;
}
