/* Results of exact sums without a superaccumulator: from a few digits, or from float64s whose sum
 * they are, one by one or many at a time. */
#include "cpu/exact/exact.h"
#include "run/result.h"
#include "threads/gather.h"

#include <math.h>
#include <string.h>

bool exact_is_plain(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    return !element_is_integer(input) && !element_is_complex(input) && plan->fold != FOLD_norm2 &&
           !element_is_complex(plan->finish.result) && !plan->finish.has_initial &&
           plan->finish.includes_identity;
}

static struct scalar_wide round_total(const struct plan *plan, const struct windows_total *total)
{
    static const int64_t no_counts[EXACT_COUNTS];
    const struct finish *finish = &plan->finish;
    const int64_t divisor = plan_exact_rounding(plan) == EXACT_MEAN ? (int64_t)total->numbers : 1;
    const struct exact_leading leading =
        exact_leading_of(total->units, 0, total->unit - EXACT_DIGIT_BITS);
    return exact_answer(
        finish, exact_round_leading(leading, no_counts, divisor, exact_format_of_part(finish)), 0);
}

/* The number in units of 2^unit, which its last bit must be a multiple of. */
static __int128 in_units(struct exact_number x, int unit)
{
    const __int128 units = (__int128)x.significand << (x.significand ? x.exponent - unit : 0);
    return x.negative ? -units : units;
}

/* Rounds head + tail, the sum of n elements. False if their exponents are too far apart. */
static bool round_pair(const struct plan *plan, double head, double tail, uint64_t n,
                       struct scalar_wide *value)
{
    enum { DISTANCE_MAX = 126 - 53 };
    const struct exact_number numbers[] = {exact_number_at(&head, ELEMENT_FLOAT64),
                                           exact_number_at(&tail, ELEMENT_FLOAT64)};
    const int a = numbers[numbers[0].significand == 0].exponent,
              b = numbers[numbers[1].significand != 0].exponent;
    if (a - b > DISTANCE_MAX || b - a > DISTANCE_MAX)
        return false;
    struct windows_total total = {.unit = a < b ? a : b, .numbers = n};
    total.units = in_units(numbers[0], total.unit) + in_units(numbers[1], total.unit);
    *value = round_total(plan, &total);
    return true;
}

/* ---- one after the other ---- */

void exact_reducer_start(struct exact_reducer *self, const struct job *all)
{
    exact_adder_start(&self->adder, all);
    self->job = *all;
    self->plan = *all->plan;
    self->job.plan = &self->plan;
    self->job.run = &self->run;
    run_begin(&self->run, 0);
}

bool exact_store_sums(struct exact_reducer *self, struct exact_sums *sums, void *to)
{
    if (!exact_finish(&self->job, sums))
        return false;
    run_store(&self->run, &self->plan, 0, to);
    return true;
}

/* Stores a rounded value, of `count` elements. */
static bool store_value(struct exact_reducer *self, struct scalar_wide value, uint64_t count,
                        void *to)
{
    run_answer_exact(&self->run, &self->plan, NULL, value, count);
    run_store(&self->run, &self->plan, 0, to);
    return true;
}

bool exact_store_pair(struct exact_reducer *self, double head, double tail, uint64_t n, void *to)
{
    struct scalar_wide value;
    if (round_pair(&self->plan, head, tail, n, &value))
        return store_value(self, value, n, to);
    exact_adder_clear(&self->adder);
    exact_adder_add_pair(&self->adder, head, tail, n);
    return exact_store_sums(self, &self->adder.sums, to);
}

/* A few numbers of similar magnitude need no superaccumulator. */
bool exact_reduce_elements(struct exact_reducer *self, const char *elements, uint64_t n, void *to)
{
    const struct plan *plan = &self->plan;
    struct exact_adder *const adder = &self->adder;
    struct windows_total total;
    if (n > 0 && n <= CHUNK_MAX && exact_is_plain(plan) &&
        windows_total(&adder->floats.windows, elements, n, &total))
        return store_value(self, round_total(plan, &total), total.numbers, to);
    exact_adder_clear(adder);
    exact_adder_add(adder, plan, elements, n);
    return exact_store_sums(self, &adder->sums, to);
}

