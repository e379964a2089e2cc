#include "schedule/choice.h"

#include "common/exact_sums.h"
#include "plan/widest.h"

/* A key has what any kind asks for. */
static const void *kernel_for(enum kernel_kind kind, const struct plan *plan,
                              const struct kernels *kernels, enum element input,
                              enum element accumulator)
{
    return kernel_find(kernels, (struct kernel_key){.kind = kind,
                                                    .fold = plan->fold,
                                                    .input = input,
                                                    .accumulator = accumulator,
                                                    .method = method_index_of(plan->method),
                                                    .variant = plan->block});
}

/* ---- how the array comes to the first kernel ---- */

/* Whether a kernel takes the array as a plain pointer: the method's own, or the copying one. */
static bool takes_flat(const struct plan *plan, const struct kernels *kernels)
{
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    if (!plan->direct)
        return false;
    if (method_works_in_place(plan->method))
        return kernel_for(KERNEL_COPY_FLAT, plan, kernels, input, accumulator);
    if (plan->method->style == STYLE_library)
        return kernels->reducer(plan->fold, input, accumulator) ||
               kernel_for(KERNEL_COPY_FLAT, plan, kernels, input, accumulator);
    return kernel_for(KERNEL_FLAT, plan, kernels, input, accumulator);
}

bool choice_takes_rows(const struct plan *plan)
{
    const enum element accumulator = accumulator_of_rows(plan->accumulator);
    return plan->direct && (accumulator == plan->accumulator ||
                            element_accumulator(plan->layout->input) == plan->accumulator);
}

bool choice_keeps_parts(const struct plan *plan)
{
    return element_is_complex(plan->layout->input) == element_is_complex(plan->layout->type);
}

/* What a mask hides is left out on the way to a device, unless positions matter. */
static bool keeps_host_mask(const struct plan *plan)
{
    return !plan->on_device && plan->layout->mask && fold_is_indexed(plan->fold);
}

static enum form choose_form(const struct plan *plan, const struct kernels *kernels)
{
    const bool masked = keeps_host_mask(plan);
    const bool flat = plan->on_device ? plan->flat : !masked; /* what is uploaded is flat */
    if (flat && takes_flat(plan, kernels))
        return FORM_FLAT;
    const bool has_rows = !plan->on_device || plan->layout->dimensions > 0;
    return has_rows && choice_takes_rows(plan) &&
                   kernel_for(KERNEL_STRIDED, plan, kernels, plan->layout->input,
                              accumulator_of_rows(plan->accumulator))
               ? FORM_STRIDED
               : FORM_GATHERED;
}

static enum element choose_accumulator(const struct plan *plan, enum form form)
{
    switch (form) {
    case FORM_STRIDED:
        return accumulator_of_rows(plan->accumulator);
    case FORM_GATHERED:
        return accumulator_widest(plan->accumulator);
    default:
        return plan->accumulator;
    }
}

bool choice_reads_rows(const struct choice *choice)
{
    return choice->copy ? choice->copies_mask : choice->form == FORM_STRIDED;
}

/* ---- a method's kernels ---- */

static const void *copying_kernel(const struct plan *plan, const struct kernels *kernels,
                                  const struct choice *choice)
{
    const enum kernel_kind kind =
        choice->form == FORM_FLAT ? KERNEL_COPY_FLAT : KERNEL_COPY_GATHERED;
    return kernel_for(kind, plan, kernels, plan->layout->input, choice->accumulator);
}

/* A library takes what it takes, and all else as a working copy. */
static bool choose_library(const struct plan *plan, const struct kernels *kernels,
                           struct choice *choice)
{
    choice->reducer_again = kernels->reducer(plan->fold, choice->accumulator, choice->accumulator);
    if (choice->form == FORM_FLAT)
        choice->reducer = kernels->reducer(plan->fold, plan->layout->input, choice->accumulator);
    if (choice->reducer)
        return choice->reducer_again;
    choice->reducer = choice->reducer_again;
    choice->copy = copying_kernel(plan, kernels, choice);
    return choice->reducer && choice->copy;
}

/* An in-place method must not touch the caller's array, and no method gathers by itself. */
static bool choose_method(const struct plan *plan, const struct kernels *kernels,
                          struct choice *choice)
{
    const enum element accumulator = choice->accumulator;
    const bool copies = method_works_in_place(plan->method) || choice->form == FORM_GATHERED;
    if (copies) {
        choice->copy = copying_kernel(plan, kernels, choice);
        choice->copies_mask = choice->form == FORM_GATHERED && plan->layout->mask &&
                              kernel_for(KERNEL_STRIDED, plan, kernels, accumulator, accumulator);
        if (!choice->copy)
            return false;
    }
    choice->first = kernel_for(choice_reads_rows(choice) ? KERNEL_STRIDED : KERNEL_FLAT, plan,
                               kernels, copies ? accumulator : plan->layout->input, accumulator);
    choice->again = kernel_for(fold_is_on_ladder(plan->fold) ? KERNEL_FLAT : KERNEL_MERGE, plan,
                               kernels, accumulator, accumulator);
    return choice->first && choice->again;
}

