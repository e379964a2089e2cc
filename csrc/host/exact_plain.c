#include "host/exact_plain.h"

#include "common/exact_sums.h"

bool exact_is_plain(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    return !element_is_integer(input) && !element_is_complex(input) && plan->fold != FOLD_norm2 &&
           !exact_has_parts(plan->finish.result) && !plan->finish.has_initial &&
           plan->finish.from_nothing;
}

/* Leading digits as a superaccumulator has them: the first is not 0. */
static struct exact_leading lead(const struct windows_total *total)
{
    const bool negative = total->units < 0;
    unsigned __int128 bits = (unsigned __int128)total->units;
    struct exact_leading leading = {.place = total->unit - EXACT_DIGIT_BITS, .negative = negative};
    if (negative)
        bits = -bits;
    for (; bits && !(bits >> 3 * EXACT_DIGIT_BITS); bits <<= EXACT_DIGIT_BITS)
        leading.place -= EXACT_DIGIT_BITS;
    for (int k = 1; k < EXACT_SHOWN; k++)
        leading.digits[k] = (uint32_t)(bits >> (k - 1) * EXACT_DIGIT_BITS);
    return leading;
}

struct scalar_wide exact_round_total(const struct plan *plan, const struct windows_total *total)
{
    static const int64_t none[EXACT_COUNTS];
    const struct finish *finish = &plan->finish;
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    const int64_t divisor = mean ? (int64_t)total->numbers : 1;
    const uint64_t bits =
        exact_round_leading(lead(total), none, divisor, exact_format_of_part(finish));
    return exact_answer(finish, bits, 0);
}

/* In units of 2^unit, which its last bit is no less than. */
static __int128 in_units(struct exact_number x, int unit)
{
    const __int128 units = (__int128)x.significand << (x.significand ? x.exponent - unit : 0);
    return x.negative ? -units : units;
}

static bool is_single(const struct plan *plan)
{
    return plan->finish.result == ELEMENT_FLOAT32;
}

/* Whether the sum of a pair is rounded but once where the processor adds it and converts it: that
 * of narrower floats is a float64. */
static bool is_rounded_once(const struct plan *plan)
{
    return reduction_row(plan->reduction)->nothing != NOTHING_nan &&
           (plan->finish.result == ELEMENT_FLOAT64 ||
            (is_single(plan) && plan->layout->input != ELEMENT_FLOAT64));
}

bool exact_round_pair(const struct plan *plan, const double pair[2], uint64_t n,
                      struct scalar_wide *value)
{
    enum { FURTHEST = 126 - 53 };
    struct exact_number numbers[2];
    if (is_rounded_once(plan)) {
        const double sum = pair[0] + pair[1];
        *value = (struct scalar_wide){SCALAR_FLOAT, 0, is_single(plan) ? (float)sum : sum, 0};
        return true;
    }
    for (int k = 0; k < 2; k++)
        numbers[k] = exact_number_at(&pair[k], ELEMENT_FLOAT64);
    const int a = numbers[numbers[0].significand == 0].exponent,
              b = numbers[numbers[1].significand != 0].exponent;
    if (a - b > FURTHEST || b - a > FURTHEST)
        return false;
    struct windows_total total = {.unit = a < b ? a : b, .numbers = n};
    total.units = in_units(numbers[0], total.unit) + in_units(numbers[1], total.unit);
    *value = exact_round_total(plan, &total);
    return true;
}
