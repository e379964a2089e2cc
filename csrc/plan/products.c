#include "plan/plan.h"

#include "arrays/objects.h"
#include "plan/arguments.h"

static PyObject *place_of(const struct view *view)
{
    return view->on_device ? platform_name(view->platform, view->device)
                           : PyUnicode_FromString("host");
}

static bool refuse_places(const struct view *a, const struct view *b)
{
    OWNED *of_a = place_of(a), *of_b = place_of(b);
    return of_a && of_b &&
           value_error("a lies on '%U' and b on '%U'; both have to lie on one device, so copy one "
                       "of them to where the other is",
                       of_a, of_b);
}

static bool locate(const struct request *request, struct view *view, const char *name)
{
    const struct where *where = &request->platforms->where;
    return !view->on_device || where->locate(where, view, name);
}

static bool choose_device(const struct request *request, struct view *a, struct view *b,
                          struct plan *plan)
{
    if (!locate(request, a, "a") || !locate(request, b, "b"))
        return false;
    const bool together = a->on_device == b->on_device &&
                          (!a->on_device || (a->platform == b->platform && a->device == b->device));
    if (!together && a->n > 0) /* nothing lies everywhere */
        return refuse_places(a, b);
    return plan_choose_device(request, a->on_device ? a : b, plan);
}

enum element products_type(enum element type)
{
    if (!element_is_integer(type))
        return type;
    return type >= ELEMENT_UINT8 ? ELEMENT_UINT64 : ELEMENT_INT64;
}

void products_begin(struct view *a, struct view *b, bool exactly, struct plan *plan)
{
    const enum element type = a->layout.type, result = products_type(type),
                       wide = element_is_complex(type)   ? ELEMENT_COMPLEX128
                              : element_is_integer(type) ? result
                                                         : ELEMENT_FLOAT64;
    *plan = (struct plan){
        .layout = &a->layout,
        .factors = &b->layout,
        .n = a->n,
        .exact = exactly,
        .reduction = REDUCTION_sum,
        .fold = FOLD_sum,
        .accumulator = wide,
        .elements = {.flat = layout_is_flat(&a->layout), .on_device = a->on_device},
        .streams = {.producers = {a->producer, b->producer}},
        .finish = {.accumulator = wide,
                   .type = result,
                   .result = exactly && element_is_integer(type) ? ELEMENT_FLOAT64 : result,
                   .count = a->n,
                   .from_nothing = true}};
}

void products_settle(struct view *a, struct view *b, struct plan *plan)
{
    const enum element type = a->layout.type;
    if (plan->exact) {
        a->layout.type = holder_of_factor(a->layout.input, type);
        b->layout.type = holder_of_factor(b->layout.input, type);
    }
    plan_choose_launch(plan, true);
}

bool products_plan(const struct request *request, struct view *a, struct view *b, bool exactly,
                   struct plan *plan)
{
    products_begin(a, b, exactly, plan);
    plan->streams.consumer = request->consumer;
    if (!choose_device(request, a, b, plan) || !array_still_lies(a, "a") ||
        !array_still_lies(b, "b"))
        return false;
    if (plan->platform->place != METHOD_ON_HOST)
        products_settle(a, b, plan);
    return true;
}
