/* What one thread adds elements with, exactly: floats as many at a time as a loop takes, and what
 * does not fit there one after the other. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"

/* ---- one after the other ---- */

/* n of them, `step` bytes apart. */
struct elements {
    const char *at;
    size_t n, step;
    bool leaves_out;
};

/* With a constant type and number of parts, little is left to be decided in the loop. */
static inline __attribute__((always_inline)) uint64_t add_typed(const struct elements *x,
                                                                enum element type, unsigned parts,
                                                                struct exact_sums *sums)
{
    uint64_t added = 0;
    for (size_t k = 0; k < x->n; k++) {
        const char *const at = x->at + k * x->step;
        const struct exact_number first = exact_number_at(at, type);
        const struct exact_number second =
            parts > 1 ? exact_number_at(at + element_size(type), type) : first;
        if (x->leaves_out && (first.kind == EXACT_NAN || second.kind == EXACT_NAN))
            continue;
        exact_add(&sums->parts[EXACT_REAL], first);
        if (parts > 1)
            exact_add(&sums->parts[EXACT_IMAGINARY], second);
        added++;
    }
    return added;
}

static uint64_t add_numbers(const void *elements, size_t n, enum element type, unsigned parts,
                            bool leaves_out, struct exact_sums *sums)
{
    const struct elements x = {elements, n, element_size(type), leaves_out};
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums->parts[part], n);
    switch (type) {
    case ELEMENT_FLOAT16:
        return add_typed(&x, ELEMENT_FLOAT16, 1, sums);
    case ELEMENT_BFLOAT16:
        return add_typed(&x, ELEMENT_BFLOAT16, 1, sums);
    case ELEMENT_FLOAT32:
        return add_typed(&x, ELEMENT_FLOAT32, 1, sums);
    case ELEMENT_FLOAT64:
        return add_typed(&x, ELEMENT_FLOAT64, 1, sums);
    case ELEMENT_COMPLEX64:
        return add_typed(&x, ELEMENT_FLOAT32, parts, sums);
    case ELEMENT_COMPLEX128:
        return add_typed(&x, ELEMENT_FLOAT64, parts, sums);
    default:
        return add_typed(&x, type, 1, sums);
    }
}

/* Significands are multiplied as integers, so that no product overflows, underflows or is rounded.
 * With constant types, little is left to be decided in the loop. */
static inline __attribute__((always_inline)) void add_products(const char *a, enum element type_a,
                                                               const char *b, enum element type_b,
                                                               size_t n, struct exact *even,
                                                               struct exact *odd)
{
    const size_t step_a = element_size(type_a), step_b = element_size(type_b);
    for (size_t k = 0; k < n; k++)
        exact_add_product(k % 2 ? odd : even, exact_number_at(a + k * step_a, type_a),
                          exact_number_at(b + k * step_b, type_b));
}

void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd)
{
    exact_reserve(even, 2 * n);
    exact_reserve(odd, 2 * n);
    if (type_a == ELEMENT_FLOAT64 && type_b == ELEMENT_FLOAT64)
        add_products(a, ELEMENT_FLOAT64, b, ELEMENT_FLOAT64, n, even, odd);
    else
        add_products(a, type_a, b, type_b, n, even, odd);
}

/* ---- the adder ---- */

static unsigned parts_of(const struct layout *layout)
{
    return element_is_complex(layout->input) && element_is_complex(layout->type) ? 2 : 1;
}

static bool leaves_out(const struct plan *plan)
{
    return plan->fold == FOLD_nansum;
}

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
    exact_sums_clear(&self->sums);
    exact_ways_start(&self->ways, job->instructions, element_real_part(plan->layout->input),
                     leaves_out(plan), is_squared(plan), exact_adder_just_adds(job));
    self->beside = (struct beside_windows){.large = NULL};
}

void exact_adder_end(struct exact_adder *self)
{
    large_sum_end(&self->beside, &self->sums.parts[EXACT_REAL]);
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
    return exact_ways_add(&self->ways, floats, n, even, odd, numbers);
}

static uint64_t add_one_by_one(const struct plan *plan, const void *elements, size_t n,
                               struct exact_adder *self)
{
    struct exact_sums *const sums = &self->sums;
    const enum element input = plan->layout->input, part = element_real_part(input);
    const unsigned parts = parts_of(plan->layout);
    struct exact *const sum = &sums->parts[EXACT_REAL];
    const bool may_be_large =
        !is_squared(plan) && (input == ELEMENT_FLOAT32 || input == ELEMENT_FLOAT64);
    struct large_sum *const large = may_be_large ? large_sum_of(&self->beside) : NULL;
    if (large)
        return large_sum_add(large, elements, n, input, leaves_out(plan), sum);
    if (!is_squared(plan))
        return add_numbers(elements, n, input, parts, leaves_out(plan), sums);
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
    if (fits_windows(plan) && windows_are_due(&self->beside) &&
        add_floats(plan, elements, n * parts, self, &added)) {
        added /= parts;
        windows_held(&self->beside);
    } else {
        added = add_one_by_one(plan, elements, n, self);
    }
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

void exact_adder_add_pair(struct exact_adder *self, double head, double tail, uint64_t n)
{
    struct exact *const sum = &self->sums.parts[EXACT_REAL];
    exact_reserve(sum, 2);
    exact_add(sum, exact_number_at(&head, ELEMENT_FLOAT64));
    exact_add(sum, exact_number_at(&tail, ELEMENT_FLOAT64));
    sum->counts[EXACT_COUNT] += (int64_t)n;
}
