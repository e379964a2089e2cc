/* Makes a plan's schedule, for the memory that there is room for, and has it carried out, or
 * explains it; and stores results where kernels do not leave them. */
#include "run/execute.h"
#include "arrays/operands.h"
#include "common/arithmetic.h"
#include "run/explanation.h"
#include "run/result.h"

#include <stdlib.h>
#include <string.h>

/* ---- whole arrays ---- */

static struct facts facts_of(const struct machine *machine, const struct run *run)
{
    struct facts facts = machine->facts;
    facts.limit = run->workspace_limit ? run->workspace_limit : UINT64_MAX;
    facts.whole = run->timing || run->counting;
    return facts;
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

/* Whether a kernel along axes, of elements whose type it knows, makes the one result along all axes
 * and leaves it where it is to stay, in one launch, where a schedule's passes need another one. */
static bool is_single(struct machine *machine, const struct schedule *schedule,
                      const struct run *run, struct plan *one, struct axes *axes,
                      struct axes_schedule *along)
{
    enum { BYTES = 32 << 20 }; /* of an array that takes so long that a launch does not matter */
    const struct plan *const plan = schedule->plan;
    struct failure ignored = {0};
    if (!schedule->finishes_on_device || !plan->launch.automatic || plan->exact || plan->factors ||
        plan->n == 0 || !plan->elements.on_device || plan->out.element != plan->finish.result ||
        plan->n * element_size(plan->layout->input) > BYTES)
        return false;
    *axes = (struct axes){.results = 1, .aligned = true};
    layout_copy(plan->layout, &axes->reduced);
    *one = *plan;
    one->axes = axes;
    one->layout = &axes->reduced;
    one->results = (struct results){.at = {plan->out.at},
                                    .type = plan->out.element,
                                    .types = {plan->out.element},
                                    .values = 1,
                                    .on_device = true};
    return axes_schedule_make(one, &machine->facts, along, &ignored) &&
           launch_knows_type(&along->launch) &&
           (!run->workspace_limit || along->arena.total <= run->workspace_limit);
}

static bool execute_single(struct machine *machine, const struct schedule *schedule,
                           struct run *run, bool *ran)
{
    struct {
        struct plan plan;
        struct axes axes;
        struct axes_schedule along;
    } *self = schedule->finishes_on_device && !run->timing ? malloc(sizeof *self) : NULL;
    const bool is =
        self && is_single(machine, schedule, run, &self->plan, &self->axes, &self->along);
    if (is)
        *ran = execute_axes_schedule(machine, &self->along, NULL, run);
    free(self);
    return is;
}

static bool explain(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct explanation *explanation = run->explanation;
    struct plan single;
    explanation->by = EXPLAINED_SCHEDULE;
    explanation->plan = *plan;
    explanation->kernels = *machine->facts.kernels;
    const bool made = make_schedule(machine, &explanation->plan, run, &explanation->schedule);
    if (made && is_single(machine, &explanation->schedule, run, &single, &explanation->axes,
                          &explanation->along)) {
        explanation->by = EXPLAINED_ALONG;
        explanation->plan = single;
        explanation->along.plan = &explanation->plan;
    }
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
    if (execute_single(machine, &schedule, run, &ran))
        return ran;
    do
        ran = execute_pieces(machine, &schedule, run);
    while (!ran && shrink(machine, run, &schedule));
    return ran;
}

/* ---- along axes: all results at once, or so many at a time ---- */

/* What is made part by part, while the results lie on the device. */
struct parts {
    struct machine *machine;
    struct run *run;
    const struct plan *all;
    uint64_t limit; /* bytes of a part's memory */
    struct results results;
    unsigned *findings;
    double asked; /* when Python was, whether to stop */

    /* What is being made: a part of all, its plan, and how it is carried out. */
    struct axes part;
    struct plan plan;
    struct axes_schedule schedule;
};

/* The schedule of some of the results. */
static bool schedule_part(const struct parts *self, const struct axes *part, struct plan *plan,
                          struct axes_schedule *schedule)
{
    *plan = *self->all;
    plan->results = self->results;
    plan->axes = part;
    plan->layout = &part->reduced;
    return axes_schedule_make(plan, &self->machine->facts, schedule, self->machine->failure);
}

/* Results that are not stored where the caller wants them at once have memory of their own. */
static bool explain_part(const struct parts *self, const struct axes *part)
{
    struct explanation *explanation = self->run->explanation;
    explanation->by = EXPLAINED_ALONG;
    explanation->at_once = part->results;
    axes_copy(part, &explanation->axes);
    if (!schedule_part(self, &explanation->axes, &explanation->plan, &explanation->along))
        return false;
    if (self->results.out)
        arena_reserve(&explanation->along.arena, PART_RESULTS, self->all->axes->results,
                      element_size(self->results.type));
    return true;
}

/* The most results that there is room for, `count` along a dimension; of none: all dimensions. */
static unsigned choose_cut(struct parts *self, uint64_t *count)
{
    const struct axes *all = self->all->axes;
    for (unsigned k = 0; k < all->outer; k++)
        for (*count = all->shape[k]; *count > 0; *count /= 2) {
            axes_part(all, k, 0, 0, *count, &self->part);
            if (schedule_part(self, &self->part, &self->plan, &self->schedule) &&
                self->schedule.arena.total <= self->limit)
                return k;
        }
    return all->outer;
}

/* The first of them is explained. */
static bool make_parts(struct parts *self, unsigned along, uint64_t count)
{
    const struct axes *all = self->all->axes;
    const uint64_t length = all->shape[along];
    uint64_t outer = 1;
    for (unsigned k = 0; k < along; k++)
        outer *= all->shape[k];
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t start = 0; start < length; start += count) {
            axes_part(all, along, o, start, least(count, length - start), &self->part);
            if (self->run->explanation)
                return explain_part(self, &self->part);
            if (watch_interrupted_lately(self->run, &self->asked) ||
                !schedule_part(self, &self->part, &self->plan, &self->schedule) ||
                !execute_axes_schedule(self->machine, &self->schedule, self->findings, self->run))
                return false;
        }
    return true;
}

