/* The executor runs schedules on a machine, in memory laid out by their arena. */
#pragma once

#include "run/machine.h"
#include "schedule/axes_schedule.h"

struct executor {
    struct machine *machine;
    struct run *run;
    const struct plan *plan;
    const struct arena *arena;
    char *memory;
};

/* NULL if the arena has no such part. */
static inline void *executor_part(const struct executor *self, enum part part)
{
    return self->arena->bytes[part] ? self->memory + self->arena->at[part] : NULL;
}

/* Calls `task` with memory for the arena, and releases the memory. If the host does not wait for
 * the results, the memory is reused only after the launches have finished. */
typedef bool executor_task(struct executor *, void *context);
bool executor_run(struct executor *, executor_task *, void *context);

/* Gets memory with machine_memory.acquire; the caller releases it. */
bool executor_acquire(struct executor *);

/* Whether the run may use `bytes` of device memory, for `what`; notes a failure if not. */
bool executor_is_within_limit(struct machine *, const struct run *, uint64_t bytes,
                              const char *what);

/* Zeroes a part, if the arena has it. */
bool executor_clear(const struct executor *, enum part);

static inline bool executor_launch(const struct executor *self, const struct step *step,
                                   void **arguments)
{
    return self->machine->work->launch(self->machine, step, arguments);
}

/* Copies step->n elements on the device, converted. */
struct copy_arguments {
    const void *array; /* a kernel_array, or a layout read from position `first` */
    uint64_t first;
    enum element type;
    void *target;
    void *valid;       /* one byte per element, 0 if masked; may be NULL */
    union scalar fill; /* stored in place of masked elements */
};

bool executor_copy(const struct executor *, const struct step *, struct copy_arguments);

/* Copies all elements of a layout on the device, converted, to contiguous memory. */
bool executor_gather(const struct executor *, const struct layout *, enum element type,
                     void *target);

/* Makes the copies in the arena that a transfer consists of. */
bool executor_transfer(const struct executor *, struct transfer *);

/* How a kernel with this accumulator finishes the states of the plan's results. */
struct kernel_results executor_results(const struct executor *, enum element accumulator);

/* Waits for the state that the last launch posts. False with a failure noted if the work failed or
 * the user interrupted it, in which case it may still be running. */
bool executor_receive(const struct executor *, void *state);

/* ---- plans: along axes, results stay on the device; false: a failure is noted ---- */

/* Runs the schedule of a whole array: sets the run's answer or its samples. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* Runs or explains a plan of one array without axes. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Computes one result of plan `all`, described by `one`. It is stored in place on the device if
 * `stays_on_device`, and otherwise through the host, which then knows its findings. */
bool execute_one(struct machine *, const struct plan *all, struct plan *one, bool stays_on_device,
                 int64_t place, struct run *);

/* Computes the results of a schedule's plan. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, struct run *);

/* For lists; segments, as a list if there is no kernel for them; by key; quantiles of rows. */
bool execute_list(struct machine *, const struct plan *, struct run *);
bool execute_segments(struct machine *, const struct plan *, struct run *);
bool execute_keys(struct machine *, const struct plan *, struct run *);
bool execute_select(struct machine *, const struct plan *, struct run *);
