#include "schedule/epilogue.h"

/* ---- whether results are stored at once ---- */

/* Whether a value of one type is that of the other when it is rounded or cut to it, whatever has
 * been made of it before. */
static bool becomes(enum element value, enum element result, bool divided)
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

/* Of one value. */
static bool becomes_result(const struct plan *plan, enum element accumulator)
{
    const struct reduction_row *row = reduction_row(plan->reduction);
    const enum element result = plan->finish.result;
    if (reduction_is_stored(plan->reduction))
        return becomes(accumulator, result, row->counts);
    if (!reduction_has_value(plan->reduction) || plan->layout->mask ||
        (row->counts && plan->segments.of)) /* which have counts of their own */
        return false;
    switch (row->result) {
    case RESULT_same:
        return becomes(plan->reduction == REDUCTION_nanmean && !element_is_complex(accumulator)
                           ? ELEMENT_FLOAT64
                           : accumulator,
                       result, false);
    case RESULT_real:
        return !plan->means && (double)plan->n > plan->finish.ddof &&
               becomes(ELEMENT_FLOAT64, result, false);
    case RESULT_bool:
        return result == ELEMENT_BOOL;
    default:
        return becomes(ELEMENT_INT64, result, false);
    }
}

bool epilogue_stores_at_once(const struct plan *plan, enum element accumulator)
{
    const enum fold fold = plan->fold;
    const enum element *types = plan->results.types;
    /* What they begin with is one more value of those that are compared or multiplied. */
    const bool begins = fold_is_extreme(fold) || fold == FOLD_prod || fold == FOLD_nanprod,
               extreme = fold == FOLD_min || fold == FOLD_max;
    if (plan->n == 0 || (plan->counts && plan->layout->mask) ||
        (plan->finish.has_initial ? !begins : !plan->finish.from_nothing))
        return false;
    if (plan->results.values > 1)
        return plan->reduction == REDUCTION_minmax && !element_is_complex(accumulator) &&
               becomes(accumulator, types[0], false) && types[0] == types[1];
    /* Truth values are taken in as 0 and 1, and an extreme is one of them. */
    if (plan->finish.result == ELEMENT_BOOL && extreme)
        return plan->layout->input == ELEMENT_BOOL && !plan->finish.has_initial &&
               !reduction_row(plan->reduction)->counts;
    return becomes_result(plan, accumulator);
}

bool epilogue_is_native(const struct plan *plan, enum element input, enum element accumulator)
{
    const struct finish *finish = &plan->finish;
    const enum element result = finish->result;
    const bool integers = element_is_integer(input);
    if (plan->results.values != 1)
        return false;
    switch (plan->fold) {
    case FOLD_argmin:
    case FOLD_argmax:
        return result == ELEMENT_INT64;
    case FOLD_nonzero:
        return input == ELEMENT_BOOL && result == ELEMENT_BOOL;
    case FOLD_variance:
        return !plan->means && (double)plan->n > finish->ddof &&
               result == (integers ? accumulator : input);
    case FOLD_sum:
        if (integers && reduction_row(plan->reduction)->counts)
            return result == ELEMENT_FLOAT64 && plan_stores_states(plan);
        if (integers && result != accumulator)
            return false;
        break;
    default:
        break;
    }
    return plan_stores_states(plan) && (result == input || (plan->fold == FOLD_sum && integers));
}

/* ---- the order of elements ---- */

static enum reduction of_least(enum reduction reduction, bool truth)
{
    switch (reduction) {
    case REDUCTION_min:
    case REDUCTION_prod_of_truth:
        return truth ? REDUCTION_all : REDUCTION_min;
    case REDUCTION_max:
    case REDUCTION_sum_of_truth:
        return truth ? REDUCTION_any : REDUCTION_min;
    case REDUCTION_argmax:
        return REDUCTION_argmin;
    case REDUCTION_nanmax:
        return REDUCTION_nanmin;
    default:
        return reduction;
    }
}

/* What an extreme begins with, as the elements that are compared with it. */
static void invert_initial(enum element input, bool greatest, struct finish *finish)
{
    const unsigned bits = 8 * (unsigned)element_size(input);
    if (!element_is_integer(input)) {
        if (greatest && finish->accumulator == ELEMENT_FLOAT32)
            finish->initial.f32 = -finish->initial.f32;
        else if (greatest)
            finish->initial.f64 = -finish->initial.f64;
        return;
    }
    if (input > ELEMENT_INT64)
        finish->initial.u64 -= (uint64_t)1 << (bits - 1);
    if (greatest)
        finish->initial.u64 = ~finish->initial.u64;
}

void epilogue_order(enum element input, struct kernel_results *results)
{
    const bool truth = input == ELEMENT_BOOL,
               greatest = results->fold == FOLD_max || results->fold == FOLD_argmax ||
                          results->fold == FOLD_nanmax,
               extreme = greatest || results->fold == FOLD_min || results->fold == FOLD_argmin ||
                         results->fold == FOLD_nanmin || results->fold == FOLD_extremes;
    if (!extreme)
        return;
    const unsigned bits = 8 * (unsigned)element_size(input);
    const uint64_t lowest = bits < 64 ? UINT64_MAX / (((uint64_t)1 << bits) - 1) : 1,
                   signs = lowest << (bits - 1);
    if (results->finish.has_initial && !truth)
        invert_initial(input, greatest, &results->finish);
    results->reduction = of_least(results->reduction, truth);
    if (truth) {
        results->inverted = greatest ? lowest : 0;
    } else if (!element_is_integer(input)) {
        const bool narrow = results->finish.accumulator == ELEMENT_FLOAT32;
        results->inverted = greatest ? signs : 0;
        results->value_inverted = greatest ? narrow ? 1u << 31 : (uint64_t)1 << 63 : 0;
    } else {
        const bool is_signed = input <= ELEMENT_INT64;
        results->inverted = (is_signed ? 0 : signs) ^ (greatest ? UINT64_MAX : 0);
        results->value_inverted = results->inverted;
        results->value_bits = is_signed ? UINT64_MAX : UINT64_MAX >> (64 - bits);
    }
}
