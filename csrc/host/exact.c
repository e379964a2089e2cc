/* Each thread adds to sums of its own, which are merged in the end: no order makes a difference. */
#include "host/exact.h"

#include "common/arithmetic.h"
#include "host/folding.h"
#include "run/gather.h"
#include "run/watch.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = LOOP_MOST, /* elements at a time */
    STRETCH = 1 << 24, /* elements between two thoughts of the watch */
    CACHE_LINE = 64,
    WIDEST_ELEMENT = 16 /* bytes */
};

/* Of one thread, in cache lines of its own. */
struct own_sums {
    _Alignas(CACHE_LINE) struct exact_sums sums;
};

/* Where a thread brings elements together that do not lie ready. */
struct buffer {
    _Alignas(CACHE_LINE) char elements[CHUNK * WIDEST_ELEMENT];
};

/* ---- elements ---- */

/* Adds n numbers that are `step` bytes apart, but for those that are NaN in one of their parts,
 * where they are `skipped`. */
struct numbers {
    const char *at;
    size_t n, step;
    bool skipped;
};

#define LOADED(type, at)                                                                           \
    ({                                                                                             \
        type loaded;                                                                               \
        memcpy(&loaded, at, sizeof loaded);                                                        \
        loaded;                                                                                    \
    })

/* One function for floats of each type, whose format is constant in it. */
#define DEFINE_ADD_FLOATS(NAME, bits)                                                              \
    static uint64_t add_##NAME(const struct numbers *x, unsigned parts, struct exact_sums *sums)   \
    {                                                                                              \
        const struct exact_format format = exact_format_of(ELEMENT_##NAME);                        \
        uint64_t count = 0;                                                                        \
        for (size_t k = 0; k < x->n; k++) {                                                        \
            const char *at = x->at + k * x->step;                                                  \
            const struct exact_number first = exact_decode(LOADED(bits, at), format),              \
                                      second = exact_decode(                                       \
                                          LOADED(bits, at + (parts - 1) * sizeof(bits)), format);  \
            if (x->skipped && (first.kind == EXACT_NAN || second.kind == EXACT_NAN))               \
                continue;                                                                          \
            exact_add(&sums->parts[EXACT_REAL], first);                                            \
            if (parts > 1)                                                                         \
                exact_add(&sums->parts[EXACT_IMAGINARY], second);                                  \
            count++;                                                                               \
        }                                                                                          \
        return count;                                                                              \
    }

DEFINE_ADD_FLOATS(FLOAT16, uint16_t)
DEFINE_ADD_FLOATS(BFLOAT16, uint16_t)
DEFINE_ADD_FLOATS(FLOAT32, uint32_t)
DEFINE_ADD_FLOATS(FLOAT64, uint64_t)

static uint64_t add_integers(const struct numbers *x, enum element type, struct exact_sums *sums)
{
    for (size_t k = 0; k < x->n; k++)
        exact_add(&sums->parts[EXACT_REAL], exact_number_at(x->at + k * x->step, type));
    return x->n;
}

/* Returns how many were added. */
static uint64_t add_numbers(const struct numbers *x, enum element type, unsigned parts,
                            struct exact_sums *sums)
{
    switch (type) {
    case ELEMENT_FLOAT16:
        return add_FLOAT16(x, 1, sums);
    case ELEMENT_BFLOAT16:
        return add_BFLOAT16(x, 1, sums);
    case ELEMENT_FLOAT32:
        return add_FLOAT32(x, 1, sums);
    case ELEMENT_FLOAT64:
        return add_FLOAT64(x, 1, sums);
    case ELEMENT_COMPLEX64:
        return add_FLOAT32(x, parts, sums);
    case ELEMENT_COMPLEX128:
        return add_FLOAT64(x, parts, sums);
    default:
        return add_integers(x, type, sums);
    }
}

/* ---- a chunk ---- */

static void count_in(struct exact_sums *sums, uint64_t count)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        sums->parts[part].counts[EXACT_COUNT] += (int64_t)count;
}

/* Adds elements that lie one after the other. */
static void add_chunk(const struct plan *plan, const void *elements, size_t n,
                      struct exact_sums *sums)
{
    const enum element type = plan->layout->input;
    const struct numbers numbers = {elements, n, element_size(type), plan->fold == FOLD_nansum};
    const unsigned parts =
        element_is_complex(type) && element_is_complex(plan->layout->type) ? 2 : 1;
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums->parts[part], n);
    count_in(sums, add_numbers(&numbers, type, parts, sums));
}

/* ---- many chunks ---- */

/* Elements that are added without a thought of the watch. */
struct part {
    const struct plan *plan;
    uint64_t start, n;
    struct own_sums *sums;
    struct buffer *buffers;
};

