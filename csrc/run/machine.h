/* What executing a schedule requires of a device that launches kernels; implemented by
 * cuda/machine.c and simulated/machine.c. */
#pragma once

#include "run/backend.h"

#include "common/kernels.h"
#include "run/mailbox.h"
#include "schedule/schedule.h"

/* Ticket counters that a machine keeps; launches with more groups use the arena's. */
enum { TICKETS = 1024 };

enum timing_event { TIMING_BEGIN, TIMING_FIRST_PASS, TIMING_END, TIMING_EVENTS };

enum progress { PROGRESS_PENDING, PROGRESS_DONE, PROGRESS_FAILED };

/* COPY_TO_DEVICE: a few bytes, reusable immediately. COPY_CAPTURABLE: the same, a multiple of 8
 * bytes, which a captured graph rewrites at each replay. COPY_TO_HOST: the host waits for it. */
enum copy_kind { COPY_TO_DEVICE, COPY_CAPTURABLE, COPY_TO_HOST, COPY_ON_DEVICE };

struct machine;

/* Functions that return bool note a failure and return false on error. */
struct machine_memory {
    /* allocate: once per run; acquire: additional memory, any number of times. */
    bool (*allocate)(struct machine *, size_t bytes, void **memory);
    bool (*acquire)(struct machine *, size_t bytes, void **memory);
    void (*release)(struct machine *, void *memory); /* either kind; NULL is fine */

    /* The host does not wait for the launches: other runs get the memory only after they finish. */
    bool (*leave)(struct machine *);

    /* How many of `bytes` bytes are available. */
    size_t (*room)(struct machine *, size_t bytes);

    bool (*clear)(struct machine *, void *target, size_t bytes); /* zeroes */
    bool (*copy)(struct machine *, enum copy_kind, void *target, const void *source, size_t bytes);

    /* Copies elements of a host layout from `start` on, unconverted, skipping masked ones: *fed
     * remain. */
    bool (*feed)(struct machine *, void *target, const struct layout *, uint64_t start,
                 uint64_t length, uint64_t *fed);
};

struct machine_work {
    /* From now on, feeds wait only for launches before the last call of this function, or before
     * this call if it is the first. Launches wait for all preceding feeds. */
    bool (*run_ahead)(struct machine *);

    bool (*launch)(struct machine *, const struct step *, void **arguments);
    bool (*reduce)(struct machine *, library_reduce *, const void *data, uint64_t n, void *result);

    /* For all launches. */
    bool (*wait)(struct machine *);

    /* State of the launches; notes their failure. */
    enum progress (*progress)(struct machine *);

    bool (*flush)(struct machine *); /* evicts the caches */
    bool (*mark)(struct machine *, enum timing_event);
    bool (*elapsed)(struct machine *, double *first_pass, double *seconds); /* waits */
};

struct machine {
    const struct machine_memory *memory;
    const struct machine_work *work;
    struct facts facts; /* without a run's limits */
    struct failure *failure;
    struct mailbox *mailbox; /* NULL: results are copied */
    void *tickets; /* TICKETS counters, 0 between launches; NULL: use the arena's, cleared */
};

/* Runs the plan, run->timing's number of times if set, or explains it. Results along axes that go
 * to an `out` first get memory of their own. A NULL plan times what needs none. In execute.c. */
bool execute(struct machine *, const struct plan *, struct run *);

/* Times samples: `prepare`, if not NULL, is not timed; `work` is, and marks its own first pass. In
 * measure.c, as are the following. */
typedef bool machine_sample(void *context);
bool machine_time_samples(struct machine *, struct run *, struct timing *, machine_sample *prepare,
                          machine_sample *work, void *context);

/* Times reading `bytes` of memory. */
bool machine_time_read(struct machine *, size_t bytes, struct run *);

/* Times empty launches, by the host's clock. */
bool machine_time_launch(struct machine *, struct run *);
