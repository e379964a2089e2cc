#include "plan/choice.h"

#include "common/exact_words.h"
#include "plan/widest.h"

static const void *flat_kernel(const struct plan *plan, const struct kernels *kernels,
                               enum element input, enum element accumulator)
{
    return kernels->flat(plan->fold, method_index_of(plan->method), input, accumulator,
                         plan->block);
}

/* Whether a kernel takes the array as a plain pointer: the method's own, or the copying one. */
static bool takes_flat(const struct plan *plan, const struct kernels *kernels)
{
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    if (!plan->direct)
        return false;
    if (method_works_in_place(plan->method))
        return kernels->copy_flat(input, accumulator);
    if (plan->method->style == STYLE_library)
        return kernels->reducer(plan->fold, input, accumulator) ||
               kernels->copy_flat(input, accumulator);
    return flat_kernel(plan, kernels, input, accumulator);
}

static const void *strided_kernel(const struct plan *plan, const struct kernels *kernels,
                                  enum element input, enum element accumulator)
{
    return kernels->strided(plan->fold, method_index_of(plan->method), input, accumulator);
}

/* Whether a kernel takes the array's rows as they lie: in a wider accumulator than the plan's only
 * what that one holds, too. */
static bool takes_rows(const struct plan *plan, const struct kernels *kernels)
{
    const enum element input = plan->layout->input,
                       accumulator = accumulator_of_rows(plan->accumulator);
    return plan->direct &&
           (accumulator == plan->accumulator || element_accumulator(input) == plan->accumulator) &&
           strided_kernel(plan, kernels, input, accumulator);
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
    return has_rows && takes_rows(plan, kernels) ? FORM_STRIDED : FORM_GATHERED;
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

static const void *copying_kernel(const struct plan *plan, const struct kernels *kernels,
                                  const struct choice *choice)
{
    return choice->form == FORM_FLAT ? kernels->copy_flat(plan->layout->input, choice->accumulator)
                                     : kernels->copy_gathered();
}

bool choice_reads_rows(const struct choice *choice)
{
    return choice->copy ? choice->copies_mask : choice->form == FORM_STRIDED;
}

static const void *first_kernel(const struct plan *plan, const struct kernels *kernels,
                                const struct choice *choice)
{
    const enum element input = choice->copy ? choice->accumulator : plan->layout->input;
    return choice_reads_rows(choice) ? strided_kernel(plan, kernels, input, choice->accumulator)
                                     : flat_kernel(plan, kernels, input, choice->accumulator);
}

/* An in-place method must not touch the caller's array, and no method gathers by itself. */
static bool needs_copy(const struct plan *plan, const struct choice *choice)
{
    return method_works_in_place(plan->method) || choice->form == FORM_GATHERED;
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

/* Elements are added as they lie, or as a type that holds them all. */
static bool choose_exact(const struct plan *plan, const struct kernels *kernels,
                         struct choice *choice)
{
    const enum element input = plan->layout->input, type = plan->layout->type;
    const bool flat = (plan->flat || !plan->on_device) && kernels->exact_flat(input) &&
                      element_is_complex(input) == element_is_complex(type);
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->accumulator = flat ? exact_accumulator(input) : type;
    choice->copy = flat ? NULL : kernels->copy_gathered();
    choice->first = kernels->exact_flat(flat ? input : type);
    choice->again = kernels->exact_merge(choice->accumulator);
    return choice->first;
}

/* ---- products ---- */

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

/* Elements are multiplied as they lie, or as types that hold them all. */
static bool choose_exact_products(const struct plan *plan, const struct kernels *kernels,
                                  struct choice *choice)
{
    const enum element input = plan->layout->input, type = plan->layout->type;
    const enum element factor = plan->factors ? plan->factors->type : type;
    const bool flat = are_flat(plan) && kernels->exact_products(input) &&
                      element_is_complex(input) == element_is_complex(type);
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->accumulator = flat ? input : type;
    choice->factor = flat ? input : factor;
    choice->copy = flat ? NULL : kernels->copy_gathered();
    choice->first =
        kernels->exact_products(exact_type_of_products(plan, choice->accumulator, choice->factor));
    choice->again = kernels->exact_products_merge(plan->fold, choice->accumulator);
    return choice->first;
}

/* Elements are multiplied in the accumulator. */
static bool choose_products(const struct plan *plan, const struct kernels *kernels,
                            struct choice *choice)
{
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    const bool flat = are_flat(plan) && input == plan->layout->type;
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->accumulator = choice->factor = accumulator;
    choice->copy = flat ? NULL : kernels->copy_gathered();
    choice->first = kernels->dot(flat ? input : accumulator, accumulator);
    choice->again = flat_kernel(plan, kernels, accumulator, accumulator);
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
    if (plan->method->style == STYLE_library)
        return choose_library(plan, kernels, choice);
    if (needs_copy(plan, choice)) {
        choice->copy = copying_kernel(plan, kernels, choice);
        choice->copies_mask =
            choice->form == FORM_GATHERED && plan->layout->mask &&
            strided_kernel(plan, kernels, choice->accumulator, choice->accumulator);
        if (!choice->copy)
            return false;
    }
    choice->first = first_kernel(plan, kernels, choice);
    choice->again = fold_is_on_ladder(plan->fold)
                        ? flat_kernel(plan, kernels, choice->accumulator, choice->accumulator)
                        : kernels->merge();
    return choice->first && choice->again;
}
