#include "cpu/finalize.h"

#include "arrays/operands.h"
#include "run/result.h"

/* Whether one result's findings are those of all results with the same number of elements. Folds
 * whose states tell their number of elements have no findings as long as there are enough. */
static bool findings_are_uniform(const struct plan *plan, const struct finalize *self)
{
    const bool skips_nan = reduction_skips_nan(plan->reduction),
               masked = plan->layout->mask && fold_state_has_count(plan->fold);
    return !(skips_nan || masked) || !states_have_too_few(plan->fold, plan->accumulator,
                                                          self->states, self->n, plan->finish.ddof);
}

/* The index of a state with the fewest elements. */
static uint64_t min_count_index(const struct finalize *self)
{
    uint64_t fewest = 0;
    for (uint64_t k = 1; self->counts && k < self->n; k++)
        if (self->counts[k] < self->counts[fewest])
            fewest = k;
    return fewest;
}

unsigned finalize_findings(const struct plan *plan, const struct finalize *self)
{
    unsigned found = 0;
    const bool one = findings_are_uniform(plan, self);
    const uint64_t fewest = min_count_index(self), first = one ? fewest : 0,
                   end = one ? fewest + 1 : self->n;
    const size_t width = state_bytes(plan->fold, plan->accumulator);
    struct finish how = plan->finish;
    how.count = self->counts ? self->counts[fewest] : self->count;
    for (uint64_t k = first; k < end; k++) {
        struct answer answer;
        state_finish(plan->reduction, &how, (const char *)self->states + k * width, &answer);
        found |= result_findings(plan, &answer, how.count);
    }
    return found;
}

unsigned finalize_run(const struct plan *plan, const struct finalize *self)
{
    const struct results *results = &plan->results;
    struct finish how = plan->finish;
    struct finished to = {.step = self->step, .values = results->values};
    for (unsigned v = 0; v < results->values; v++) {
        to.held[v] = results->types[v];
        to.at[v] = (char *)results->at[v] + self->place * (int64_t)element_size(results->types[v]);
    }
    if (plan->means)
        states_recenter(plan->accumulator, self->states, self->n, plan->means->here + self->place,
                        self->step);
    const unsigned found = finalize_findings(plan, self);
    how.count = self->count;
    states_finish(plan->reduction, &how, self->counts, self->states, self->n, &to);
    return found;
}
