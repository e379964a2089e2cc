/* From a resolved call to a plan, without Python, so that other languages can make plans, too. */
#include <Python.h>

#include "plan/plan.h"

#include "arrays/operands.h"
#include "plan/axes.h"

void plan_add_producer(struct plan_streams *self, const struct stream *producer)
{
    unsigned k = 0;
    while (k < self->count && (self->producers[k].handle != producer->handle ||
                               self->producers[k].passing != producer->passing))
        k++;
    if (!producer->given || k == PRODUCERS_MAX)
        return;
    self->producers[k] = *producer;
    self->count += k == self->count;
}

void plan_choose_launch(struct plan *plan, bool automatic)
{
    if (!plan->method && plan->platform->automatic != METHODS) {
        plan->method = method_at(plan->platform->automatic);
        plan->launch.automatic = automatic;
    }
    if (plan->method) {
        plan->launch.block = plan->method->block_size;
        plan->launch.data_blocks = plan->method->data_blocks;
    }
}

/* The run has to count elements if the reduction needs that or a mask may leave none. The norms of
 * orders 1 and 2 of one real element are equal, and that of order 1 has the smaller state. */
void plan_set_types(const struct resolved_call *resolved, struct layout *layout, struct plan *plan)
{
    const bool magnitude = resolved->reduction == REDUCTION_norm && plan->n == 1 &&
                           !resolved->exact && !element_is_complex(resolved->elements);
    plan->reduction = magnitude ? REDUCTION_norm_1 : resolved->reduction;
    const struct reduction_row *row = reduction_row(plan->reduction);
    layout->type = resolved->elements;
    plan->fold = row->fold;
    plan->accumulator = element_accumulator(resolved->elements);
    plan->finish = (struct finish){.accumulator = plan->accumulator,
                                   .type = resolved->elements,
                                   .result = resolved->result,
                                   .count = plan->n,
                                   .ddof = resolved->ddof};
    plan->counts = row->counts ||
                   (row->nothing == NOTHING_error && layout->mask && !fold_is_indexed(plan->fold));
    if (element_is_integer(plan->accumulator) || fold_is_indexed(plan->fold))
        plan->launch.batch_invariant = false; /* the same in any order */
}

/* Rounds exact results to the type that they are stored in, or, for an integer type, to the type
 * that is then cast to it. */
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

/* Integer sums are exact by any method. Devices copy elements to a type without rounding. */
void plan_make_exact(const struct output *out, struct layout *layout, struct plan *plan)
{
    const enum element input = layout->input;
    plan->exact = !element_is_integer(plan->finish.type);
    if (!plan->exact)
        return;
    round_for_output(out, plan);
    if (plan->platform->place == METHOD_ON_HOST)
        return;
    if (plan_adds_products(plan))
        layout->type = factor_type(input, layout->type);
    else
        layout->type =
            widest_accumulator(element_is_complex(layout->type) ? input : element_real_part(input));
}

/* Idempotent reductions need only one of several broadcast elements; but a method that the caller
 * named processes all of them. */
static void drop_broadcast(struct layout *layout, uint64_t reduced, struct plan *plan)
{
    static const bool idempotent[REDUCTIONS] = {
        [REDUCTION_any] = true,          [REDUCTION_all] = true,
        [REDUCTION_min] = true,          [REDUCTION_max] = true,
        [REDUCTION_nanmin] = true,       [REDUCTION_nanmax] = true,
        [REDUCTION_ptp] = true,          [REDUCTION_minmax] = true,
        [REDUCTION_sum_of_truth] = true, [REDUCTION_prod_of_truth] = true,
    };
    if (!idempotent[plan->reduction] || layout->mask || plan->n == 0 ||
        (plan->method && !plan->launch.automatic))
        return;
    for (unsigned k = 0; k < layout->dimensions; k++)
        if (reduced >> k & 1 && layout->strides[k] == 0) {
            plan->n /= layout->shape[k];
            layout->shape[k] = 1;
        }
    plan->finish.count = plan->n;
}

void plan_set_layout(struct layout *layout, uint64_t reduced, const unsigned *order,
                     struct axes *axes, struct plan *plan)
{
    const bool in_order = fold_is_indexed(plan->fold);
    drop_broadcast(layout, reduced, plan);
    if (axes) {
        axes_make(layout, reduced, in_order, order, axes);
        plan->axes = axes;
        plan->layout = &axes->reduced;
    } else {
        layout_normalise(layout, in_order);
    }
    plan->elements.flat = layout_is_flat(plan->layout) && (!axes || axes->aligned);
    plan->elements.direct = types_convert_directly(layout, plan->accumulator);
}

void plan_retarget(struct plan *plan, const struct layout *layout, uint64_t n, bool flat)
{
    plan->axes = NULL;
    plan->layout = layout;
    plan->n = plan->finish.count = n;
    plan->elements.list = NULL;
    plan->elements.flat = flat;
    plan->elements.direct = types_convert_directly(layout, plan->accumulator);
}

void plan_from_resolved(const struct resolved_call *resolved, struct view *view, uint64_t reduced,
                        struct axes *axes, struct plan *plan)
{
    struct layout *layout = &view->layout;
    *plan = (struct plan){
        .platform = view->platform,
        .device = view->device,
        .launch = {.batch_invariant = resolved->batch_invariant},
        .layout = layout,
        .n = axes ? axes_length(layout, reduced) : view->n,
        .elements = {.on_device = view->on_device},
    };
    plan_choose_launch(plan, true);
    plan_set_types(resolved, layout, plan);
    plan->finish.includes_identity = true;
    if (resolved->exact)
        plan_make_exact(NULL, layout, plan);
    plan_set_layout(layout, reduced, NULL, axes, plan);
}

/* ---- sums of products ---- */

enum element sum_type(enum element type)
{
    if (!element_is_integer(type))
        return type;
    return type >= ELEMENT_UINT8 ? ELEMENT_UINT64 : ELEMENT_INT64;
}

void products_plan_on(const struct platform *platform, int device, struct view *a, struct view *b,
                      bool exactly, struct plan *plan)
{
    const enum element type = a->layout.type, result = sum_type(type),
                       wide = widest_accumulator(result);
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
                   .includes_identity = true}};
    plan_add_producer(&plan->streams, &a->producer);
    plan_add_producer(&plan->streams, &b->producer);
    if (platform->place == METHOD_ON_HOST)
        return;
    if (exactly) {
        a->layout.type = factor_type(a->layout.input, type);
        b->layout.type = factor_type(b->layout.input, type);
    }
    plan_choose_launch(plan, true);
}
