/* Chooses the kernels for a plan's array and how they read it: a function of the plan and of the
 * table of available kernels. */
#include "schedule/schedule.h"

#include "common/exact_sums.h"

/* The key has the fields of every kind. */
static const void *kernel_for(const struct schedule *self, enum kernel_kind kind,
                              enum element input, enum element accumulator)
{
    const struct plan *plan = self->plan;
    return kernel_find(self->kernels,
                       (struct kernel_key){kind, plan->fold, input, accumulator,
                                           method_index_of(plan->method), plan->launch.block});
}

/* ---- how the first kernel reads the array ---- */

/* Whether a kernel takes the array as a plain pointer: the method's own, or one that copies it. */
static bool supports_flat(const struct schedule *self)
{
    const struct plan *plan = self->plan;
    const enum element input = plan->layout->input, accumulator = plan->accumulator;
    const bool library = plan->method->style == STYLE_library,
               copies = library || method_is(plan->method, METHOD_IN_PLACE);
    return plan->elements.direct &&
           ((library && self->kernels->reducer(plan->fold, input, accumulator)) ||
            kernel_for(self, copies ? KERNEL_COPY_FLAT : KERNEL_FLAT, input, accumulator));
}

/* Whether kernels of rows may read the elements in place. If their accumulator is wider than the
 * plan's, the elements' own accumulator has to be the plan's. */
static bool supports_rows(const struct plan *plan)
{
    return plan->elements.direct && (accumulator_of_rows(plan->accumulator) == plan->accumulator ||
                                     element_accumulator(plan->layout->input) == plan->accumulator);
}

/* Means of integers are computed from an int64 sum if it cannot overflow. */
const void *choice_kernel_along(const struct kernels *kernels, enum kernel_kind kind,
                                const struct plan *plan, bool reads_unconverted,
                                enum element *accumulator, bool *converts)
{
    const enum element input = plan->layout->input;
    const unsigned bits = 8 * (unsigned)element_size(input);
    const bool sums_integers = plan->reduction == REDUCTION_mean &&
                               plan->layout->type == ELEMENT_FLOAT64 && element_is_integer(input) &&
                               bits <= 32 && plan->n >> (63 - bits) == 0;
    const enum element row_accumulator =
                           sums_integers ? ELEMENT_INT64 : accumulator_of_rows(plan->accumulator),
                       widest = widest_accumulator(plan->accumulator);
    const void *kernel = reads_unconverted && supports_rows(plan)
                             ? kernel_of_fold(kernels, kind, plan->fold, input, row_accumulator, 0)
                             : NULL;
    *converts = !kernel;
    *accumulator = kernel ? row_accumulator : widest;
    return kernel ? kernel : kernel_of_fold(kernels, kind, plan->fold, widest, widest, 0);
}

bool choice_keeps_parts(const struct plan *plan)
{
    return element_is_complex(plan->layout->input) == element_is_complex(plan->layout->type);
}

/* Masked elements of host arrays are skipped while gathering, unless positions matter. */
static bool keeps_host_mask(const struct plan *plan)
{
    return !plan->elements.on_device && plan->layout->mask && fold_is_indexed(plan->fold);
}

static void choose_form(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const enum element row_accumulator = accumulator_of_rows(plan->accumulator);
    const bool flat = plan->elements.on_device ? plan->elements.flat
                                               : !keeps_host_mask(plan), /* after the upload */
        has_rows = !plan->elements.on_device || plan->layout->dimensions > 0;
    if (flat && supports_flat(self)) {
        choice->form = FORM_FLAT;
        choice->accumulator = plan->accumulator;
    } else if (has_rows && supports_rows(plan) &&
               kernel_for(self, KERNEL_STRIDED, plan->layout->input, row_accumulator)) {
        choice->form = FORM_STRIDED;
        choice->accumulator = row_accumulator;
    } else {
        choice->form = FORM_GATHERED;
        choice->accumulator = widest_accumulator(plan->accumulator);
    }
}

bool choice_reads_rows(const struct choice *choice)
{
    return choice->copy ? choice->copies_mask : choice->form == FORM_STRIDED;
}

/* ---- a method's kernels ---- */

/* An in-place method must not modify the caller's array, and no method gathers. A library reads the
 * types it supports, and a working copy of anything else. */
