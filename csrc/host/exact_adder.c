/* Floats are just added, as many at a time as a loop takes, where nothing is rounded; else they go
 * through windows, and what does not fit there is added one by one. */
#include "host/exact_adder.h"

#include "common/arithmetic.h"
#include "host/exact_plain.h"
#include "host/one_by_one.h"
#include "host/products.h"

/* How many parts of an element are added. */
static unsigned parts_of(const struct layout *layout)
{
    return element_is_complex(layout->input) && element_is_complex(layout->type) ? 2 : 1;
}

static bool leaves_out(const struct plan *plan)
{
    return plan->fold == FOLD_nansum;
}

/* Whether it is the square of each part that is added. */
static bool is_squared(const struct plan *plan)
{
    return plan->fold == FOLD_norm2;
}

/* Whether elements are floats, one after the other, of which each is left out by itself. */
static bool fits_windows(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    return !element_is_integer(input) &&
           element_is_complex(input) == (parts_of(plan->layout) > 1) &&
           !(leaves_out(plan) && element_is_complex(input));
}

bool exact_adder_just_adds(const struct job *job)
{
    return job->tells_rounding && fits_windows(job->plan) && !is_squared(job->plan);
}

void exact_adder_start(struct exact_adder *self, const struct job *job)
{
    const struct plan *plan = job->plan;
    const enum element type = element_real_part(plan->layout->input);
    exact_sums_clear(&self->sums);
    if (is_squared(plan))
        windows_start_products(&self->ways.windows, job->instructions, type);
    else
        windows_start(&self->ways.windows, job->instructions, type, leaves_out(plan));
    self->ways.unrounded = (struct unrounded_floats){0};
    if (exact_adder_just_adds(job))
        unrounded_start(&self->ways.unrounded, job->instructions, type, leaves_out(plan));
}

/* Adds floats of a complex type's parts in turn, or of a real type; squares of both are one sum. */
static bool add_floats(const struct plan *plan, const void *floats, size_t n,
                       struct exact_adder *self, uint64_t *numbers)
{
    struct exact *const sums = self->sums.parts;
    const bool apart = parts_of(plan->layout) > 1 && !is_squared(plan);
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums[part], WINDOWS_LOAD);
    struct exact *const even = &sums[EXACT_REAL];
    struct exact *const odd = &sums[apart ? EXACT_IMAGINARY : EXACT_REAL];
    return unrounded_add(&self->ways.unrounded, floats, n, even, odd, numbers) ||
           windows_add(&self->ways.windows, floats, floats, n, even, odd, numbers);
}

static uint64_t add_one_by_one(const struct plan *plan, const void *elements, size_t n,
                               struct exact_sums *sums)
{
    const enum element input = plan->layout->input, part = element_real_part(input);
    const unsigned parts = parts_of(plan->layout);
    struct exact *const sum = &sums->parts[EXACT_REAL];
    if (!is_squared(plan))
        return one_by_one_add(elements, n, input, parts, leaves_out(plan), sums);
    products_add(elements, part, elements, part, n * parts, sum, sum);
    return n;
}

/* Adds elements that lie one after the other: no more than a loop takes floats. */
static void add_elements(const struct plan *plan, const void *elements, size_t n,
                         struct exact_adder *self)
{
    const unsigned parts = parts_of(plan->layout);
    uint64_t added;
    if (n == 0)
        return;
    if (fits_windows(plan) && add_floats(plan, elements, n * parts, self, &added))
        added /= parts;
    else
        added = add_one_by_one(plan, elements, n, &self->sums);
    for (int part = 0; part < EXACT_PARTS; part++)
        self->sums.parts[part].counts[EXACT_COUNT] += (int64_t)added;
}

void exact_adder_clear(struct exact_adder *self)
{
    exact_sums_clear(&self->sums);
    windows_forget(&self->ways.windows);
}

void exact_adder_add(struct exact_adder *self, const struct plan *plan, const char *elements,
                     size_t n)
{
    const size_t most = LOOP_MOST / parts_of(plan->layout),
                 size = element_size(plan->layout->input);
    for (size_t at = 0; at < n; at += most)
        add_elements(plan, elements + at * size, least(n - at, most), self);
}

void exact_adder_add_pair(struct exact_adder *self, const double pair[2], uint64_t n)
{
    struct exact *const sum = &self->sums.parts[EXACT_REAL];
    exact_reserve(sum, 2);
    for (int k = 0; k < 2; k++)
        exact_add(sum, exact_number_at(&pair[k], ELEMENT_FLOAT64));
    sum->counts[EXACT_COUNT] += (int64_t)n;
}

bool exact_adder_round(struct exact_adder *self, const struct plan *plan, const char *elements,
                       struct scalar_wide *value, uint64_t *count)
{
    struct windows_total total;
    if (plan->n == 0 || plan->n > LOOP_MOST || !exact_is_plain(plan) ||
        !windows_total(&self->ways.windows, elements, plan->n, &total))
        return false;
    *value = exact_round_total(plan, &total);
    *count = total.numbers;
    return true;
}