/* ---- exact sums, and sums of products ---- */

/* Whether both arrays can be read as they lie: they are of one type, and flat where they are. */
static bool are_flat(const struct plan *plan)
{
    const struct layout *a = plan->layout, *b = plan->factors ? plan->factors : a;
    const bool lie_flat = !plan->on_device || (plan->flat && layout_is_flat(b));
    return lie_flat && a->input == b->input;
}

/* Of types like these, of which the kernel of integers takes any; squares are a complex number's
 * parts'. */
static enum element exact_type_of_products(const struct plan *plan, enum element type,
                                           enum element factor)
{
    if (element_is_integer(type) || element_is_integer(factor))
        return type == factor ? type : ELEMENT_INT64;
    return plan->fold == FOLD_norm2 ? element_real_part(type) : type;
}

/* Elements are added, or multiplied, as they lie or as a type that holds them all. */
static void give_form(const struct kernels *kernels, bool flat, enum element accumulator,
                      enum element factor, struct choice *choice)
{
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->copy = flat ? NULL : kernel_of_kind(kernels, KERNEL_COPY_GATHERED);
    choice->accumulator = accumulator;
    choice->factor = factor;
}

static bool choose_exact(const struct plan *plan, const struct kernels *kernels,
                         struct choice *choice)
{
    const enum element input = plan->layout->input, type = plan->layout->type;
    const bool flat = (plan->flat || !plan->on_device) && choice_keeps_parts(plan) &&
                      kernel_for(KERNEL_EXACT_FLAT, plan, kernels, input, input);
    const enum element accumulator = flat ? exact_accumulator(input) : type;
    give_form(kernels, flat, accumulator, choice->factor, choice);
    choice->first = kernel_for(KERNEL_EXACT_FLAT, plan, kernels, flat ? input : type, accumulator);
    choice->again = kernel_for(KERNEL_EXACT_MERGE, plan, kernels, input, accumulator);
    return choice->first;
}

static bool choose_exact_products(const struct plan *plan, const struct kernels *kernels,
                                  struct choice *choice)
{
    const enum element input = plan->layout->input, type = plan->layout->type;
    const enum element factor = plan->factors ? plan->factors->type : type;
    const bool flat = are_flat(plan) && choice_keeps_parts(plan) &&
                      kernel_for(KERNEL_EXACT_PRODUCTS, plan, kernels, input, input);
    give_form(kernels, flat, flat ? input : type, flat ? input : factor, choice);
    choice->first = kernel_for(KERNEL_EXACT_PRODUCTS, plan, kernels,
                               exact_type_of_products(plan, choice->accumulator, choice->factor),
                               choice->accumulator);
    choice->again =
        kernel_for(KERNEL_EXACT_PRODUCTS_MERGE, plan, kernels, input, choice->accumulator);
    return choice->first;
}

/* In the accumulator's arithmetic. */
static bool choose_products(const struct plan *plan, const struct kernels *kernels,
                            struct choice *choice)
{
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    const bool flat = are_flat(plan) && input == plan->layout->type;
    give_form(kernels, flat, accumulator, accumulator, choice);
    choice->first = kernel_for(KERNEL_DOT, plan, kernels, flat ? input : accumulator, accumulator);
    choice->again = kernel_for(KERNEL_FLAT, plan, kernels, accumulator, accumulator);
    return choice->first && choice->again;
}

bool choice_make(const struct plan *plan, const struct kernels *kernels, struct choice *choice)
{
    *choice = (struct choice){.form = choose_form(plan, kernels),
                              .uploads = !plan->on_device,
                              .uploads_mask =
                                  keeps_host_mask(plan) ||
                                  (plan->on_device && plan->layout->mask && !plan->mask_on_device)};
    choice->accumulator = choose_accumulator(plan, choice->form);
    if (plan_adds_products(plan))
        return plan->exact ? choose_exact_products(plan, kernels, choice)
                           : choose_products(plan, kernels, choice);
    if (plan->exact)
        return choose_exact(plan, kernels, choice);
    return plan->method->style == STYLE_library ? choose_library(plan, kernels, choice)
                                                : choose_method(plan, kernels, choice);
}
