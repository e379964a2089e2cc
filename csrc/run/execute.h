/* The executor: it carries schedules out on a machine, in memory that their arena divides. */
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

/* Has work done in memory for the arena, which is released then. Where nobody waits for what is
 * launched, another call may have the memory once all is done. */
typedef bool executor_work(struct executor *, void *context);
bool executor_do(struct executor *, executor_work *, void *context);

/* Gets memory that is lent, and so to be taken back. */
bool executor_borrow(struct executor *);

/* Whether so many bytes of the device's memory, which `what` takes, are allowed; else noted. */
bool executor_is_within_limit(struct machine *, const struct run *, uint64_t bytes,
                              const char *what);

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

/* Copies all elements of a layout on the device, converted, to one after the other. */
bool executor_gather(const struct executor *, const struct layout *, enum element type,
                     void *target);

/* Brings all elements to the arena, as far as they have a place there. */
bool executor_bring(const struct executor *, struct brought *);

/* What is done with states of the plan's results, by a kernel of another accumulator. */
struct kernel_results executor_results(const struct executor *, enum element accumulator);

/* Waits until the mailbox holds what was posted last. False with a failure noted: the work failed,
 * or the user has had enough; then it may still be under way. */
bool executor_receive(const struct executor *, void *state);

/* ---- plans: all results, on the device if there are axes; false: the failure is noted ---- */

/* Carries a schedule of a whole array out: fills the run's answer or its samples. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* Of a plan of one array, without axes, which may be explained instead. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Makes one of a plan's results, of what `one` says. It is left where it is to stay, or comes there
 * by the host, which then knows what is to be said of it. */
bool execute_one(struct machine *, const struct plan *all, struct plan *one, bool is_left,
                 int64_t place, struct run *);

/* Makes the results of a schedule's plan. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, struct run *);

/* Of a list; of segments, as a list where no kernel makes them; by key; quantiles of rows. */
bool execute_list(struct machine *, const struct plan *, struct run *);
bool execute_segments(struct machine *, const struct plan *, struct run *);
bool execute_keys(struct machine *, const struct plan *, struct run *);
bool execute_select(struct machine *, const struct plan *, struct run *);
