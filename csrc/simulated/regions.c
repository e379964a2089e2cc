#include "simulated/regions.h"

static void add(struct checked_launch *self, struct region region)
{
    self->regions[self->count++] = region;
}

/* A partial of every block, one result, or none beside the array. */
static uint64_t states_left(const struct plan *plan, const struct launch *launch)
{
    if (plan->method->style == STYLE_levels)
        return 0;
    return plan->method->style == STYLE_one_atomic ? 1 : launch->grid;
}

void regions_of(const struct plan *plan, const struct launch *launch, struct checked_launch *self)
{
    const struct kernel_array *array = launch->arguments[0];
    const uint64_t n = *(const uint64_t *)launch->arguments[1];
    const uintptr_t written = *(const uintptr_t *)launch->arguments[2];
    const uintptr_t tickets = *(const uintptr_t *)launch->arguments[3];
    const unsigned size = (unsigned)element_size(plan->accumulator);
    const uint64_t states = states_left(plan, launch);
    const bool combines = plan->method->style == STYLE_one_atomic;
    add(self, (struct region){.name = "element",
                              .at = (uintptr_t)array->at,
                              .bytes = n * size,
                              .element = size,
                              .is_there = true,
                              .is_for_loads = !method_works_in_place(plan->method)});
    if (states)
        add(self, (struct region){.name = combines ? "result" : "partial",
                                  .at = written,
                                  .bytes = states * size,
                                  .element = size,
                                  .is_there = combines,
                                  .is_to_be_written = true});
    if (tickets)
        add(self, (struct region){.name = "ticket",
                                  .at = tickets,
                                  .bytes = sizeof(unsigned),
                                  .element = sizeof(unsigned),
                                  .is_there = true,
                                  .is_shared = true});
}
