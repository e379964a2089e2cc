#define _GNU_SOURCE
/* Executes schedules along axes and steps shared by all schedules: uploads and converts inputs,
 * launches kernels, and receives posted states. */
#include "arrays/operands.h"
#include "common/processor.h"
#include "run/execute.h"
#include "threads/threads.h"

#include <sched.h>
#include <time.h>

/* ---- memory ---- */

bool executor_do(struct executor *self, executor_work *work, void *context)
{
    struct machine *machine = self->machine;
    const bool nobody_waits = self->plan->axes && !results_are_awaited(&self->plan->results);
    void *memory = NULL;
    if (self->arena->total && !machine->memory->allocate(machine, self->arena->total, &memory))
        return false;
    self->memory = memory;
    const bool done = work(self, context),
               left = !done || !memory || !nobody_waits || machine->memory->leave(machine);
    machine->memory->release(machine, memory);
    return done && left;
}

bool executor_borrow(struct executor *self)
{
    struct machine *machine = self->machine;
    void *memory = NULL;
    const bool exported =
        !self->arena->total || machine->memory->acquire(machine, self->arena->total, &memory);
    self->memory = memory;
    return exported;
}

bool executor_is_within_limit(struct machine *machine, const struct run *run, uint64_t bytes,
                              const char *what)
{
    return !run->workspace_limit || bytes <= run->workspace_limit ||
           failure_note(machine->failure, FAILURE_MEMORY,
                        "%s needs a workspace of %llu bytes on the device, and the limit is %llu",
                        what, (unsigned long long)bytes, (unsigned long long)run->workspace_limit);
}

bool executor_clear(const struct executor *self, enum part part)
{
    void *at = executor_part(self, part);
    return !at || self->machine->memory->clear(self->machine, at, self->arena->bytes[part]);
}

/* ---- elements ---- */

bool executor_copy(const struct executor *self, const struct step *step, struct copying copying)
{
    uint64_t n = step->n;
    void *arguments[] = {
        (void *)copying.array, &n, &copying.target, &copying.type, &copying.fill, &copying.valid,
        &copying.first};
    return executor_launch(self, step, arguments);
}

bool executor_gather(const struct executor *self, const struct layout *layout, enum element type,
                     void *target)
{
    const struct step step = step_gather(&self->machine->facts, PART_ARRAY, layout_length(layout));
    return executor_copy(self, &step,
                         (struct copying){.array = layout, .type = type, .target = target});
}

bool executor_transfer(const struct executor *self, struct transfer *transfer)
{
    struct layout *layout = &transfer->layout;
    const uint64_t n = is_transferred(transfer) ? layout_length(layout) : 0;
    void *const uploaded = executor_part(self, transfer->uploaded), *const copied = executor_part(
                                                                        self, transfer->copied);
    uint64_t fed;
    if (transfer->uploaded) {
        if (!self->machine->memory->feed(self->machine, uploaded, layout, 0, n, false, &fed))
            return false;
        layout_lie_flat(layout, uploaded, NULL, layout->input, n);
    }
    if (transfer->copied) {
        if (!executor_gather(self, layout, transfer->type, copied))
            return false;
        layout_lie_flat(layout, copied, NULL, transfer->type, n);
    }
    return true;
}

/* ---- results ---- */

struct kernel_results executor_results(const struct executor *self, enum element accumulator)
{
    const struct plan *plan = self->plan;
    const struct reduction_row *row = reduction_row(plan->reduction);
    struct kernel_results results = {
        .values = plan->results.values,
        .reduction = plan->reduction,
        .fold = plan->fold,
        .nothing = row->nothing,
        .finish = finish_in(&plan->finish, accumulator),
        .at_once = epilogue_stores_directly(plan, accumulator),
        .value_bits = UINT64_MAX,
        .divisor = row->counts ? (double)plan->n : 0,
        .findings = plan->results.findings,
        .means = executor_part(self, PART_MEANS),
    };
    results.finish.count = plan->n;
    for (unsigned k = 0; k < results.values; k++) {
        results.types[k] = (unsigned char)plan->results.types[k];
        results.bytes[k] = (unsigned char)element_size(plan->results.types[k]);
        results.at[k] = plan->results.at[k];
    }
    return results;
}

/* ---- posted states ---- */

