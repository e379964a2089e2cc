/* What lies elsewhere is brought, what is of another type is copied, one launch makes all results,
 * and these go where they are to be. */
#include "run/execute.h"

#include "arrays/operands.h"
#include "run/executor.h"

struct axes_execution {
    struct executor on; /* first, so that an executor is one of these */
    struct axes_schedule *schedule;
    unsigned *findings; /* on the device; NULL: not asked for */
};

/* ---- elements ---- */

static bool bring_array(struct axes_execution *self)
{
    struct axes_schedule *schedule = self->schedule;
    struct layout *reduced = &schedule->axes.reduced;
    if (!executor_upload(&self->on, &schedule->array, PART_UPLOADED))
        return false;
    reduced->data = schedule->array.data;
    reduced->swapped = false;
    return true;
}

static bool bring_mask(struct axes_execution *self)
{
    struct axes_schedule *schedule = self->schedule;
    if (!executor_upload(&self->on, &schedule->mask, PART_MASK))
        return false;
    schedule->axes.reduced.mask = schedule->mask.data;
    return true;
}

static bool make_copy(struct axes_execution *self)
{
    struct axes_schedule *schedule = self->schedule;
    if (!executor_convert(&self->on, &schedule->array, schedule->accumulator, PART_COPY))
        return false;
    schedule->axes.reduced.data = schedule->array.data;
    return true;
}

static bool bring_means(struct axes_execution *self)
{
    struct machine *machine = self->on.machine;
    const struct means *means = self->on.plan->means;
    void *to = executor_part(&self->on, PART_MEANS);
    if (!means)
        return true;
    return means->here ? machine->memory->copy_in(machine, to, means->here,
                                                  means->count * sizeof *means->here)
                       : executor_gather(&self->on, &means->there, ELEMENT_COMPLEX128, to);
}

static bool bring_elements(struct axes_execution *self)
{
    const struct axes_schedule *schedule = self->schedule;
    return (!schedule->uploads || bring_array(self)) &&
           (!schedule->uploads_mask || bring_mask(self)) &&
           (!schedule->copy.kernel || make_copy(self)) && bring_means(self);
}

/* ---- results ---- */

/* Those of the arena have to be cleared. */
static void *tickets_of(const struct axes_execution *self)
{
    const bool suffice = launch_tickets(&self->schedule->launch) <= TICKETS;
    return suffice && self->on.machine->tickets ? self->on.machine->tickets
                                                : executor_part(&self->on, PART_TICKETS);
}

static bool make_results(struct axes_execution *self)
{
    const struct executor *on = &self->on;
    struct kernel_axes_of_any axes;
    void *partials = executor_part(on, PART_PARTIALS), *counts = executor_part(on, PART_COUNTED),
         *tickets = tickets_of(self);
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    const struct step step = axes_schedule_step(self->schedule);
    axes_schedule_argument(self->schedule, &axes);
    axes.of_few.result = executor_results(on, self->schedule->accumulator, self->findings);
    return executor_launch(on, &step, arguments);
}

static bool make_exact_results(struct axes_execution *self)
{
    const struct executor *on = &self->on;
    const struct step step = axes_schedule_step(self->schedule);
    struct kernel_exact_along axes;
    void *arguments[] = {&axes};
    exact_along_argument(self->schedule, &axes);
    axes.tickets = executor_part(on, PART_TICKETS);
    axes.words = executor_part(on, PART_PARTIALS);
    return executor_clear(on, PART_TICKETS) && executor_clear(on, PART_PARTIALS) &&
           executor_launch(on, &step, arguments);
}

static bool make_axes(struct executor *on)
{
    struct axes_execution *self = (struct axes_execution *)on;
    if (on->plan->exact)
        return make_exact_results(self);
    if (!self->findings)
        self->findings = executor_part(on, PART_FINDINGS);
    const bool fresh = tickets_of(self) != executor_part(on, PART_TICKETS);
    return (fresh || executor_clear(on, PART_TICKETS)) && executor_clear(on, PART_FINDINGS) &&
           bring_elements(self) && make_results(self) &&
           (on->plan->results.on_device ||
            executor_fetch(on, executor_part(on, PART_OUT), self->findings));
}

bool execute_axes_schedule(struct machine *machine, struct axes_schedule *schedule,
                           unsigned *findings, struct run *run)
{
    struct axes_execution self = {.on = {machine, run, schedule->plan, &schedule->arena, NULL},
                                  .schedule = schedule,
                                  .findings = findings};
    return executor_run(&self.on, schedule->plan->results.on_device, make_axes);
}
