/* A thread's exact addition of elements: with loops for floats, as many at a time as these take,
 * and one after the other for all others. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "threads/gather.h"

/* ---- one after the other ---- */

/* With a constant type and number of parts, the loop has few branches. */
static inline __attribute__((always_inline)) uint64_t add_typed(const char *at, size_t step,
                                                                size_t n, enum element type,
                                                                unsigned parts, bool skips_nan,
                                                                struct exact *real,
                                                                struct exact *imaginary)
{
    const size_t size = element_size(type);
    uint64_t added = 0;
    for (size_t k = 0; k < n; k++, at += step) {
        const struct exact_number first = exact_number_at(at, type),
                                  second = parts > 1 ? exact_number_at(at + size, type) : first;
        if (skips_nan && (first.kind == EXACT_NAN || second.kind == EXACT_NAN))
            continue;
        exact_add(real, first);
        if (parts > 1)
            exact_add(imaginary, second);
        added++;
    }
    return added;
}

uint64_t numbers_add(const void *numbers, size_t step, size_t n, enum element type, unsigned parts,
                     bool skips_nan, struct exact *real, struct exact *imaginary)
{
    exact_reserve(real, n);
    exact_reserve(imaginary, n);
    switch (type) {
#define OF_TYPE(TYPE)                                                                              \
    case TYPE:                                                                                     \
        return parts > 1 ? add_typed(numbers, step, n, TYPE, 2, skips_nan, real, imaginary)        \
                         : add_typed(numbers, step, n, TYPE, 1, skips_nan, real, imaginary)
        OF_TYPE(ELEMENT_FLOAT16);
        OF_TYPE(ELEMENT_BFLOAT16);
        OF_TYPE(ELEMENT_FLOAT32);
        OF_TYPE(ELEMENT_FLOAT64);
#undef OF_TYPE
    default:
        return add_typed(numbers, step, n, type, 1, skips_nan, real, imaginary);
    }
}

/* Significands are multiplied as integers, so that products do not overflow, underflow or round.
 * With constant types, the loop has few branches. */
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

static bool skips_nan(const struct plan *plan)
{
    return plan->fold == FOLD_nansum;
}

static bool is_squared(const struct plan *plan)
{
    return plan->fold == FOLD_norm2;
}

/* Whether elements are contiguous floats, of which each is skipped separately. */
static bool fits_windows(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    return !element_is_integer(input) &&
           element_is_complex(input) == (parts_of(plan->layout) > 1) &&
           !(skips_nan(plan) && element_is_complex(input));
}

bool exact_adder_adds_plainly(const struct job *job)
{
    return job->reports_rounding && fits_windows(job->plan) && !is_squared(job->plan);
}

void exact_adder_start(struct exact_adder *self, const struct job *job)
{
    const struct plan *plan = job->plan;
    memset(&self->sums, 0, sizeof self->sums);
    float_adder_start(&self->floats, job->instructions, element_real_part(plan->layout->input),
                      skips_nan(plan), is_squared(plan), exact_adder_adds_plainly(job));
}

void exact_adder_clear(struct exact_adder *self)
{
    memset(&self->sums, 0, sizeof self->sums);
    windows_reset(&self->floats.windows);
}

/* Adds at most a loop's floats at a time. Complex parts alternate; squared, they are one sum. */
void exact_adder_add(struct exact_adder *self, const struct plan *plan, const char *elements,
                     size_t n)
{
    const enum element input = plan->layout->input, part = element_real_part(input);
    const unsigned parts = parts_of(plan->layout);
    const size_t size = element_size(input);
    struct exact *const sums = self->sums.parts, *const real = &sums[EXACT_REAL],
                        *const imaginary = &sums[EXACT_IMAGINARY];
    for (uint64_t some, added; n; n -= some, elements += some * size) {
        added = some = min_u64(n, CHUNK_MAX / parts);
        if (fits_windows(plan))
            added = float_adder_add(&self->floats, elements, elements, some * parts, real,
                                    parts > 1 && !is_squared(plan) ? imaginary : real) /
                    parts;
        else if (is_squared(plan))
            products_add(elements, part, elements, part, some * parts, real, real);
        else
            added =
                numbers_add(elements, size, some, part, parts, skips_nan(plan), real, imaginary);
        for (int k = 0; k < EXACT_PARTS; k++)
            sums[k].counts[EXACT_COUNT] += (int64_t)added;
    }
}

void exact_adder_add_layout(struct exact_adder *self, const struct job *job,
                            const struct layout *layout, uint64_t start, uint64_t n,
                            struct exact_gathered *gathered)
{
    const struct plan *plan = job->plan;
    if (plan->elements.flat) {
        exact_adder_add(self, plan,
                        (const char *)layout->data + start * element_size(layout->input), n);
        return;
    }
    for (const uint64_t end = start + n; start < end; start += CHUNK_MAX)
        exact_adder_add(self, plan, gathered->elements,
                        gather_unconverted(job->instructions, layout, start,
                                           min_u64(end - start, CHUNK_MAX), gathered->elements));
}

void exact_adder_add_pair(struct exact_adder *self, double head, double tail, uint64_t n)
{
    struct exact *const sum = &self->sums.parts[EXACT_REAL];
    exact_reserve(sum, 2);
    exact_add(sum, exact_number_at(&head, ELEMENT_FLOAT64));
    exact_add(sum, exact_number_at(&tail, ELEMENT_FLOAT64));
    sum->counts[EXACT_COUNT] += (int64_t)n;
}
