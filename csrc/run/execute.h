/* The executor: it carries schedules out on a machine, in the one piece of memory that their arena
 * divides into parts. */
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

/* NULL: the arena has no such part; PARTS is none. */
static inline void *executor_part(const struct executor *self, enum part part)
{
    return part < PARTS && self->arena->bytes[part] ? self->memory + self->arena->at[part] : NULL;
}

/* Gets memory for what is done between; and releases it. Where nobody waits for what is launched,
 * another call may have the memory once all is done. False, too, if it was not `done`. */
bool executor_begin(struct executor *);
bool executor_end(struct executor *, bool nobody_waits, bool done);

/* Makes zeros of a part, if there is one. */
bool executor_clear(const struct executor *, enum part);

static inline bool executor_launch(const struct executor *self, const struct step *step,
                                   void **arguments)
{
    return self->machine->work->launch(self->machine, step, arguments);
}

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

/* One value of all results along axes. */
size_t results_bytes(const struct plan *);

/* ---- schedules ---- */

/* Carries a schedule out: fills the run's answer or its samples. False: the machine's failure says
 * why not. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* Makes the results of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, unsigned *findings,
                           struct run *);

/* Makes all results of a plan with segments. */
bool execute_segments(struct machine *, const struct plan *, struct run *);
