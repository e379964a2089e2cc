#include "run/execute_array.h"

#include "plan/fastest.h"
#include "run/explanation.h"

static bool resident(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                     unsigned *blocks)
{
    struct machine *machine = device;
    return machine->resident(machine, kernel, block, shared_bytes, blocks);
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

static bool schedule_within(struct machine *machine, const struct plan *plan, const struct run *run,
                            uint64_t limit, struct schedule *schedule)
{
    struct facts facts = facts_of(machine, run);
    facts.limit = limit;
    return schedule_make(plan, &facts, schedule, machine->failure);
}

/* With memory for it, or in pieces that there is memory for. */
static bool make_schedule(struct machine *machine, const struct plan *plan, const struct run *run,
                          struct schedule *schedule)
{
    const struct facts facts = facts_of(machine, run);
    if (!schedule_make(plan, &facts, schedule, machine->failure))
        return false;
    const uint64_t room = machine->room(machine, schedule->arena.total);
    return room >= schedule->arena.total || schedule_within(machine, plan, run, room, schedule);
}

/* Another user of the device may have taken the memory that there was room for: then smaller pieces
 * may do. True if there are such. */
static bool shrink(struct machine *machine, const struct run *run, struct schedule *schedule)
{
    const uint64_t piece = schedule->piece;
    if (machine->failure->kind != FAILURE_MEMORY)
        return false;
    const struct failure failure = *machine->failure;
    *machine->failure = (struct failure){0};
    if (schedule_within(machine, schedule->course.plan, run, schedule->arena.total / 2, schedule) &&
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
    explanation->schedule.course.kernels = &explanation->kernels;
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
