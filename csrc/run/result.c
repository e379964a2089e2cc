#include "run/result.h"

void run_finish(struct run *run, const struct plan *plan, enum element accumulator,
                const void *state, uint64_t count)
{
    struct finish finish = finish_in(&plan->finish, accumulator);
    finish.count = run->count = count;
    state_finish(plan->reduction, &finish, state, &run->answer);
}
