/* Schedules a plan for the memory that is available and executes or explains the schedule; stores
 * results that kernels do not leave in place. */
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

/* Schedules the array whole if there is memory for it, or else in pieces. */
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

/* Tries smaller pieces, as another user of the device may have taken memory; false if none. */
static bool shrink_pieces(struct machine *machine, const struct run *run, struct schedule *schedule)
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

/* The schedule of the results that part->axes selects. */
static bool schedule_part(struct machine *machine, const struct plan *all, struct axes_slice *part,
                          struct failure *failure)
{
    part->plan = *all;
    part->plan.axes = &part->axes;
    part->plan.layout = &part->axes.reduced;
    return axes_schedule_make(&part->plan, &machine->facts, &part->schedule, failure);
}

/* Whether arithmetic limits the typed kernel along axes, and not memory ("single_launch" in
 * benchmarks/tuning/cases.json). */
static bool is_compute_bound(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    const bool integers = element_is_integer(input), complex = element_is_complex(input);
    switch (plan->fold) {
    case FOLD_prod:
    case FOLD_variance:
        return integers || complex;
    case FOLD_nanprod:
        return complex;
    case FOLD_norm2:
        return integers;
    case FOLD_nanvariance:
    case FOLD_logsumexp:
        return true;
    default:
        return false;
    }
}

/* Whether a typed kernel along axes computes the single result of all axes in place in one launch,
 * where a schedule's passes need one more. */
static bool fits_single_launch(struct machine *machine, const struct schedule *schedule,
                               const struct run *run, struct axes_slice *part)
{
    enum { BYTES = 32 << 20 }; /* of a larger array, compute-bound kernels take longer */
    const struct plan *const plan = schedule->plan;
    const uint64_t bytes = plan->n * element_size(plan->layout->input);
    struct failure ignored = {0};
    if (!schedule->finishes_on_device || !plan->launch.automatic || plan->exact || plan->factors ||
        plan->n == 0 || !plan->elements.on_device || plan->results.type != plan->finish.result ||
        (bytes > BYTES && is_compute_bound(plan)))
        return false;
    part->axes = (struct axes){.results = 1, .aligned = true};
    layout_copy(plan->layout, &part->axes.reduced);
    return schedule_part(machine, plan, part, &ignored) &&
           launch_is_typed(&part->schedule.launch) &&
           (!run->workspace_limit || part->schedule.arena.total <= run->workspace_limit);
}

static bool execute_single_launch(struct machine *machine, const struct schedule *schedule,
                                  struct run *run, bool *ran)
{
    struct axes_slice *part =
        schedule->finishes_on_device && !run->timing ? malloc(sizeof *part) : NULL;
    const bool single = part && fits_single_launch(machine, schedule, run, part);
    if (single)
        *ran = execute_axes_schedule(machine, &part->schedule, run);
    free(part);
    return single;
}

static bool explain(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct explanation *explanation = run->explanation;
    explanation->plan = *plan;
    explanation->kernels = *machine->facts.kernels;
    const bool done = make_schedule(machine, &explanation->plan, run, &explanation->schedule);
    explanation->by =
        done && fits_single_launch(machine, &explanation->schedule, run, &explanation->along)
            ? EXPLAINED_AXES
            : EXPLAINED_SCHEDULE;
    explanation->schedule.kernels = &explanation->kernels;
    return done;
}

bool execute_array(struct machine *machine, const struct plan *requested, struct run *run)
{
    const struct facts facts = facts_of(machine, run);
    struct plan plan = *requested;
    struct schedule schedule;
    fastest_choose(&facts, &plan);
    if (run->explanation)
        return explain(machine, &plan, run);
    if (!make_schedule(machine, &plan, run, &schedule))
        return false;
    bool ran;
    if (execute_single_launch(machine, &schedule, run, &ran))
        return ran;
    do
        ran = execute_pieces(machine, &schedule, run);
    while (!ran && shrink_pieces(machine, run, &schedule));
    return ran;
}

/* Address of one value of a result. */
static char *value_address(const struct results *results, unsigned value, int64_t place)
{
    return (char *)results->at[value] + place * (int64_t)element_size(results->types[value]);
}

bool execute_one(struct machine *machine, const struct plan *all, struct plan *one,
                 bool stays_on_device, int64_t place, struct run *run)
{
    const struct results *results = &all->results;
    one->results.on_device = false;
    if (stays_on_device)
        one->results = single_result(value_address(results, 0, place), results->types[0]);
    if (run_check_interrupt(run) || !execute_array(machine, one, run))
        return false;
    for (unsigned v = 0; v < results->values && !stays_on_device; v++) {
        char bytes[sizeof(struct complex128)];
        run_store(run, all, v, bytes);
        if (!machine->memory->copy(machine, COPY_TO_DEVICE, value_address(results, v, place), bytes,
                                   element_size(results->types[v])))
            return false;
    }
    return true;
}

