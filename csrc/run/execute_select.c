/* Order statistics of rows on a device, in memory of the caller's: see kernel_select. */
#include "common/arithmetic.h"
#include "run/execute.h"

/* Few threads share a short row, so that many rows are under way at once. */
static unsigned block_of(uint64_t n)
{
    enum { SHORT = 256, LONG = 4096 };
    return n <= SHORT ? 32 : n <= LONG ? 128 : 512;
}

static bool launch(const struct executor *on)
{
    enum { GRID_MOST = 1 << 30 };
    const struct plan *plan = on->plan;
    struct kernel_select select = *plan->segments.ranks;
    const struct kernel_key key = {KERNEL_SELECT, FOLDS, select.input, ELEMENTS, METHODS, 0};
    const struct step step = {
        .kernel = on->machine->facts.kernels->find(key),
        .grid = least(select.rows, GRID_MOST),
        .block = block_of(select.n),
        .shared_bytes = SELECT_WORDS * sizeof(uint32_t),
        .cluster = 1,
    };
    void *arguments[] = {&select};
    select.values = plan->layout->data;
    select.out = plan->results.at[0];
    return executor_launch(on, &step, arguments);
}

bool execute_select(struct machine *machine, const struct plan *plan, struct run *run)
{
    const struct arena arena = {.total = 0};
    const struct executor on = {.machine = machine, .run = run, .plan = plan, .arena = &arena};
    struct executor self = on;
    return plan->n == 0 || (executor_begin(&self) && executor_end(&self, true, launch(&self)));
}
