/* Which kernels take a plan's array, and in which form: decided from the plan and the table of
 * kernels that there are, and from nothing else. */
#include "schedule/schedule.h"

#include "common/exact_sums.h"

/* A key has what any kind asks for. */
static const void *kernel_for(const struct schedule *self, enum kernel_kind kind,
                              enum element input, enum element accumulator)
{
    const struct plan *plan = self->plan;
    return kernel_find(self->kernels,
                       (struct kernel_key){kind, plan->fold, input, accumulator,
                                           method_index_of(plan->method), plan->launch.block});
}

/* ---- how the array comes to the first kernel ---- */

/* Whether a kernel takes the array as a plain pointer: the method's own, or the copying one. */
static bool takes_flat(const struct schedule *self)
{
    const struct plan *plan = self->plan;
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    const bool library = plan->method->style == STYLE_library,
               copies = library || method_works_in_place(plan->method);
    return plan->elements.direct &&
           ((library && self->kernels->reducer(plan->fold, input, accumulator)) ||
            kernel_for(self, copies ? KERNEL_COPY_FLAT : KERNEL_FLAT, input, accumulator));
}

/* Whether kernels that read rows may take the elements as they lie: in a wider accumulator than the
 * plan's only what that one holds, too. */
static bool takes_rows(const struct plan *plan)
{
    return plan->elements.direct && (accumulator_of_rows(plan->accumulator) == plan->accumulator ||
                                     element_accumulator(plan->layout->input) == plan->accumulator);
}

/* A mean of integers is made of their sum, where one in 64 bits holds it. */
const void *choice_along(const struct kernels *kernels, enum kernel_kind kind,
                         const struct plan *plan, bool as_they_lie, enum element *accumulator,
                         bool *converts)
{
    const enum element input = plan->layout->input;
    const unsigned bits = 8 * (unsigned)element_size(input);
    const bool adds_integers = plan->reduction == REDUCTION_mean &&
                               plan->layout->type == ELEMENT_FLOAT64 && element_is_integer(input) &&
                               bits <= 32 && plan->n >> (63 - bits) == 0;
    const enum element of_rows =
                           adds_integers ? ELEMENT_INT64 : accumulator_of_rows(plan->accumulator),
                       widest = accumulator_widest(plan->accumulator);
    const void *kernel = as_they_lie && takes_rows(plan)
                             ? kernel_of_fold(kernels, kind, plan->fold, input, of_rows, 0)
                             : NULL;
    *converts = !kernel;
    *accumulator = kernel ? of_rows : widest;
    return kernel ? kernel : kernel_of_fold(kernels, kind, plan->fold, widest, widest, 0);
}

bool choice_keeps_parts(const struct plan *plan)
{
    return element_is_complex(plan->layout->input) == element_is_complex(plan->layout->type);
}

/* What a mask hides is left out on the way to a device, unless positions matter. */
static bool keeps_host_mask(const struct plan *plan)
{
    return !plan->elements.on_device && plan->layout->mask && fold_is_indexed(plan->fold);
}

static void choose_form(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const enum element of_rows = accumulator_of_rows(plan->accumulator);
    const bool flat = plan->elements.on_device ? plan->elements.flat
                                               : !keeps_host_mask(plan), /* once uploaded */
        has_rows = !plan->elements.on_device || plan->layout->dimensions > 0;
    if (flat && takes_flat(self)) {
        choice->form = FORM_FLAT;
        choice->accumulator = plan->accumulator;
    } else if (has_rows && takes_rows(plan) &&
               kernel_for(self, KERNEL_STRIDED, plan->layout->input, of_rows)) {
        choice->form = FORM_STRIDED;
        choice->accumulator = of_rows;
    } else {
        choice->form = FORM_GATHERED;
        choice->accumulator = accumulator_widest(plan->accumulator);
    }
}

bool choice_reads_rows(const struct choice *choice)
{
    return choice->copy ? choice->copies_mask : choice->form == FORM_STRIDED;
}

/* ---- a method's kernels ---- */

static const void *copying_kernel(const struct schedule *self)
{
    const bool flat = self->choice.form == FORM_FLAT;
    return kernel_for(self, flat ? KERNEL_COPY_FLAT : KERNEL_COPY_GATHERED,
                      self->plan->layout->input, self->choice.accumulator);
}