static void add_piece(void *context, uint64_t index, unsigned thread)
{
    const struct part *part = context;
    const struct plan *plan = part->plan;
    struct exact_sums *const sums = &part->sums[thread].sums;
    const uint64_t at = part->start + index * CHUNK, n = least(part->n - index * CHUNK, CHUNK);
    if (plan->flat) {
        const char *const elements = plan->layout->data;
        add_chunk(plan, elements + at * element_size(plan->layout->input), n, sums);
    } else {
        void *const buffer = &part->buffers[thread];
        add_chunk(plan, buffer, gather_unconverted(plan->layout, at, n, buffer), sums);
    }
}

static bool add_stretches(struct job *job, struct own_sums *sums, struct buffer *buffers)
{
    const struct plan *plan = job->plan;
    for (uint64_t start = 0; start < plan->n; start += STRETCH) {
        if (start && watch_interrupted_lately(job->run, &job->asked))
            return false;
        struct part part = {plan, start, least(plan->n - start, STRETCH), sums, buffers};
        threads_run(job->threads, divide_up(part.n, CHUNK), add_piece, &part);
    }
    return true;
}

static void clear(struct exact_sums *sums)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_clear(&sums->parts[part]);
}

static void merge(struct exact_sums *sums, const struct exact_sums *others)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_merge(&sums->parts[part], &others->parts[part]);
}

bool exact_run(struct job *job, struct exact_sums *sums)
{
    const uint64_t pieces = divide_up(least(job->plan->n, STRETCH), CHUNK);
    const unsigned threads = threads_for(job->threads, pieces);
    struct own_sums *const own = aligned_alloc(CACHE_LINE, threads * sizeof *own);
    struct buffer *const buffers =
        job->plan->flat ? NULL : aligned_alloc(CACHE_LINE, threads * sizeof *buffers);
    bool added = own && (buffers || job->plan->flat);
    clear(sums);
    if (!added)
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for exact sums");
    for (unsigned thread = 0; added && thread < threads; thread++)
        clear(&own[thread].sums);
    added = added && add_stretches(job, own, buffers);
    for (unsigned thread = 0; added && thread < threads; thread++)
        merge(sums, &own[thread].sums);
    free(buffers);
    free(own);
    return added;
}

/* ---- the answer ---- */

/* One part of the answer. All floats are float64s, too. */
static double rounded(const struct exact *sum, int64_t divisor, enum element type)
{
    return scalar_widen(exact_value(sum, divisor, type), type).real;
}

static void add_initial(const struct finish *finish, struct exact_sums *sums)
{
    const struct exact_format format = exact_format_of(ELEMENT_FLOAT64);
    const struct scalar_wide initial = scalar_widen(finish->initial, finish->accumulator);
    const double parts[EXACT_PARTS] = {initial.real, initial.imag};
    for (int part = 0; part < EXACT_PARTS; part++) {
        uint64_t bits;
        memcpy(&bits, &parts[part], sizeof bits);
        exact_reserve(&sums->parts[part], 1);
        exact_add(&sums->parts[part], exact_decode(bits, format));
    }
}

/* A zero has the sign that any sum of these elements has: it is negative if all of them are, and
 * so is the initial value. */
static bool sign_zeros(struct job *job, struct scalar_wide *value)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct plan *plan = job->plan;
    struct answer plain;
    if (!folding_run(job, state))
        return false;
    state_finish(plan->reduction, &plan->finish, state, &plain);
    if (value->real == 0 && plain.values[0].real == 0)
        value->real = plain.values[0].real;
    if (value->imag == 0 && plain.values[0].imag == 0)
        value->imag = plain.values[0].imag;
    return true;
}

/* As NumPy's division of a complex number goes: what is not finite spoils the other part, too. */
static void spoil(struct scalar_wide *value)
{
    const bool whole = isfinite(value->real) && isfinite(value->imag);
    const double real = value->real, imag = value->imag;
    value->real = whole ? real : real + imag * 0.0;
    value->imag = whole ? imag : imag - real * 0.0;
}

bool exact_finish(struct job *job, struct exact_sums *sums)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const enum element type = element_real_part(finish->result);
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    const int64_t count = sums->parts[EXACT_REAL].counts[EXACT_COUNT], divisor = mean ? count : 1;
    struct scalar_wide value = {.kind = SCALAR_FLOAT};
    if (finish->has_initial)
        add_initial(finish, sums);
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_normalise(&sums->parts[part]);
    if (job->run->exact)
        *job->run->exact = sums->parts[EXACT_REAL];
    value.real = rounded(&sums->parts[EXACT_REAL], divisor, type);
    value.imag = rounded(&sums->parts[EXACT_IMAGINARY], divisor, type);
    if (mean && element_is_complex(finish->result))
        spoil(&value);
    job->run->count = (uint64_t)count;
    if (!finish->from_nothing && !sign_zeros(job, &value))
        return false;
    job->run->answer.values[0] = value;
    job->run->answer.values[1] = (struct scalar_wide){SCALAR_SIGNED, count, 0, 0};
    return true;
}
