#include "host/exact_answer.h"

#include "common/exact_root.h"
#include "host/folding.h"
#include "run/result.h"

#include <math.h>

/* One part of the answer. All floats are float64s, too. */
static double rounded(const struct exact *sum, int64_t divisor, enum element type)
{
    return scalar_widen(exact_value(sum, divisor, type), type).real;
}

static double rounded_root(const struct exact *sum, enum element type)
{
    return scalar_widen(exact_root(sum, type), type).real;
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

/* A sum of 0 has the sign that any other sum of these elements has: it is negative if all of them
 * are, and so is the initial value. */
static bool sign_zeros(struct job *job, const struct exact_sums *sums, struct scalar_wide *value)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct plan *plan = job->plan;
    struct answer plain;
    uint64_t count;
    if (!folding_run(job, state, &count))
        return false;
    state_finish(plan->reduction, &plan->finish, state, &plain);
    if (exact_is_zero(&sums->parts[EXACT_REAL]) && plain.values[0].real == 0)
        value->real = plain.values[0].real;
    if (exact_is_zero(&sums->parts[EXACT_IMAGINARY]) && plain.values[0].imag == 0)
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

/* What the sums are, divided or not; complex only where the result is. */
static struct scalar_wide rounded_sums(const struct plan *plan, struct exact_sums *sums,
                                       int64_t divisor)
{
    const struct finish *const finish = &plan->finish;
    const int parts = element_is_complex(finish->result) ? EXACT_PARTS : 1;
    const enum element type = element_real_part(finish->result);
    double values[EXACT_PARTS] = {0};
    for (int part = 0; part < parts; part++) {
        exact_normalise(&sums->parts[part]);
        values[part] = plan->fold == FOLD_norm2 ? rounded_root(&sums->parts[part], type)
                                                : rounded(&sums->parts[part], divisor, type);
    }
    return (struct scalar_wide){SCALAR_FLOAT, 0, values[EXACT_REAL], values[EXACT_IMAGINARY]};
}

bool exact_finish(struct job *job, struct exact_sums *sums)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    const int64_t count = sums->parts[EXACT_REAL].counts[EXACT_COUNT];
    if (finish->has_initial)
        add_initial(finish, sums);
    struct scalar_wide value = rounded_sums(plan, sums, mean ? count : 1);
    if (mean && element_is_complex(finish->result))
        spoil(&value);
    if (!finish->from_nothing && !sign_zeros(job, sums, &value))
        return false;
    if (job->run->exact)
        *job->run->exact = sums->parts[EXACT_REAL];
    job->run->count = (uint64_t)count;
    job->run->answer.values[0] = value;
    job->run->answer.values[1] = (struct scalar_wide){SCALAR_SIGNED, count, 0, 0};
    findings_add(&job->run->findings, plan, &job->run->answer, (uint64_t)count);
    return true;
}
