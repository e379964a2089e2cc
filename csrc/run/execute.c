/* What a plan's results are made by, and where they go if kernels do not leave them there. */
#include "run/execute.h"

#include "run/explanation.h"

/* ---- whole arrays ---- */

static bool resident(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                     unsigned *blocks)
{
    struct machine *machine = device;
    return machine->work->resident(machine, kernel, block, shared_bytes, blocks);
}

static struct facts facts_of(struct machine *machine, const struct run *run)
{
    return (struct facts){.kernels = machine->kernels,
                          .multiprocessors = machine->multiprocessors,
                          .capability = machine->capability,
                          .limit = run->workspace_limit ? run->workspace_limit : UINT64_MAX,
                          .whole = run->timing || run->counting,
                          .resident = resident,
                          .device = machine};
}

/* With memory for it, or in pieces that there is memory for. */
static bool make_schedule(struct machine *machine, const struct plan *plan, const struct run *run,
                          struct schedule *schedule)
{
    struct facts facts = facts_of(machine, run);
    if (!schedule_make(plan, &facts, schedule, machine->failure))
        return false;
    const uint64_t total = schedule->arena.total;
    facts.limit = machine->memory->room(machine, total);
    return facts.limit >= total || schedule_make(plan, &facts, schedule, machine->failure);
}

/* Another user of the device may have taken the memory that there was room for: then smaller pieces
 * may do. True if there are such. */
static bool shrink(struct machine *machine, const struct run *run, struct schedule *schedule)
{
    const uint64_t piece = schedule->piece;
    const struct failure failure = *machine->failure;
    struct facts facts = facts_of(machine, run);
    if (failure.kind != FAILURE_MEMORY)
        return false;
    *machine->failure = (struct failure){0};
    facts.limit = schedule->arena.total / 2;
    if (schedule_make(schedule->plan, &facts, schedule, machine->failure) &&
        schedule->piece < piece)
        return true;
    *machine->failure = failure;
    return false;
}

static bool explain(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct explanation *explanation = run->explanation;
    explanation->by = EXPLAINED_SCHEDULE;
    explanation->plan = *plan;
    explanation->kernels = *machine->kernels;
    const bool made = make_schedule(machine, &explanation->plan, run, &explanation->schedule);
    explanation->schedule.kernels = &explanation->kernels;
    return made;
}

bool execute_array(struct machine *machine, const struct plan *asked, struct run *run)
{
    const struct facts facts = facts_of(machine, run);
    struct plan plan = *asked;
    struct schedule schedule;
    fastest_choose(&facts, &plan);
    if (run->explanation)
        return explain(machine, &plan, run);
    if (!make_schedule(machine, &plan, run, &schedule))
        return false;
    bool ran;
    do
        ran = execute_pieces(machine, &schedule, run);
    while (!ran && shrink(machine, run, &schedule));
    return ran;
}

/* ---- all ---- */

static bool make(struct machine *machine, const struct plan *plan, struct run *run)
{
    return plan->segments ? execute_segments(machine, plan, run)
           : plan->axes   ? execute_axes(machine, plan, run)
                          : execute_array(machine, plan, run);
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
    if (!machine->memory->lend(machine, bytes, &plan.results.at[0]))
        return false;
    const bool made = make(machine, &plan, run) && store(machine, &plan);
    machine->memory->take_back(machine, plan.results.at[0]);
    return made;
}