/* A library takes what it takes, and all else as a working copy. */
static bool choose_library(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const enum element accumulator = choice->accumulator;
    choice->reducer_again = self->kernels->reducer(plan->fold, accumulator, accumulator);
    if (choice->form == FORM_FLAT)
        choice->reducer = self->kernels->reducer(plan->fold, plan->layout->input, accumulator);
    if (choice->reducer)
        return choice->reducer_again;
    choice->reducer = choice->reducer_again;
    choice->copy = copying_kernel(self);
    return choice->reducer && choice->copy;
}

/* An in-place method must not touch the caller's array, and no method gathers by itself. */
static bool choose_method(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const enum element accumulator = choice->accumulator;
    const bool copies = method_works_in_place(plan->method) || choice->form == FORM_GATHERED;
    if (copies) {
        choice->copy = copying_kernel(self);
        choice->copies_mask = choice->form == FORM_GATHERED && plan->layout->mask &&
                              kernel_for(self, KERNEL_STRIDED, accumulator, accumulator);
        if (!choice->copy)
            return false;
    }
    choice->first = kernel_for(self, choice_reads_rows(choice) ? KERNEL_STRIDED : KERNEL_FLAT,
                               copies ? accumulator : plan->layout->input, accumulator);
    choice->again = kernel_for(self, fold_is_on_ladder(plan->fold) ? KERNEL_FLAT : KERNEL_MERGE,
                               accumulator, accumulator);
    return choice->first && choice->again;
}

/* ---- exact sums, and sums of products ---- */

/* Elements are added, or multiplied, as they lie or as a type that holds them all: as they lie, if
 * both arrays are of one type, and flat where they are. Of exact products the kernel of integers
 * takes any types, and squares are a complex number's parts'. */
static bool choose_sum(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const bool exact = plan->exact, products = plan_adds_products(plan);
    const enum kernel_kind kind = !exact     ? KERNEL_DOT
                                  : products ? KERNEL_EXACT_PRODUCTS
                                             : KERNEL_EXACT_FLAT;
    const struct layout *a = plan->layout, *b = plan->factors ? plan->factors : a;
    const enum element input = a->input, type = a->type;
    const bool flat =
        input == b->input &&
        (!plan->elements.on_device || (plan->elements.flat && layout_is_flat(b))) &&
        (exact ? choice_keeps_parts(plan) && kernel_for(self, kind, input, input) : input == type);
    enum element taken = flat ? input : type;
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->copy = flat ? NULL : kernel_of_kind(self->kernels, KERNEL_COPY_GATHERED);
    choice->accumulator = taken;
    choice->factor = flat || !plan->factors ? taken : plan->factors->type;
    if (!exact) {
        choice->accumulator = choice->factor = plan->accumulator;
        taken = flat ? input : plan->accumulator;
    } else if (products && (element_is_integer(taken) || element_is_integer(choice->factor))) {
        taken = taken == choice->factor ? taken : ELEMENT_INT64;
    } else if (products) {
        taken = plan->fold == FOLD_norm2 ? element_real_part(taken) : taken;
    } else if (flat) {
        choice->accumulator = exact_accumulator(input);
    }
    choice->first = kernel_for(self, kind, taken, choice->accumulator);
    choice->again = !exact ? kernel_for(self, KERNEL_FLAT, choice->accumulator, choice->accumulator)
                           : kernel_of_kind(self->kernels, KERNEL_EXACT_MERGE);
    return choice->first && (exact || choice->again);
}

bool schedule_choose_kernels(struct schedule *self)
{
    const struct plan *plan = self->plan;
    const bool lacks_mask =
        plan->elements.on_device && plan->layout->mask && !plan->elements.mask_on_device;
    self->choice = (struct choice){.uploads = !plan->elements.on_device,
                                   .uploads_mask = lacks_mask || keeps_host_mask(plan)};
    choose_form(self);
    if (plan->exact || plan_adds_products(plan))
        return choose_sum(self);
    return plan->method->style == STYLE_library ? choose_library(self) : choose_method(self);
}