static bool look(struct mailbox *mailbox, void *state)
{
    enum { LOOKS = 256 };
    for (int k = 0; k < LOOKS; k++) {
        if (mailbox_read(mailbox, state))
            return true;
        PAUSE();
    }
    return false;
}

static void rest(double waited)
{
    enum { SLEEPS_A_WAIT = 64 };
    const double yields_for = 20e-3, sleeps = waited / SLEEPS_A_WAIT;
    if (waited < yields_for)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = (long)((sleeps < 1e-3 ? sleeps : 1e-3) * 1e9)},
                  NULL);
}

/* Most results arrive while the host spins. After that it yields to other threads, and later it
 * sleeps, each time for a small fraction of the time waited. */
bool executor_receive(const struct executor *self, void *state)
{
    const double spins_for = 50e-6, began = clock_now();
    struct machine *machine = self->machine;
    while (!look(machine->mailbox, state)) {
        const double waited = clock_now() - began;
        if (waited < spins_for)
            continue;
        if (run_check_interrupt(self->run))
            return false;
        const enum progress progress = machine->work->progress(machine);
        if (progress == PROGRESS_DONE) /* the state has arrived, or never will */
            return mailbox_read(machine->mailbox, state) ||
                   failure_note(machine->failure, FAILURE_RUNTIME,
                                "the kernel ended without a result");
        if (progress == PROGRESS_FAILED)
            return false;
        rest(waited);
    }
    return true;
}

/* ---- along axes ---- */

static bool bring_means(const struct executor *on)
{
    const struct means *means = on->plan->means;
    void *to = executor_part(on, PART_MEANS);
    if (!means)
        return true;
    return means->here ? on->machine->memory->copy(on->machine, COPY_IN, to, means->here,
                                                   means->count * sizeof *means->here)
                       : executor_gather(on, &means->there, ELEMENT_COMPLEX128, to);
}

static bool bring_elements(const struct executor *on, struct axes_schedule *schedule)
{
    const struct transfer *array = &schedule->array, *mask = &schedule->mask;
    struct layout *reduced = &schedule->axes.reduced;
    if (!executor_transfer(on, &schedule->array) || !executor_transfer(on, &schedule->mask))
        return false;
    if (is_transferred(array))
        reduced->data = array->layout.data;
    if (array->uploaded)
        reduced->swapped = false;
    if (is_transferred(mask))
        reduced->mask = mask->layout.data;
    return bring_means(on);
}

static bool make_exact_axes(struct executor *on, void *context)
{
    const struct axes_schedule *schedule = context;
    const struct step step = axes_schedule_step(schedule);
    struct kernel_exact_along axes;
    void *arguments[] = {&axes};
    exact_along_argument(schedule, &axes);
    axes.tickets = executor_part(on, PART_TICKETS);
    axes.words = executor_part(on, PART_PARTIALS);
    return executor_clear(on, PART_TICKETS) && executor_clear(on, PART_PARTIALS) &&
           executor_launch(on, &step, arguments);
}

/* The machine's tickets are 0; the arena's have to be cleared. */
static bool make_axes(struct executor *on, void *context)
{
    struct axes_schedule *schedule = context;
    const struct step step = axes_schedule_step(schedule);
    struct kernel_axes_of_any axes;
    void *partials = executor_part(on, PART_PARTIALS), *counts = executor_part(on, PART_COUNTED),
         *tickets = on->machine->tickets;
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    if (!step.kernel)
        return on->machine->memory->clear(on->machine, on->plan->results.at[0],
                                          schedule->axes.results *
                                              element_size(on->plan->results.types[0]));
    if (!tickets || launch_tickets(&schedule->launch) > TICKETS) {
        tickets = executor_part(on, PART_TICKETS);
        if (!executor_clear(on, PART_TICKETS))
            return false;
    }
    if (!bring_elements(on, schedule))
        return false;
    axes_schedule_argument(schedule, &axes);
    axes.of_few.result = executor_results(on, schedule->accumulator);
    if (launch_knows_type(&schedule->launch))
        epilogue_order(schedule->axes.reduced.input, &axes.of_few.result);
    return executor_launch(on, &step, arguments);
}

bool execute_axes_schedule(struct machine *machine, struct axes_schedule *schedule, struct run *run)
{
    struct executor on = {machine, run, schedule->plan, &schedule->arena, NULL};
    return executor_do(&on, schedule->plan->exact ? make_exact_axes : make_axes, schedule);
}
