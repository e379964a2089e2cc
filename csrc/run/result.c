#include "run/result.h"

#include "common/exact_sums.h"
#include "common/reduction.h"
#include "common/scalar.h"

unsigned result_findings(const struct plan *plan, const struct answer *answer, uint64_t count)
{
    const enum nothing nothing = reduction_row(plan->reduction)->nothing;
    return findings_of(plan->reduction, plan->fold, nothing, plan->finish.ddof, answer, count);
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
    run->findings |= result_findings(plan, &run->answer, count);
}

void run_finish_exact(struct run *run, const struct plan *plan, enum element accumulator,
                      const int64_t *words, uint64_t count)
{
    struct exact_sums sums;
    const struct scalar_wide value =
        exact_finish_words(&plan->finish, plan_exact_rounding(plan), words,
                           plan_exact_span(plan, accumulator), &count, &sums);
    run_answer_exact(run, plan, &sums.parts[EXACT_REAL], value, count);
}

void run_finish(struct run *run, const struct plan *plan, enum element accumulator,
                const void *state, uint64_t count)
{
    struct finish finish = finish_convert(&plan->finish, accumulator);
    finish.count = run->count = count;
    state_finish(plan->reduction, &finish, state, &run->answer);
    run->findings |= result_findings(plan, &run->answer, count);
}

union scalar run_empty_value(const struct plan *plan)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const enum element type = plan->finish.result;
    struct finish finish = plan->finish;
    struct answer answer;
    if (element_is_integer(type) && (plan->fold == FOLD_min || plan->fold == FOLD_max))
        return scalar_limit(type, plan->fold == FOLD_min);
    finish.count = 0;
    state_identity(plan->fold, plan->accumulator, state);
    state_finish(plan->reduction, &finish, state, &answer);
    return scalar_convert(scalar_narrow(answer.values[0], type), type, plan->results.type);
}

void run_store(const struct run *run, const struct plan *plan, unsigned value, void *to)
{
    const enum element type = plan->results.types[value],
                       from = plan->reduction == REDUCTION_describe ? type : plan->finish.result;
    scalar_store(to, scalar_convert(scalar_narrow(run->answer.values[value], from), from, type),
                 type);
}
