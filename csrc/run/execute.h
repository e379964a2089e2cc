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

/* The same of memory that is lent, and so to be taken back. */
bool executor_borrow(struct executor *);

/* Whether so many bytes of the device's memory, which `what` takes at a time, are allowed; else
 * that is noted. */
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

/* Brings all elements of a layout in the host's memory to the part `uploaded`, and then copies
 * them, converted, to `copied`, as far as there are such parts; the layout is of these then. */
bool executor_bring(const struct executor *, struct layout *, enum part uploaded, enum part copied,
                    enum element type);

/* What is to be done with states of the plan's results: of a kernel that accumulates in another
 * type, and leaves what it has to say on the device. */
struct kernel_results executor_results(const struct executor *, enum element accumulator,
                                       unsigned *findings);

/* Brings all results, unless they stay on the device, to the host, where the device has their
 * values one after the other, and what is to be said of them. */
bool executor_fetch(const struct executor *, const char *values, const unsigned *findings);

/* Waits until the mailbox holds what was posted last. False with a failure noted: the work failed,
 * or the user has had enough; then it may still be under way. */
bool executor_receive(const struct executor *, void *state);

/* One value of all results along axes. */
size_t results_bytes(const struct plan *);

/* Where a value of a result goes. */
static inline char *results_place(const struct results *self, unsigned value, int64_t place)
{
    return (char *)self->at[value] + place * (int64_t)element_size(self->types[value]);
}

/* Stores the run's answer, all values of a result of the plan, among results there or here. */
bool store_answer(struct machine *, const struct run *, const struct plan *, const struct results *,
                  int64_t place);

/* ---- a whole array, piece by piece: in upload.c what has to be brought ---- */

/* What a step reads, as a kernel's argument. */
union argument {
    struct kernel_array flat;
    struct kernel_rows rows;
};

/* The array, or the one that it is multiplied with. */
struct source {
    const struct layout *from; /* the plan's, or its factors; NULL: there are none */
    enum part part;            /* where its pieces are, if it is brought */
    struct layout layout;      /* as the device sees it, where it is not flat */
};

/* On the heap: the caller's stack may be small. */
struct execution {
    struct executor on;
    const struct schedule *schedule;
    struct source array, factors;
    uint64_t piece;          /* which one is there, or on its way */
    uint64_t fed;            /* elements that took part, as far as the host knows */
    unsigned done;           /* passes over the last piece */
    uint64_t grid;           /* of the first of them */
    bool posted;             /* the state that is left comes to the mailbox */
    bool stored;             /* the result is where it is to stay */
    union argument argument; /* of the launch that is being made */
};

/* Before the first piece: an array of the device's may have a mask of the host's. */
bool source_prepare(const struct execution *, struct source *);

/* Brings the piece from `start` on, if it is the host's; *n of its elements are to be reduced,
 * those that a mask has left. */
bool feed_piece(struct execution *, uint64_t start, uint64_t length, uint64_t *n);

/* A flat array from `start` on, as the first kernel takes it. */
const void *source_at(const struct execution *, const struct source *, uint64_t start);

/* ---- schedules ---- */

/* Carries a schedule out: fills the run's answer or its samples. False: the machine's failure says
 * why not. */
bool execute_pieces(struct machine *, const struct schedule *, struct run *);

/* Makes the results of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. */
bool execute_axes_schedule(struct machine *, struct axes_schedule *, unsigned *findings,
                           struct run *);

/* As execute, of a plan of one array, without axes. */
bool execute_array(struct machine *, const struct plan *, struct run *);

/* Makes all results of a plan with a list. */
bool execute_list(struct machine *, const struct plan *, struct run *);

/* Makes all results of a plan with segments; those that no kernel of segments makes, as a list's.
 */
bool execute_segments(struct machine *, const struct plan *, struct run *);

/* Makes all results of a plan that goes by key. */
bool execute_keys(struct machine *, const struct plan *, struct run *);
bool execute_select(struct machine *, const struct plan *, struct run *);
