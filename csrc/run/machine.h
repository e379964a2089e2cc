/* What carrying a plan's schedule out needs of a device that launches kernels; cuda/machine.c and
 * simulated/machine.c each fill one in. */
#pragma once

#include "run/backend.h"

#include "common/kernels.h"
#include "run/mailbox.h"
#include "schedule/schedule.h"

/* Counters that a machine has at hand: more than there are groups of blocks that fold together. */
enum { TICKETS = 1024 };

enum moment { MOMENT_BEGIN, MOMENT_FIRST_PASS, MOMENT_END, MOMENTS };

enum progress { PROGRESS_UNDER_WAY, PROGRESS_DONE, PROGRESS_FAILED };

/* From the host come a few bytes, which may change afterwards; those that are kept, a multiple of
 * 8, a graph writes whenever it runs. To the host, they are waited for. */
enum copy_way { COPY_IN, COPY_KEPT, COPY_OUT, COPY_WITHIN };

struct machine;

/* Every function that returns bool notes a failure and returns false if it cannot do its work. */
struct machine_memory {
    /* Once a run; and as much as a caller needs beside that, as often as it needs some. */
    bool (*allocate)(struct machine *, size_t bytes, void **memory);
    bool (*lend)(struct machine *, size_t bytes, void **memory);
    void (*release)(struct machine *, void *memory); /* of either; NULL is fine */

    /* Nobody waits for what has been launched: its memory is to be no other run's before it is
     * done. */
    bool (*leave)(struct machine *);

    /* How much of `bytes` there is room for. */
    size_t (*room)(struct machine *, size_t bytes);

    bool (*clear)(struct machine *, void *target, size_t bytes); /* to zeros */
    bool (*copy)(struct machine *, enum copy_way, void *target, const void *source, size_t bytes);

    /* Elements of a host's layout from `start` on, in their own type, of which the mask leaves
     * *fed; or those of a mask as bits, all of them. */
    bool (*feed)(struct machine *, void *target, const struct layout *, uint64_t start,
                 uint64_t length, bool as_bits, uint64_t *fed);
};

struct machine_work {
    /* What is fed from now on has to wait only for what had been launched when this was last
     * called, or, the first time, by now. Launches wait for all that is fed before them. */
    bool (*run_ahead)(struct machine *);

    bool (*launch)(struct machine *, const struct step *, void **arguments);
    bool (*reduce)(struct machine *, library_reduce *, const void *data, uint64_t n, void *result);

    /* For all that was launched. */
    bool (*wait)(struct machine *);

    /* How far all that was launched is; of a failure it notes which. */
    enum progress (*progress)(struct machine *);

    bool (*flush)(struct machine *); /* the caches */
    bool (*mark)(struct machine *, enum moment);
    bool (*elapsed)(struct machine *, double *first_pass, double *seconds); /* waits */
};

struct machine {
    const struct machine_memory *memory;
    const struct machine_work *work;
    struct facts facts; /* but for what a run allows */
    struct failure *failure;
    struct mailbox *mailbox; /* NULL: results are copied */
    void *tickets; /* TICKETS counters, 0 between launches; NULL: the arena's are cleared */
};

/* Runs the plan once, or as often as run->timing asks for; or explains what it would do. Results
 * along axes that go to an `out` get memory of their own before. NULL: what needs none is timed. In
 * execute.c. */
bool execute(struct machine *, const struct plan *, struct run *);

/* All samples of a timing: each is prepared, if that is not NULL, and then done between two marks;
 * it marks its first pass itself. This and the rest is in measure.c. */
typedef bool machine_sample(void *context);
bool machine_time_samples(struct machine *, struct run *, struct timing *, machine_sample *prepare,
                          machine_sample *work, void *context);

/* Times the reading of `bytes` of memory. */
bool machine_time_reading(struct machine *, size_t bytes, struct run *);

/* Times launches of nothing, by the host's clock. */
bool machine_time_launching(struct machine *, struct run *);