static bool choose_method(struct schedule *self)
{
    const struct plan *plan = self->plan;
    struct choice *choice = &self->choice;
    const enum element input = plan->layout->input, accumulator = choice->accumulator;
    const bool library = plan->method->style == STYLE_library, flat = choice->form == FORM_FLAT,
               copies = library ? !flat || !self->kernels->reducer(plan->fold, input, accumulator)
                                : method_is(plan->method, METHOD_IN_PLACE) ||
                                      choice->form == FORM_GATHERED;
    if (copies) {
        choice->copy =
            kernel_for(self, flat ? KERNEL_COPY_FLAT : KERNEL_COPY_GATHERED, input, accumulator);
        choice->copies_mask = choice->form == FORM_GATHERED && plan->layout->mask &&
                              kernel_for(self, KERNEL_STRIDED, accumulator, accumulator);
        if (!choice->copy)
            return false;
    }
    const enum element read_type = copies ? accumulator : input;
    if (library) {
        choice->reducer = self->kernels->reducer(plan->fold, read_type, accumulator);
        choice->later_reducer = self->kernels->reducer(plan->fold, accumulator, accumulator);
        return choice->reducer && choice->later_reducer;
    }
    choice->first = kernel_for(self, choice_reads_rows(choice) ? KERNEL_STRIDED : KERNEL_FLAT,
                               read_type, accumulator);
    choice->later = kernel_for(self, fold_is_on_ladder(plan->fold) ? KERNEL_FLAT : KERNEL_MERGE,
                               accumulator, accumulator);
    return choice->first && choice->later;
}

/* ---- exact sums, and sums of products ---- */

/* Elements are added or multiplied in their own type, or in one that holds both operands: in their
 * own if both arrays have one type and are flat. The exact product kernel of integers takes any
 * types, and squares of complex numbers are those of their parts. */
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
    enum element read_type = flat ? input : type;
    choice->form = flat ? FORM_FLAT : FORM_GATHERED;
    choice->copy = flat ? NULL : kernel_of_kind(self->kernels, KERNEL_COPY_GATHERED);
    choice->accumulator = read_type;
    choice->factor = flat || !plan->factors ? read_type : plan->factors->type;
    if (!exact) {
        choice->accumulator = choice->factor = plan->accumulator;
        read_type = flat ? input : plan->accumulator;
    } else if (products && (element_is_integer(read_type) || element_is_integer(choice->factor))) {
        read_type = read_type == choice->factor ? read_type : ELEMENT_INT64;
    } else if (products) {
        read_type = plan->fold == FOLD_norm2 ? element_real_part(read_type) : read_type;
    } else if (flat) {
        choice->accumulator = exact_accumulator(input);
    }
    choice->first = kernel_for(self, kind, read_type, choice->accumulator);
    choice->later = !exact ? kernel_for(self, KERNEL_FLAT, choice->accumulator, choice->accumulator)
                           : kernel_of_kind(self->kernels, KERNEL_EXACT_MERGE);
    return choice->first && (exact || choice->later);
}

bool schedule_choose_kernels(struct schedule *self)
{
    const struct plan *plan = self->plan;
    const bool mask_on_host =
        plan->elements.on_device && plan->layout->mask && !plan->elements.mask_on_device;
    self->choice = (struct choice){.uploads = !plan->elements.on_device,
                                   .uploads_mask = mask_on_host || keeps_host_mask(plan)};
    choose_form(self);
    return plan->exact || plan_adds_products(plan) ? choose_sum(self) : choose_method(self);
}

/* ---- which results are stored without the generic finish ---- */

/* Whether a single rounding or truncation converts a value of one type to the other. */
static bool is_cast(enum element value, enum element result, bool divided)
{
    if (divided && element_is_integer(value))
        value = ELEMENT_FLOAT64;
    if (result == value)
        return true;
    if (value == ELEMENT_FLOAT32)
        return result == ELEMENT_FLOAT16 || result == ELEMENT_BFLOAT16;
    if (value == ELEMENT_FLOAT64)
        return !element_is_integer(result) && !element_is_complex(result);
    if (value == ELEMENT_COMPLEX128)
        return element_is_complex(result);
    return element_is_integer(value) && element_is_integer(result) && result != ELEMENT_BOOL &&
           element_size(result) <= element_size(value);
}

/* For a single value. */
static bool result_is_cast(const struct plan *plan, enum element accumulator)
{
    const struct reduction_row *row = reduction_row(plan->reduction);
    const enum element result = plan->finish.result;
    if (reduction_is_stored(plan->reduction))
        return is_cast(accumulator, result, row->counts);
    if (!reduction_has_value(plan->reduction) || plan->layout->mask ||
        (row->counts && plan->segments.of)) /* segments have counts of their own */
        return false;
    switch (row->result) {
    case RESULT_same:
        return is_cast(plan->reduction == REDUCTION_nanmean && !element_is_complex(accumulator)
                           ? ELEMENT_FLOAT64
                           : accumulator,
                       result, false);
    case RESULT_real:
        return !plan->means && (double)plan->n > plan->finish.ddof &&
               is_cast(ELEMENT_FLOAT64, result, false);
    case RESULT_bool:
        return result == ELEMENT_BOOL;
    default:
        return is_cast(ELEMENT_INT64, result, false);
    }
}