/* ---- along axes: all results together, or in parts ---- */

/* Bytes of all results' widest value. */
static size_t value_bytes(const struct plan *plan)
{
    const struct results *results = &plan->results;
    size_t widest = 0;
    for (unsigned v = 0; v < results->values; v++)
        if (element_size(results->types[v]) > widest)
            widest = element_size(results->types[v]);
    return plan->axes->results * widest;
}

/* A reduction that is computed in parts. */
struct parts {
    struct machine *machine;
    struct run *run;
    const struct plan *all;
    uint64_t limit;          /* bytes of memory per part */
    struct axes_slice *part; /* the current part, or the one to explain */
};

/* Explains the part that was scheduled last; its plan has to outlive the run. */
static bool explain_part(const struct parts *self)
{
    struct explanation *explanation = self->run->explanation;
    explanation->by = EXPLAINED_AXES;
    explanation->at_once = self->part->schedule.axes.results;
    self->part->plan = *self->all;
    self->part->schedule.plan = &self->part->plan;
    return true;
}

/* Finds the largest part: `count` along the returned dimension; all->outer if none fits. */
static unsigned find_largest_part(const struct parts *self, uint64_t *count)
{
    const struct axes *all = self->all->axes;
    for (unsigned k = 0; k < all->outer; k++)
        for (*count = all->shape[k]; *count > 0; *count /= 2) {
            axes_slice(all, k, 0, 0, *count, &self->part->axes);
            if (schedule_part(self->machine, self->all, self->part, self->machine->failure) &&
                self->part->schedule.arena.total <= self->limit)
                return k;
        }
    return all->outer;
}

static bool execute_parts(struct parts *self, unsigned along, uint64_t count)
{
    const struct axes *all = self->all->axes;
    const uint64_t length = all->shape[along];
    uint64_t outer = 1;
    for (unsigned k = 0; k < along; k++)
        outer *= all->shape[k];
    for (uint64_t o = 0; o < outer; o++)
        for (uint64_t start = 0; start < length; start += count) {
            axes_slice(all, along, o, start, min_u64(count, length - start), &self->part->axes);
            if (run_check_interrupt(self->run) ||
                !schedule_part(self->machine, self->all, self->part, self->machine->failure) ||
                !execute_axes_schedule(self->machine, &self->part->schedule, self->run))
                return false;
        }
    return true;
}

/* Reduces each result as a separate array, and so exact results that a single launch cannot
 * compute, which stay on the device unless awaited. Explained results are where elements are. */
static bool execute_each(struct parts *self)
{
    const struct plan *all = self->all;
    const struct means *means = all->means;
    const bool stays_on_device =
        all->exact && all->elements.on_device && !results_are_synchronous(&all->results);
    struct layout layout = all->axes->reduced;
    struct plan one = *all;
    struct result_iterator walk;
    if (means && !means->here)
        return failure_record(
            self->machine->failure, FAILURE_MEMORY,
            "out of memory on the device for deviations from a mean on the device");
    one.axes = NULL;
    one.layout = &layout;
    results_seek(&walk, all->axes, 0);
    for (uint64_t k = 0; k < all->axes->results; k++, results_next(&walk)) {
        results_set_layout(&walk, &layout);
        if (means) {
            one.finish.has_mean = true;
            one.finish.mean = means->here[walk.place];
        }
        if (self->run->explanation) {
            self->run->explanation->at_once = 1;
            one.results = single_result((void *)layout.data, all->results.types[0]);
            one.results.on_device = stays_on_device;
            return execute_array(self->machine, &one, self->run);
        }
        if (!execute_one(self->machine, all, &one, stays_on_device, walk.place, self->run))
            return false;
    }
    return true;
}

/* All results together if the workspace has room for the schedule and for results on their way to
 * the host. Of parts, the first is explained. */