bool exact_reduce(struct exact_reducer *self, const struct layout *layout, uint64_t start,
                  uint64_t n, void *to)
{
    char *const gathered = self->gathered.elements;
    self->plan.layout = layout;
    self->plan.n = self->plan.finish.count = n;
    if (self->plan.elements.flat)
        return exact_reduce_elements(
            self, (const char *)layout->data + start * element_size(layout->input), n, to);
    if (n <= CHUNK_MAX) {
        const uint64_t count =
            gather_unconverted(self->job.instructions, layout, start, n, gathered);
        return exact_reduce_elements(self, gathered, count, to);
    }
    exact_adder_clear(&self->adder);
    exact_adder_add_layout(&self->adder, &self->job, layout, start, n, &self->gathered);
    return exact_store_sums(self, &self->adder.sums, to);
}

/* ---- many at a time ---- */

/* x + rest, |rest| being at most half an ulp of x, rounded to odd: toward zero, with the last bit
 * set if inexact. Rounding that to a type with at least two bits less rounds the sum correctly (S.
 * Boldo and G. Melquiond, "Emulation of FMA and correctly rounded sums: proved algorithms using
 * rounding to odd", IEEE Trans. Comput. 57, 2008). */
static inline double round_to_odd(double x, double rest)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    bits -= rest != 0 && (rest < 0) != (x < 0);
    bits |= rest != 0;
    memcpy(&x, &bits, sizeof bits);
    return x;
}

static inline float float_round_to_odd(double x)
{
    float near = (float)x;
    const double back = near;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    bits -= fabs(back) > fabs(x);
    bits |= back != x;
    memcpy(&near, &bits, sizeof bits);
    return near;
}

/* Not for NaN, whose handling costs bfloat_of_float a twentieth of the loop's time. */
static inline uint16_t bfloat_of_finite(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Checks bits, because loops with floating-point additions do not vectorize. */
static inline bool is_finite_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits << 1) < (uint32_t)0xff << 24;
}

static inline bool is_finite_double(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (bits << 1) < (uint64_t)0x7ff << 53;
}

/* With constant types, the loop has few branches. Returns whether all results are finite. */
static inline __attribute__((always_inline)) bool round_to(enum element type, bool pairs,
                                                           double divisor,
                                                           const struct unrounded_sums *sums,
                                                           uint64_t count, void *to)
{
    uint64_t infinite = 0;
    for (uint64_t k = 0; k < count; k++) {
        double value = sums->heads[k], rest = 0;
        if (pairs) {
            const double tail = sums->tails[k], sum = value + tail, added = sum - value;
            rest = (value - (sum - added)) + (tail - added);
            value = sum;
        } else if (divisor != 1) {
            const double quotient = value / divisor;
            rest = fma(-quotient, divisor, value);
            value = quotient;
        }
        if (type == ELEMENT_FLOAT64) {
            ((double *)to)[k] = value;
            infinite |= !is_finite_double(value);
            continue;
        }
        const double odd = round_to_odd(value, rest);
        if (type == ELEMENT_FLOAT32) {
            const float near = (float)odd;
            ((float *)to)[k] = near;
            infinite |= !is_finite_float(near);
        } else if (type == ELEMENT_FLOAT16) {
            const uint16_t half = half_of_double(odd);
            ((uint16_t *)to)[k] = half;
            infinite |= (half & 0x7c00) == 0x7c00;
        } else {
            const uint16_t bfloat = bfloat_of_finite(float_round_to_odd(odd));
            ((uint16_t *)to)[k] = bfloat;
            infinite |= (bfloat & 0x7f80) == 0x7f80;
        }
    }
    return !infinite;
}

bool exact_round_sums(const struct plan *plan, const struct unrounded_sums *sums, bool pairs,
                      uint64_t count, void *to)
{
    const double divisor = plan_exact_rounding(plan) == EXACT_MEAN ? (double)plan->n : 1;
    switch (plan->finish.result) {
#define ROUND_TO(TYPE)                                                                             \
    case TYPE:                                                                                     \
        return pairs          ? divisor == 1 && round_to(TYPE, true, 1, sums, count, to)           \
               : divisor == 1 ? round_to(TYPE, false, 1, sums, count, to)                          \
                              : round_to(TYPE, false, divisor, sums, count, to)
        ROUND_TO(ELEMENT_FLOAT64);
        ROUND_TO(ELEMENT_FLOAT32);
        ROUND_TO(ELEMENT_FLOAT16);
        ROUND_TO(ELEMENT_BFLOAT16);
#undef ROUND_TO
    default:
        return false;
    }
}