/* ---- along axes: each like an array by itself ---- */

/* So are exact results made that one launch cannot, and stored by their own where nobody waits. An
 * explanation has no results yet, but elements that lie as well. */
static bool make_one_by_one(struct parts *self)
{
    const struct plan *all = self->all;
    const struct means *means = all->means;
    struct explanation *explanation = self->run->explanation;
    if (means && !means->here)
        return failure_note(self->machine->failure, FAILURE_MEMORY,
                            "out of memory on the device for results about a mean that lies there");
    const bool left_behind = all->exact && all->elements.on_device && all->results.on_device;
    struct layout layout = all->axes->reduced;
    struct plan one = *all;
    struct walk_of_results walk;
    one.axes = NULL;
    one.layout = &layout;
    results_start(&walk, all->axes, 0);
    for (uint64_t k = 0; k < all->axes->results; k++, results_next(&walk)) {
        results_move(&walk, &layout);
        if (means) {
            one.finish.has_mean = true;
            one.finish.mean = means->here[walk.place];
        }
        if (left_behind) {
            one.out.at =
                explanation ? (void *)layout.data : results_place(&self->results, 0, walk.place);
            one.out.element = self->results.types[0];
        }
        if (explanation) {
            explanation->at_once = 1;
            return execute_array(self->machine, &one, self->run);
        }
        if (watch_interrupted_lately(self->run, &self->asked) ||
            !execute_array(self->machine, &one, self->run) ||
            !(left_behind ||
              store_answer(self->machine, self->run, all, &self->results, walk.place)))
            return false;
    }
    return true;
}

static bool run_parts(struct parts *self)
{
    uint64_t count;
    const unsigned along = choose_cut(self, &count);
    if (along < self->all->axes->outer)
        return make_parts(self, along, count);
    return self->all->launch.batch_invariant
               ? failure_note(self->machine->failure, FAILURE_MEMORY,
                              "out of memory on the device for a result of method "
                              "'batch_invariant', whose elements are not taken in pieces")
               : make_one_by_one(self);
}

/* ---- along axes: for the host ---- */

/* With room for all of them on the device, and for what is to be said of them. */
static bool run_for_host(struct parts *self)
{
    struct explanation *explanation = self->run->explanation;
    struct machine *machine = self->machine;
    struct arena arena = {.total = 0};
    struct executor all = {machine, self->run, self->all, &arena, NULL};
    self->results.on_device = true;
    if (explanation) {
        if (!run_parts(self))
            return false;
        arena_reserve_results(explanation->by == EXPLAINED_ALONG ? &explanation->along.arena
                                                                 : &explanation->schedule.arena,
                              self->all, self->all->axes->results);
        return true;
    }
    arena_reserve_results(&arena, self->all, self->all->axes->results);
    if (!executor_borrow(&all))
        return false;
    self->findings = executor_part(&all, PART_FINDINGS);
    for (unsigned v = 0; v < self->results.values; v++)
        self->results.at[v] = (char *)executor_part(&all, PART_OUT) + v * results_bytes(self->all);
    self->limit = machine->memory->room(machine, self->limit); /* beside them there may be less */
    const bool made = executor_clear(&all, PART_FINDINGS) && run_parts(self) &&
                      executor_fetch(&all, self->results.at[0], self->findings);
    machine->memory->take_back(machine, all.memory);
    return made;
}

/* All at once, if that is possible in the workspace that is allowed. */
static bool run_all(struct parts *self)
{
    struct machine *machine = self->machine;
    const struct plan *plan = self->all;
    struct run *run = self->run;
    if (!axes_schedule_make(plan, &machine->facts, &self->schedule, machine->failure))
        return plan->exact && make_one_by_one(self);
    const uint64_t total = self->schedule.arena.total, room = machine->memory->room(machine, total);
    self->limit = run->workspace_limit ? least(run->workspace_limit, room) : room;
    if (total <= self->limit)
        return run->explanation ? explain_part(self, plan->axes)
                                : execute_axes_schedule(machine, &self->schedule, NULL, run);
    if (plan->exact)
        return make_one_by_one(self);
    return plan->results.on_device ? run_parts(self) : run_for_host(self);
}

/* The schedule is on the heap: threads' stacks may be small. */
static bool execute_axes(struct machine *machine, const struct plan *plan, struct run *run)
{
    if (plan->axes->results == 0)
        return true;
    struct parts *self = malloc(sizeof *self);
    if (!self)
        return failure_note(machine->failure, FAILURE_MEMORY, "out of memory for a schedule");
    self->machine = machine;
    self->run = run;
    self->all = plan;
    self->results = plan->results;
    self->findings = NULL;
    self->asked = 0;
    const bool ran = run_all(self);
    free(self);
    return ran;
}

/* ---- all ---- */

static bool make(struct machine *machine, const struct plan *plan, struct run *run)
{
    return plan->segments.quantiles ? execute_select(machine, plan, run)
           : plan->segments.keys    ? execute_keys(machine, plan, run)
           : plan->segments.of      ? execute_segments(machine, plan, run)
           : plan->elements.list    ? execute_list(machine, plan, run)
           : plan->axes             ? execute_axes(machine, plan, run)
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
    const struct step step = step_store(kernel_of_kind(machine->facts.kernels, KERNEL_STORE), n);
    return machine->work->launch(machine, &step, arguments);
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
