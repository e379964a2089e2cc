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

bool executor_run(struct executor *self, executor_task *task, void *context)
{
    struct machine *machine = self->machine;
    const bool is_async = self->plan->axes && !results_are_synchronous(&self->plan->results);
    void *memory = NULL;
    if (self->arena->total && !machine->memory->allocate(machine, self->arena->total, &memory))
        return false;
    self->memory = memory;
    const bool done = task(self, context),
               deferred = !done || !memory || !is_async || machine->memory->leave(machine);
    machine->memory->release(machine, memory);
    return done && deferred;
}

bool executor_acquire(struct executor *self)
{
    struct machine *machine = self->machine;
    void *memory = NULL;
    const bool acquired =
        !self->arena->total || machine->memory->acquire(machine, self->arena->total, &memory);
    self->memory = memory;
    return acquired;
}

bool executor_is_within_limit(struct machine *machine, const struct run *run, uint64_t bytes,
                              const char *what)
{
    return !run->workspace_limit || bytes <= run->workspace_limit ||
           failure_record(machine->failure, FAILURE_MEMORY,
                          "%s needs a workspace of %llu bytes on the device, and the limit is %llu",
                          what, (unsigned long long)bytes,
                          (unsigned long long)run->workspace_limit);
}

bool executor_clear(const struct executor *self, enum part part)
{
    void *at = executor_part(self, part);
    return !at || self->machine->memory->clear(self->machine, at, self->arena->bytes[part]);
}

/* ---- elements ---- */

bool executor_copy(const struct executor *self, const struct step *step, struct copy_arguments copy)
{
    uint64_t n = step->n;
    void *arguments[] = {(void *)copy.array, &n,          &copy.target, &copy.type,
                         &copy.fill,         &copy.valid, &copy.first};
    return executor_launch(self, step, arguments);
}

bool executor_gather(const struct executor *self, const struct layout *layout, enum element type,
                     void *target)
{
    const struct step step = step_gather(&self->machine->facts, PART_ARRAY, layout_length(layout));
    return executor_copy(self, &step,
                         (struct copy_arguments){.array = layout, .type = type, .target = target});
}

bool executor_transfer(const struct executor *self, struct transfer *transfer)
{
    struct layout *layout = &transfer->layout;
    const uint64_t n = is_transferred(transfer) ? layout_length(layout) : 0;
    void *const uploaded = executor_part(self, transfer->uploaded), *const copied = executor_part(
                                                                        self, transfer->copied);
    uint64_t count;
    if (transfer->uploaded) {
        if (!self->machine->memory->feed(self->machine, uploaded, layout, 0, n, &count))
            return false;
        layout_set_flat(layout, uploaded, NULL, layout->input, n);
    }
    if (transfer->copied) {
        if (!executor_gather(self, layout, transfer->type, copied))
            return false;
        layout_set_flat(layout, copied, NULL, transfer->type, n);
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
        .finish = finish_convert(&plan->finish, accumulator),
        .stores_directly = epilogue_stores_directly(plan, accumulator),
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

static bool poll_mailbox(struct mailbox *mailbox, void *state)
{
    enum { POLLS = 256 };
    for (int k = 0; k < POLLS; k++) {
        if (mailbox_read(mailbox, state))
            return true;
        PAUSE();
    }
    return false;
}

static void back_off(double waited)
{
    enum { SLEEPS_PER_WAIT = 64 };
    const double yield_seconds = 20e-3, pause = waited / SLEEPS_PER_WAIT;
    if (waited < yield_seconds)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = (long)((pause < 1e-3 ? pause : 1e-3) * 1e9)}, NULL);
}

/* Most results arrive while the host spins. After that it yields to other threads, and later it
 * sleeps, each time for a small fraction of the time waited. */
bool executor_receive(const struct executor *self, void *state)
{
    const double spin_seconds = 50e-6, start = clock_now();
    struct machine *machine = self->machine;
    while (!poll_mailbox(machine->mailbox, state)) {
        const double waited = clock_now() - start;
        if (waited < spin_seconds)
            continue;
        if (run_check_interrupt(self->run))
            return false;
        const enum progress progress = machine->work->progress(machine);
        if (progress == PROGRESS_DONE) /* the state has arrived, or never will */
            return mailbox_read(machine->mailbox, state) ||
                   failure_record(machine->failure, FAILURE_RUNTIME,
                                  "the kernel ended without a result");
        if (progress == PROGRESS_FAILED)
            return false;
        back_off(waited);
    }
    return true;
}

/* ---- along axes ---- */

static bool transfer_means(const struct executor *exec)
{
    const struct means *means = exec->plan->means;
    void *to = executor_part(exec, PART_MEANS);
    if (!means)
        return true;
    return means->here ? exec->machine->memory->copy(exec->machine, COPY_TO_DEVICE, to, means->here,
                                                     means->count * sizeof *means->here)
                       : executor_gather(exec, &means->there, ELEMENT_COMPLEX128, to);
}

static bool transfer_inputs(const struct executor *exec, struct axes_schedule *schedule)
{
    const struct transfer *array = &schedule->array, *mask = &schedule->mask;
    struct layout *reduced = &schedule->axes.reduced;
    if (!executor_transfer(exec, &schedule->array) || !executor_transfer(exec, &schedule->mask))
        return false;
    if (is_transferred(array))
        reduced->data = array->layout.data;
    if (array->uploaded)
        reduced->swapped = false;
    if (is_transferred(mask))
        reduced->mask = mask->layout.data;
    return transfer_means(exec);
}

static bool run_exact_axes(struct executor *exec, void *context)
{
    const struct axes_schedule *schedule = context;
    const struct step step = axes_schedule_step(schedule);
    struct kernel_exact_along axes;
    void *arguments[] = {&axes};
    exact_along_argument(schedule, &axes);
    axes.tickets = executor_part(exec, PART_TICKETS);
    axes.words = executor_part(exec, PART_PARTIALS);
    return executor_clear(exec, PART_TICKETS) && executor_clear(exec, PART_PARTIALS) &&
           executor_launch(exec, &step, arguments);
}

/* The machine's tickets are 0; the arena's have to be cleared. */
static bool run_axes(struct executor *exec, void *context)
{
    struct axes_schedule *schedule = context;
    const struct step step = axes_schedule_step(schedule);
    struct kernel_axes_any axes;
    void *partials = executor_part(exec, PART_PARTIALS),
         *counts = executor_part(exec, PART_COUNTED), *tickets = exec->machine->tickets;
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    if (!step.kernel)
        return exec->machine->memory->clear(exec->machine, exec->plan->results.at[0],
                                            schedule->axes.results *
                                                element_size(exec->plan->results.types[0]));
    if (!tickets || launch_tickets(&schedule->launch) > TICKETS) {
        tickets = executor_part(exec, PART_TICKETS);
        if (!executor_clear(exec, PART_TICKETS))
            return false;
    }
    if (!transfer_inputs(exec, schedule))
        return false;
    axes_schedule_argument(schedule, &axes);
    axes.of_few.result = executor_results(exec, schedule->accumulator);
    if (launch_is_typed(&schedule->launch))
        epilogue_order(schedule->axes.reduced.input, &axes.of_few.result);
    return executor_launch(exec, &step, arguments);
}

bool execute_axes_schedule(struct machine *machine, struct axes_schedule *schedule, struct run *run)
{
    struct executor exec = {machine, run, schedule->plan, &schedule->arena, NULL};
    return executor_run(&exec, schedule->plan->exact ? run_exact_axes : run_axes, schedule);
}
