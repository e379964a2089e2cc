#include "run/exact_along.h"

#include "run/along.h"

/* Nobody waits for results that stay on the device, so they are made in memory of their own. */
bool exact_along_run(struct machine *machine, const struct plan *plan,
                     const struct exact_along *along)
{
    const struct arena *arena = &along->arena;
    struct kernel_exact_along argument;
    void *arguments[] = {&argument}, *memory = NULL;
    const struct launch launch = {.kernel = along->kernel,
                                  .arguments = arguments,
                                  .grid = along->groups * along->splits,
                                  .block = along->block,
                                  .shared_bytes = along->shared_bytes,
                                  .cluster = 1};
    if (arena->total && !machine->lend(machine, arena->total, &memory))
        return false;
    exact_along_argument(along, plan, &argument);
    argument.tickets = arena_part(arena, memory, PART_TICKETS);
    argument.words = arena_part(arena, memory, PART_PARTIALS);
    const bool made = along_clear(machine, arena, memory, PART_TICKETS) &&
                      along_clear(machine, arena, memory, PART_PARTIALS) &&
                      machine->launch(machine, &launch);
    machine->take_back(machine, memory);
    return made;
}
