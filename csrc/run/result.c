#include "run/result.h"

#include <math.h>

/* How many elements a quotient was made of. */
static double made_of(const struct plan *plan, const struct answer *answer, uint64_t count)
{
    switch (plan->reduction) {
    case REDUCTION_var:
    case REDUCTION_std:
        return answer->values[1].real - plan->finish.ddof;
    case REDUCTION_nanmean:
        return (double)answer->values[1].integer;
    default:
        return (double)count;
    }
}

static bool is_nan(const struct scalar_wide *value)
{
    return value->kind == SCALAR_FLOAT && (isnan(value->real) || isnan(value->imag));
}

/* What is indexed tells by its position. */
static bool is_of_nothing(const struct plan *plan, const struct answer *answer, uint64_t count)
{
    return fold_is_indexed(plan->fold) ? answer->values[0].integer < 0 : count == 0;
}

void findings_add(struct findings *findings, const struct plan *plan, const struct answer *answer,
                  uint64_t count)
{
    const enum nothing nothing = reduction_row(plan->reduction)->nothing;
    if (nothing == NOTHING_error && is_of_nothing(plan, answer, count))
        findings->of_nothing = true;
    if (nothing == NOTHING_nan && !(made_of(plan, answer, count) > 0))
        findings->not_enough = true;
    if ((plan->fold == FOLD_nanmin || plan->fold == FOLD_nanmax) && is_nan(&answer->values[0]))
        findings->all_nan = true;
}

void run_answer_exact(struct run *run, const struct plan *plan, const struct exact *sum,
                      struct scalar_wide value, uint64_t count)
{
    if (run->exact) {
        *run->exact = *sum;
        run->exact->counts[EXACT_COUNT] = (int64_t)count;
    }
    run->count = count;
    run->answer.values[0] = value;
    run->answer.values[1] = (struct scalar_wide){SCALAR_SIGNED, (int64_t)count, 0, 0};
    findings_add(&run->findings, plan, &run->answer, count);
}

void run_finish_exact(struct run *run, const struct plan *plan, enum element accumulator,
                      const int64_t *words, uint64_t count)
{
    struct exact_sums sums;
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    const struct scalar_wide value =
        exact_finish_words(&plan->finish, mean, words, accumulator, &count, &sums);
    run_answer_exact(run, plan, &sums.parts[EXACT_REAL], value, count);
}

void run_finish(struct run *run, const struct plan *plan, enum element accumulator,
                const void *state, uint64_t count)
{
    struct finish finish = finish_in(&plan->finish, accumulator);
    finish.count = run->count = count;
    state_finish(plan->reduction, &finish, state, &run->answer);
    findings_add(&run->findings, plan, &run->answer, count);
}
