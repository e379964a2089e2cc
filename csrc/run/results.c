#include "run/results.h"

#include "common/arithmetic.h"
#include "plan/axes.h"

uint64_t results_store_grid(uint64_t n)
{
    enum { BLOCKS_MOST = 1 << 16 };
    return least(divide_up(n, RESULTS_BLOCK), BLOCKS_MOST);
}

static bool store(struct machine *machine, const struct plan *plan)
{
    const struct results *results = &plan->results;
    const void *values = results->at[0];
    enum element type = results->type;
    unsigned bytes = (unsigned)element_size(type);
    uint64_t n = plan->axes->results;
    void *arguments[] = {&values, &type, &bytes, &n, (void *)results->out};
    const struct launch launch = {.kernel = kernel_of_kind(machine->kernels, KERNEL_STORE),
                                  .arguments = arguments,
                                  .grid = results_store_grid(n),
                                  .block = RESULTS_BLOCK,
                                  .cluster = 1};
    return machine->launch(machine, &launch);
}

bool results_run(struct machine *machine, const struct plan *asked, struct run *run)
{
    if (!asked->results.out || run->explanation)
        return passes_run(machine, asked, run);
    struct plan plan = *asked;
    const size_t bytes = plan.axes->results * element_size(plan.results.type);
    if (!machine->lend(machine, bytes, &plan.results.at[0]))
        return false;
    const bool ran = passes_run(machine, &plan, run) && store(machine, &plan);
    machine->take_back(machine, plan.results.at[0]);
    return ran;
}