static bool execute_within_limit(struct parts *self)
{
    struct machine *machine = self->machine;
    const struct plan *plan = self->all;
    struct run *run = self->run;
    struct axes_schedule *schedule = &self->part->schedule;
    uint64_t count;
    if (!axes_schedule_make(plan, &machine->facts, schedule, machine->failure))
        return plan->exact && execute_each(self);
    const uint64_t staged = results_are_synchronous(&plan->results)
                                ? plan->results.values * value_bytes(plan)
                                : 0,
                   total = schedule->arena.total + staged,
                   room = machine->memory->room(machine, total);
    self->limit = run->workspace_limit ? min_u64(run->workspace_limit, room) : room;
    if (total <= self->limit)
        return run->explanation ? explain_part(self)
                                : execute_axes_schedule(machine, schedule, run);
    const unsigned along = plan->exact ? plan->axes->outer : find_largest_part(self, &count);
    if (along < plan->axes->outer)
        return run->explanation ? explain_part(self) : execute_parts(self, along, count);
    return plan->launch.batch_invariant
               ? failure_record(machine->failure, FAILURE_MEMORY,
                                "out of memory on the device for method 'batch_invariant', which "
                                "does not split a result's elements into pieces")
               : execute_each(self);
}

/* The schedule is on the heap, since threads' stacks may be small. */
static bool execute_axes(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct axes_slice *allocated = run->explanation ? NULL : malloc(sizeof *allocated);
    struct parts self = {.machine = machine, .run = run, .all = plan, .part = allocated};
    if (run->explanation)
        self.part = &run->explanation->along;
    else if (!allocated)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for a schedule");
    const bool done = execute_within_limit(&self);
    free(allocated);
    return done;
}

/* ---- all plans ---- */

static bool execute_plan(struct machine *machine, const struct plan *plan, struct run *run)
{
    return plan->segments.quantiles ? execute_select(machine, plan, run)
           : plan->segments.keys    ? execute_keys(machine, plan, run)
           : plan->segments.of      ? execute_segments(machine, plan, run)
           : plan->elements.list    ? execute_list(machine, plan, run)
           : plan->axes             ? execute_axes(machine, plan, run)
                                    : execute_array(machine, plan, run);
}

/* Reserves memory for results that are not computed in place, and for their findings. */
static void reserve_results(const struct plan *plan, struct arena *arena)
{
    if (!plan->axes || (plan->results.on_device && !plan->results.out))
        return;
    arena_reserve(arena, plan->results.out ? PART_RESULTS : PART_OUT, plan->results.values,
                  value_bytes(plan));
    if (!plan->results.on_device)
        arena_reserve(arena, PART_FINDINGS, 1, sizeof(unsigned));
}

/* Stores converted results in the layout results->out. */
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

/* Copies the results and their findings to the host. */
static bool fetch(const struct executor *exec, const struct results *from)
{
    const struct machine_memory *memory = exec->machine->memory;
    const struct results *to = &exec->plan->results;
    unsigned found = 0;
    run_meanwhile(exec->run);
    for (unsigned k = 0; k < to->values; k++)
        if (!memory->copy(exec->machine, COPY_TO_HOST, to->at[k], from->at[k],
                          exec->plan->axes->results * element_size(to->types[k])))
            return false;
    if (!memory->copy(exec->machine, COPY_TO_HOST, &found, from->findings, sizeof found))
        return false;
    exec->run->findings |= found;
    return true;
}

static bool execute_staged(const struct executor *exec, struct plan *plan)
{
    for (unsigned v = 0; v < plan->results.values; v++)
        plan->results.at[v] = exec->memory + v * value_bytes(plan);
    plan->results.findings = executor_part(exec, PART_FINDINGS);
    plan->results.on_device = true;
    return executor_clear(exec, PART_FINDINGS) && execute_plan(exec->machine, plan, exec->run) &&
           (plan->results.out ? store(exec->machine, plan) : fetch(exec, &plan->results));
}

bool execute(struct machine *machine, const struct plan *requested, struct run *run)
{
    struct explanation *explanation = run->explanation;
    struct arena arena = {.total = 0};
    struct executor exec = {machine, run, requested, &arena, NULL};
    if (!requested)
        return run->timing->bytes ? machine_time_read(machine, run->timing->bytes, run)
                                  : machine_time_launch(machine, run);
    if (requested->axes && requested->axes->results == 0)
        return true;
    reserve_results(requested, &arena);
    if (explanation || !arena.total) {
        const bool done = execute_plan(machine, requested, run);
        if (explanation)
            reserve_results(requested, explanation->by == EXPLAINED_AXES
                                           ? &explanation->along.schedule.arena
                                           : &explanation->schedule.arena);
        return done;
    }
    struct plan plan = *requested;
    const bool done = executor_acquire(&exec) && execute_staged(&exec, &plan);
    machine->memory->release(machine, exec.memory);
    return done;
}
