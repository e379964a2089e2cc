#include "host/exact_answer.h"

#include "host/folding.h"
#include "run/result.h"

static bool has_zero(const struct plan *plan, const struct exact_sums *sums)
{
    return exact_is_zero(&sums->parts[EXACT_REAL]) ||
           (exact_has_parts(plan->finish.result) && exact_is_zero(&sums->parts[EXACT_IMAGINARY]));
}

/* A sum of 0 has the sign that any other sum of these elements has: it is negative if all of them
 * are, and so is the initial value. */
static bool sign_zeros(struct job *job, const struct exact_sums *sums, struct scalar_wide *value)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct plan *plan = job->plan;
    struct answer plain;
    uint64_t count;
    if (!has_zero(plan, sums))
        return true;
    if (!folding_run(job, state, &count))
        return false;
    state_finish(plan->reduction, &plan->finish, state, &plain);
    if (exact_is_zero(&sums->parts[EXACT_REAL]) && plain.values[0].real == 0)
        value->real = plain.values[0].real;
    if (exact_is_zero(&sums->parts[EXACT_IMAGINARY]) && plain.values[0].imag == 0)
        value->imag = plain.values[0].imag;
    return true;
}

bool exact_finish(struct job *job, struct exact_sums *sums)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    const int64_t count = sums->parts[EXACT_REAL].counts[EXACT_COUNT];
    const bool negative_zeros[EXACT_PARTS] = {false, false};
    struct scalar_wide value = plan->fold == FOLD_norm2
                                   ? exact_sums_root(finish, sums)
                                   : exact_sums_round(finish, mean, count, negative_zeros, sums);
    if (!finish->from_nothing && !sign_zeros(job, sums, &value))
        return false;
    run_answer_exact(job->run, plan, &sums->parts[EXACT_REAL], value, (uint64_t)count);
    return true;
}
