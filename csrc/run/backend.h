/* A backend: the platform that a plan chooses, with functions that describe its devices and run
 * plans on them. They never touch Python, and run without the GIL unless the run is brief. */
#pragma once

#include "common/failure.h"
#include "common/kernels.h"
#include "common/processor.h"
#include "common/simulated_words.h"
#include "plan/plan.h"

struct device {
    char name[16]; /* as in device= */
    char title[256];
    unsigned units;            /* cores or multiprocessors */
    uint64_t memory, l2_cache; /* bytes */
    uint64_t bandwidth;        /* bytes per second; 0: unknown */
    int capability;            /* compute capability, 90 for 9.0; 0: not a GPU */
};

/* Callbacks into Python. Called from the thread that runs the plan, without the GIL. */
struct watch {
    bool (*interrupted)(void *context);            /* true: a Python exception is set, stop */
    bool (*warn)(void *context, const char *text); /* false: a Python exception is set, stop */
    void *context;
};

/* A measurement's samples. The caller owns the arrays. */
struct timing {
    int device;   /* without a plan: the device on which memory reads or launches are timed */
    size_t bytes; /* to read, by the best of several shapes; 0: empty launches are timed */
    unsigned samples, warmup;
    bool cold;                    /* caches are flushed before each sample */
    double *seconds, *first_pass; /* first_pass may be NULL */
    const struct method *method;  /* the plan's, or the one that replaced it */
    unsigned passes;
    uint64_t grid; /* blocks in the first pass; 0: no blocks */
    unsigned block;
};

/* A callback that runs while the run's thread would wait for a device. */
struct meanwhile {
    void (*function)(void *context); /* NULL: none */
    void *context;
};

struct run {
    const struct watch *watch;       /* NULL: no interrupts and no warnings */
    int frames;                      /* Python frames of gred's own, which warnings skip */
    struct timing *timing;           /* NULL: run once, unmeasured */
    struct explanation *explanation; /* not NULL: filled in, and nothing is run */
    struct counting *counting;       /* accesses are added to it; NULL: not counted */
    enum thread_order order;         /* on the simulated device */
    uint64_t seed;
    uint64_t workspace_limit; /* bytes of device memory; 0: unlimited */
    double last_check;   /* when the watch was last called, or first could have been; 0: never */
    struct exact *exact; /* receives an exact plan's unrounded sum; may be NULL */
    const struct substitute *substitute; /* replaces the plan's rung; NULL: none */
    struct meanwhile meanwhile;
    uint64_t count;       /* elements included, if the reduction counts */
    unsigned findings;    /* FOUND_ bits */
    struct answer answer; /* unless the plan has an `out`; not cleared by run_begin */
    struct failure failure;
};

/* Runs the callback once, before the run waits for its device or when it has ended. */
static inline void run_meanwhile(struct run *run)
{
    const struct meanwhile meanwhile = run->meanwhile;
    run->meanwhile.function = NULL;
    if (meanwhile.function)
        meanwhile.function(meanwhile.context);
}

/* Issues a RuntimeWarning. False if it became an exception, which is noted. */
static inline bool run_warn(struct run *run, const char *text)
{
    if (!run->watch || run->watch->warn(run->watch->context, text))
        return true;
    failure_record(&run->failure, FAILURE_EXCEPTION, "the warning was raised");
    return false;
}

/* Whether to stop the run, then noted as its failure: calls Python's signal handlers. Only for the
 * thread that started the run, as often as it likes: the GIL is taken only now and then. */
static inline bool run_check_interrupt(struct run *run)
{
    const double patience = 0.05, now = clock_now();
    if (!run->last_check)
        run->last_check = now;
    if (now - run->last_check < patience)
        return false;
    const bool stop = run->watch && run->watch->interrupted(run->watch->context);
    if (stop)
        failure_record(&run->failure, FAILURE_EXCEPTION, "interrupted");
    run->last_check = clock_now();
    return stop;
}

/* Prepares a run that is neither measured nor explained. Does not clear the large last members. */
static inline void run_begin(struct run *run, int frames)
{
    memset(run, 0, offsetof(struct run, answer));
    run->frames = frames;
    run->failure.kind = FAILURE_NONE;
}

#define RESULTS_SEQUENTIAL  "one after the other"
#define RESULTS_INTERLEAVED "side by side"

/* How a backend without launches walks an array, for gred.explain. */
struct loops {
    const char *results;      /* order of results along axes; NULL: a single result */
    const char *way;          /* how loops read elements; NULL: no elements */
    uint64_t chunk;           /* elements per loop and state; 0: no chunks */
    unsigned threads;         /* maximum number of threads */
    const char *instructions; /* instruction set of the loops; NULL: only one exists */
    uint64_t copied;          /* bytes of a working copy */
};

typedef size_t substitute_shared_bytes(size_t bytes);

/* A user's kernel that replaces a rung, in a process started for it. */
struct substitute {
    const struct platform *platform;
    const struct method *method; /* NULL: no substitute */
    unsigned data_blocks;        /* replaces the method's own */

    kernel_finder *plain, *counting;

    /* Maps a rung's shared memory per block to the substitute's, when simulated. NULL: the same. */
    substitute_shared_bytes *shared_bytes;
};

struct backend {
    struct platform platform; /* first, so that a plan's platform is a backend */
    bool uses_order;          /* run.order applies to it */
    bool uses_workspace;      /* it uses a workspace, which can be limited */

    /* Creates the backend's state; NULL if out of memory. */
    void *(*create)(void);
    void (*destroy)(void *state);

    bool (*describe)(int index, struct device *device);

    /* Sets the maximum number of host threads for future runs, unless `most` is 0, and returns the
     * current one. NULL: the backend uses no threads. */
    unsigned (*threads)(void *state, unsigned most);

    /* Whether an unmeasured, unexplained run is short enough to hold the GIL. NULL: never. */
    bool (*is_brief)(const struct plan *);

    /* True: run->answer is set, or results will be written. False: run->failure is set. With a NULL
     * plan, only run->timing is filled in. */
    bool (*run)(void *state, const struct plan *plan, struct run *run);
};

/* Without nvcc, backend_cuda is a stub without devices. */
extern const struct backend backend_host, backend_simulated, backend_cuda;

static inline const struct backend *backend_of(const struct platform *platform)
{
    return (const struct backend *)platform;
}
