/* What carries a schedule out: a machine, and the one piece of memory that the schedule's arena
 * gives each part its place in. Schedules of whole arrays, along axes and of segments add to it
 * what they launch. */
#pragma once

#include "run/machine.h"
#include "schedule/arena.h"

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
    return arena_part(self->arena, self->memory, part);
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

/* The same of elements on the device, converted to a type. */
bool executor_convert(const struct executor *, struct layout *, enum element type, enum part);

/* Copies elements that are on the device, converted, to one after the other. */
bool executor_gather(const struct executor *, const struct layout *, enum element type,
                     void *target);

/* One launch; and one that copies step->n elements on the device, converted. */
bool executor_launch(const struct executor *, const struct step *, void **arguments);

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
