#include "plan/plan.h"

#include "arrays/objects.h"
#include "plan/arguments.h"

static PyObject *place_of(const struct view *view)
{
    return view->on_device ? platform_name(view->platform, view->device)
                           : PyUnicode_FromString("host");
}

static bool choose_device(const struct request *request, struct view *a, struct view *b,
                          struct plan *plan)
{
    const struct where *where = &request->platforms->where;
    if (!where->locate(where, a, "a") || !where->locate(where, b, "b"))
        return false;
    const bool together = a->on_device == b->on_device &&
                          (!a->on_device || (a->platform == b->platform && a->device == b->device));
    if (together || a->n == 0) /* nothing lies everywhere */
        return plan_choose_device(request, a->on_device ? a : b, plan);
    OWNED *of_a = place_of(a), *of_b = place_of(b);
    return of_a && of_b &&
           value_error("a lies on '%U' and b on '%U'; both have to lie on one device, so copy one "
                       "of them to where the other is",
                       of_a, of_b);
}

enum element products_type(enum element type)
{
    if (!element_is_integer(type))
        return type;
    return type >= ELEMENT_UINT8 ? ELEMENT_UINT64 : ELEMENT_INT64;
}

void products_settle(const struct platform *platform, int device, struct view *a, struct view *b,
                     bool exactly, struct plan *plan)
{
    const enum element type = a->layout.type, result = products_type(type),
                       wide = element_is_complex(type)   ? ELEMENT_COMPLEX128
                              : element_is_integer(type) ? result
                                                         : ELEMENT_FLOAT64;
    *plan = (struct plan){
        .platform = platform,
        .device = device,
        .layout = &a->layout,
        .factors = &b->layout,
        .n = a->n,
        .exact = exactly,
        .reduction = REDUCTION_sum,
        .fold = FOLD_sum,
        .accumulator = wide,
        .elements = {.flat = layout_is_flat(&a->layout), .on_device = a->on_device},
        .finish = {.accumulator = wide,
                   .type = result,
                   .result = exactly && element_is_integer(type) ? ELEMENT_FLOAT64 : result,
                   .count = a->n,
                   .from_nothing = true}};
    plan_wait_for(&plan->streams, &a->producer);
    plan_wait_for(&plan->streams, &b->producer);
    if (platform->place == METHOD_ON_HOST)
        return;
    if (exactly) {
        a->layout.type = holder_of_factor(a->layout.input, type);
        b->layout.type = holder_of_factor(b->layout.input, type);
    }
    plan_choose_launch(plan, true);
}

bool products_plan(const struct request *request, struct view *a, struct view *b, bool exactly,
                   struct plan *plan)
{
    plan->method = NULL;
    if (!choose_device(request, a, b, plan) || !array_still_lies(a, "a") ||
        !array_still_lies(b, "b"))
        return false;
    products_settle(plan->platform, plan->device, a, b, exactly, plan);
    plan->streams.consumer = request->streams.consumer;
    return true;
}
