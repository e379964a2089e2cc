/* Along axes: what lies elsewhere is brought, what is of another type is copied, one launch makes
 * all results, and these go where they are to be. */
#include "arrays/operands.h"
#include "run/execute.h"

struct axes_execution {
    struct executor on; /* first, so that an executor is one of these */
    struct axes_schedule *schedule;
    unsigned *findings; /* on the device; NULL: not asked for */
};

/* ---- elements ---- */

static bool bring_means(const struct executor *on)
{
    const struct means *means = on->plan->means;
    void *to = executor_part(on, PART_MEANS);
    if (!means)
        return true;
    return means->here ? on->machine->memory->copy_in(on->machine, to, means->here,
                                                      means->count * sizeof *means->here)
                       : executor_gather(on, &means->there, ELEMENT_COMPLEX128, to);
}

static bool bring_elements(struct axes_execution *self)
{
    const struct executor *on = &self->on;
    struct axes_schedule *schedule = self->schedule;
    struct layout *array = &schedule->array, *mask = &schedule->mask,
                  *reduced = &schedule->axes.reduced;
    const bool copies = schedule->copy.kernel;
    if ((schedule->uploads && !executor_upload(on, array, PART_UPLOADED)) ||
        (schedule->uploads_mask && !executor_upload(on, mask, PART_MASK)) ||
        (copies && !executor_convert(on, array, schedule->accumulator, PART_COPY)))
        return false;
    if (schedule->uploads || copies)
        reduced->data = array->data;
    if (schedule->uploads)
        reduced->swapped = false;
    if (schedule->uploads_mask)
        reduced->mask = mask->data;
    return bring_means(on);
}

/* ---- results ---- */

static bool make_results(struct axes_execution *self, void *tickets)
{
    const struct executor *on = &self->on;
    struct kernel_axes_of_any axes;
    void *partials = executor_part(on, PART_PARTIALS), *counts = executor_part(on, PART_COUNTED);
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    const struct step step = axes_schedule_step(self->schedule);
    axes_schedule_argument(self->schedule, &axes);
    axes.of_few.result = executor_results(on, self->schedule->accumulator, self->findings);
    return machine_launch_step(on->machine, &step, arguments);
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
           machine_launch_step(on->machine, &step, arguments);
}

/* The machine's own tickets are 0, and those of the arena have to be cleared. */
static bool make_axes(struct executor *on)
{
    struct axes_execution *self = (struct axes_execution *)on;
    void *const own = on->machine->tickets;
    if (on->plan->exact)
        return make_exact_results(self);
    if (!self->findings)
        self->findings = executor_part(on, PART_FINDINGS);
    const bool suffice = own && launch_tickets(&self->schedule->launch) <= TICKETS;
    return (suffice || executor_clear(on, PART_TICKETS)) && executor_clear(on, PART_FINDINGS) &&
           bring_elements(self) &&
           make_results(self, suffice ? own : executor_part(on, PART_TICKETS)) &&
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
