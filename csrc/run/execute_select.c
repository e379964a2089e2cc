/* Quantiles of rows on a device: see kernel_select. */
#include "common/arithmetic.h"
#include "run/execute.h"

struct selecting {
    struct executor on;
    struct arena arena;
    struct kernel_select select;
    struct step step;
};

/* Few threads share a short row, so that many rows are under way at once. All blocks take one row
 * after the other where rows are few and long, since a pass of theirs takes as long as a barrier
 * ("together" in benchmarks/tuning/selection.json). */
static bool arrange(struct selecting *self)
{
    enum { GRID_MOST = 1 << 30, SHORT = 256, LONG = 4096, TOGETHER = 1 << 14 };
    const struct facts *facts = &self->on.machine->facts;
    const struct kernel_select *select = &self->select;
    const uint64_t limit = self->on.run->workspace_limit;
    const struct kernel_key key = {KERNEL_SELECT, FOLDS, select->of.input, ELEMENTS, METHODS, 0};
    self->step = (struct step){
        .kernel = facts->kernels->find(key),
        .grid = least(select->rows, GRID_MOST),
        .block = select->n <= SHORT  ? 32
                 : select->n <= LONG ? 128
                                     : 512,
        .shared_bytes = SELECT_WORDS * sizeof(uint32_t),
        .cluster = 1,
    };
    if (select->of.sorted || select->n / TOGETHER < select->rows)
        return true;
    const uint64_t passes =
        select->rows * SELECT_PASSES(select->of.count, element_size(select->of.input));
    const size_t of_pass = SELECT_PASS_WORDS * sizeof(uint32_t);
    if (limit && passes * of_pass > limit)
        return true; /* a block needs no workspace */
    arena_reserve(&self->arena, PART_TICKETS, passes, of_pass);
    self->step.cooperative = true;
    uint64_t most;
    if (!facts_resident(facts, self->step.kernel, self->step.block, self->step.shared_bytes, &most))
        return false;
    self->step.grid = least(divide_up(select->n, self->step.block), most);
    return true;
}

static bool launch(struct executor *on, void *context)
{
    struct selecting *self = context;
    struct kernel_select *select = &self->select;
    void *arguments[] = {select};
    select->passes = executor_part(on, PART_TICKETS);
    select->values = on->plan->layout->data;
    select->out = on->plan->results.at[0];
    select->of.out = on->plan->results.types[0];
    select->out_bytes = (unsigned)element_size(select->of.out);
    return executor_clear(on, PART_TICKETS) && executor_launch(on, &self->step, arguments);
}

bool execute_select(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct selecting self = {.on = {.machine = machine, .run = run, .plan = plan},
                             .select = *plan->segments.quantiles};
    self.on.arena = &self.arena;
    return plan->n == 0 || (arrange(&self) && executor_do(&self.on, launch, &self));
}