bool epilogue_stores_directly(const struct plan *plan, enum element accumulator)
{
    const enum fold fold = plan->fold;
    const enum element *types = plan->results.types;
    /* An initial value is one more operand of an extreme or a product. */
    const bool folds_initial = fold_is_extreme(fold) || fold == FOLD_prod || fold == FOLD_nanprod,
               extreme = fold == FOLD_min || fold == FOLD_max;
    if (plan->n == 0 || (plan->counts && plan->layout->mask) ||
        (plan->finish.has_initial ? !folds_initial : !plan->finish.includes_identity))
        return false;
    if (plan->results.values > 1)
        return plan->reduction == REDUCTION_minmax && !element_is_complex(accumulator) &&
               is_cast(accumulator, types[0], false) && types[0] == types[1];
    /* Truth values are read as 0 and 1, and an extreme is one of these. */
    if (plan->finish.result == ELEMENT_BOOL && extreme)
        return plan->layout->input == ELEMENT_BOOL && !plan->finish.has_initial &&
               !reduction_row(plan->reduction)->counts;
    return result_is_cast(plan, accumulator);
}

bool epilogue_is_native(const struct plan *plan, enum element input, enum element accumulator)
{
    const enum element result = plan->finish.result;
    const bool integers = element_is_integer(input), mean = reduction_row(plan->reduction)->counts;
    if (plan->results.values != 1)
        return false;
    switch (plan->fold) {
    case FOLD_argmin:
    case FOLD_argmax:
    case FOLD_nanargmin:
    case FOLD_nanargmax:
        return result == ELEMENT_INT64;
    case FOLD_nonzero:
        return input == ELEMENT_BOOL && result == ELEMENT_BOOL;
    case FOLD_variance:
        return !plan->means && (double)plan->n > plan->finish.ddof &&
               result == (integers ? accumulator : input);
    case FOLD_sum:
        if (integers)
            return result == (mean ? ELEMENT_FLOAT64 : accumulator) && plan_stores_states(plan);
        break;
    default:
        break;
    }
    return result == input && plan_stores_states(plan);
}

/* ---- the order of elements ---- */

static enum reduction minimum_of(enum reduction reduction, bool is_bool)
{
    switch (reduction) {
    case REDUCTION_min:
    case REDUCTION_prod_of_truth:
        return is_bool ? REDUCTION_all : REDUCTION_min;
    case REDUCTION_max:
    case REDUCTION_sum_of_truth:
        return is_bool ? REDUCTION_any : REDUCTION_min;
    case REDUCTION_argmax:
        return REDUCTION_argmin;
    case REDUCTION_nanargmax:
        return REDUCTION_nanargmin;
    case REDUCTION_nanmax:
        return REDUCTION_nanmin;
    default:
        return reduction;
    }
}

/* Maps the initial value of an extreme as the elements that it is compared with are mapped. */
static void invert_initial(enum element input, bool is_max, struct finish *finish)
{
    const unsigned bits = 8 * (unsigned)element_size(input);
    if (!element_is_integer(input)) {
        if (is_max && finish->accumulator == ELEMENT_FLOAT32)
            finish->initial.f32 = -finish->initial.f32;
        else if (is_max)
            finish->initial.f64 = -finish->initial.f64;
        return;
    }
    if (input > ELEMENT_INT64)
        finish->initial.u64 -= (uint64_t)1 << (bits - 1);
    if (is_max)
        finish->initial.u64 = ~finish->initial.u64;
}

void epilogue_order(enum element input, struct kernel_results *results)
{
    const enum fold fold = results->fold;
    const bool is_bool = input == ELEMENT_BOOL, is_max = fold == FOLD_max || fold == FOLD_argmax ||
                                                         fold == FOLD_nanmax ||
                                                         fold == FOLD_nanargmax;
    if (!fold_is_extreme(fold) && !fold_is_indexed(fold) && fold != FOLD_extremes)
        return;
    const unsigned bits = 8 * (unsigned)element_size(input);
    const uint64_t low_bits = bits < 64 ? UINT64_MAX / (((uint64_t)1 << bits) - 1) : 1,
                   sign_bits = low_bits << (bits - 1);
    if (results->finish.has_initial && !is_bool)
        invert_initial(input, is_max, &results->finish);
    results->reduction = minimum_of(results->reduction, is_bool);
    if (is_bool) {
        results->inverted = is_max ? low_bits : 0;
    } else if (!element_is_integer(input)) {
        const bool narrow = results->finish.accumulator == ELEMENT_FLOAT32;
        results->inverted = is_max ? sign_bits : 0;
        results->value_inverted = is_max ? narrow ? 1u << 31 : (uint64_t)1 << 63 : 0;
    } else {
        const bool is_signed = input <= ELEMENT_INT64;
        results->inverted = (is_signed ? 0 : sign_bits) ^ (is_max ? UINT64_MAX : 0);
        results->value_inverted = results->inverted;
        results->value_bits = is_signed ? UINT64_MAX : UINT64_MAX >> (64 - bits);
    }
}
