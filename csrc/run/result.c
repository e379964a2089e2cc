#include "run/result.h"

#include "common/findings.h"

void findings_note(struct findings *findings, unsigned found)
{
    findings->of_nothing |= (found & FOUND_NOTHING) != 0;
    findings->not_enough |= (found & FOUND_NOT_ENOUGH) != 0;
    findings->all_nan |= (found & FOUND_ALL_NAN) != 0;
}

void findings_add(struct findings *findings, const struct plan *plan, const struct answer *answer,
                  uint64_t count)
{
    const enum nothing nothing = reduction_row(plan->reduction)->nothing;
    findings_note(findings, findings_of(plan->reduction, plan->fold, nothing, plan->finish.ddof,
                                        answer, count));
}

void run_finish(struct run *run, const struct plan *plan, enum element accumulator,
                const void *state, uint64_t count)
{
    struct finish finish = finish_in(&plan->finish, accumulator);
    finish.count = run->count = count;
    state_finish(plan->reduction, &finish, state, &run->answer);
    findings_add(&run->findings, plan, &run->answer, count);
}
