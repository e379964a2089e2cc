/* How plans are carried out on a machine: in the one piece of memory that a schedule's arena gives
 * each part its place in. Schedules of whole arrays, along axes and of segments add to it what they
 * launch. */
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

/* NULL: the arena has no such part. */
static inline void *executor_part(const struct executor *self, enum part part)
{
    return self->arena->bytes[part] ? self->memory + self->arena->at[part] : NULL;
}

/* Does it in memory that is got for as long as that takes. Where nobody waits for what is launched,
 * the memory is left to the stream before it is released: another call may have it once all is
 * done.
 */
bool executor_run(struct executor *, bool nobody_waits, bool (*work)(struct executor *));

/* Makes zeros of a part, if there is one. */
bool executor_clear(const struct executor *, enum part);

/* Brings all elements of a layout in the host's memory to a part; then the layout is of these. */
bool executor_upload(const struct executor *, struct layout *, enum part);

/* The same of elements on the device, converted to a type; and copies them to one after the other.
 */
bool executor_convert(const struct executor *, struct layout *, enum element type, enum part);
bool executor_gather(const struct executor *, const struct layout *, enum element type,
                     void *target);

/* Copies step->n elements on the device, converted. */
struct copying {
    const void *array; /* a kernel_array, or a layout, from position `first` on */
    uint64_t first;
    enum element type;
    void *target;
    void *valid;       /* a byte for each, whether a mask lets it through; NULL: nowhere */
    union scalar fill; /* instead of those that are not let through */
};

bool executor_copy(const struct executor *, const struct step *, struct copying);

/* Brings all results to the host, where the device has their values one after the other, and what
 * is to be said of them. */
bool executor_fetch(const struct executor *, const char *values, const unsigned *findings);

/* What is to be done with states of the plan's results: of a kernel that accumulates in another
 * type, and leaves what it has to say on the device. */
struct kernel_results executor_results(const struct executor *, enum element accumulator,
                                       unsigned *findings);

/* One value of all results along axes. */
size_t results_bytes(const struct plan *);

/* ---- whole arrays ---- */

/* Makes the plan's schedule, for the memory that there is room for, and has it carried out; or
 * explains it. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Carries a schedule out: fills the run's answer or its samples. False: the machine's failure says
 * why not. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* Waits until the mailbox holds what was posted last; in receive.c. False with a failure noted: the
 * work failed, or the user has had enough; then it may still be under way. */
bool receive_state(struct machine *, struct run *, void *state);

/* ---- along axes, and of segments ---- */

/* Makes all results of a plan with axes: at once, or as much at a time as there is memory for. In
 * execute_parts.c. */
bool execute_axes(struct machine *, const struct plan *, struct run *);

/* Makes the results of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, unsigned *findings,
                           struct run *);

/* Makes all results of a plan with segments. */
bool execute_segments(struct machine *, const struct plan *, struct run *);
