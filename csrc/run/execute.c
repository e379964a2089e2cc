/* What a plan's results are made by, and where they go if kernels do not leave them there. */
#include "plan/axes.h"
#include "run/execute_array.h"
#include "run/execute_axes.h"

static bool make(struct machine *machine, const struct plan *plan, struct run *run)
{
    if (plan->segments)
        return execute_segments(machine, plan, run);
    if (plan->axes)
        return execute_axes(machine, plan, run);
    return execute_array(machine, plan, run);
}

static bool store(struct machine *machine, const struct plan *plan)
{
    const struct results *results = &plan->results;
    const void *values = results->at[0];
    enum element type = results->type;
    unsigned bytes = (unsigned)element_size(type);
    uint64_t n = plan->axes->results;
    void *arguments[] = {&values, &type, &bytes, &n, (void *)results->out};
    const struct step step = step_store(kernel_of_kind(machine->kernels, KERNEL_STORE), n);
    return machine_launch_step(machine, &step, arguments);
}

bool execute(struct machine *machine, const struct plan *asked, struct run *run)
{
    if (!asked->results.out || run->explanation)
        return make(machine, asked, run);
    struct plan plan = *asked;
    const size_t bytes = plan.axes->results * element_size(plan.results.type);
    if (!machine->lend(machine, bytes, &plan.results.at[0]))
        return false;
    const bool made = make(machine, &plan, run) && store(machine, &plan);
    machine->take_back(machine, plan.results.at[0]);
    return made;
}
