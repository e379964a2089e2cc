/* A backend: a platform that a plan can choose, and functions that describe its devices and run
 * plans on them. They never touch Python, and run without the GIL, but for what is brief. */
#pragma once

#include "common/failure.h"
#include "common/kernels.h"
#include "common/processor.h"
#include "common/simulated_words.h"
#include "plan/plan.h"

struct device {
    char name[16]; /* as device= spells it */
    char title[256];
    unsigned units;            /* cores or multiprocessors */
    uint64_t memory, l2_cache; /* bytes */
    uint64_t bandwidth;        /* bytes a second, 0: not known */
    int capability;            /* 90 for 9.0; 0: not a GPU */
};

/* What a run asks of Python. Called from the thread that the plan runs in, without the GIL. */
struct watch {
    bool (*interrupted)(void *context);            /* true: a Python exception is set, stop */
    bool (*warn)(void *context, const char *text); /* false: a Python exception is set, stop */
    void *context;
};

/* All samples of a measurement. The arrays belong to the caller. */
struct timing {
    int device;   /* where there is no plan, what is timed is how long it takes there */
    size_t bytes; /* to read so many, best of several shapes, or, if none, to launch a kernel */
    unsigned samples, warmup;
    bool cold;                    /* caches are flushed before each sample */
    double *seconds, *first_pass; /* the latter NULL: not asked for */
    const struct method *method;  /* the plan's, or what took its place */
    unsigned passes;
    uint64_t grid; /* blocks of the first pass, 0 where there are no blocks */
    unsigned block;
};

/* What the thread of a run does while it would wait for a device. */
struct meanwhile {
    void (*act)(void *context); /* NULL: nothing */
    void *context;
};

struct run {
    const struct watch *watch;       /* NULL: nobody is asked, or told of anything but failures */
    int frames;                      /* of gred's own in Python, for warnings to pass over */
    struct timing *timing;           /* NULL: run once, unmeasured */
    struct explanation *explanation; /* filled instead of anything being run; else NULL */
    struct counting *counting;       /* what is accessed is added to it; NULL: nobody counts */
    enum thread_order order;         /* of the simulated device */
    uint64_t seed;
    uint64_t workspace_limit; /* bytes of device memory; 0: what there is */
    double asked;        /* when the watch was asked last, or might have been first; 0: never */
    struct exact *exact; /* where an exact plan's sum goes, not rounded; NULL: nowhere */
    const struct substitute *substitute; /* for the plan's rung; NULL: there is none */
    struct meanwhile meanwhile;
    uint64_t count;       /* elements that took part, where the reduction counts */
    unsigned findings;    /* FOUND_ bits */
    struct answer answer; /* unless the plan has an `out`; from here on run_begin sets nothing */
    struct failure failure;
};

/* Once, before the run waits for its device, or when it has ended. */
static inline void run_meanwhile(struct run *run)
{
    const struct meanwhile meanwhile = run->meanwhile;
    run->meanwhile.act = NULL;
    if (meanwhile.act)
        meanwhile.act(meanwhile.context);
}

/* Issues a RuntimeWarning. False if it became an exception, which is noted. */
static inline bool run_warn(struct run *run, const char *text)
{
    if (!run->watch || run->watch->warn(run->watch->context, text))
        return true;
    failure_note(&run->failure, FAILURE_EXCEPTION, "the warning was raised");
    return false;
}

/* Whether the run is to stop: what Python's signal handlers say, noted as its failure. To be asked
 * by the thread that it was started in, as often as it likes: since that takes the GIL, Python is
 * asked only now and then. */
static inline bool watch_interrupted_lately(struct run *run)
{
    const double patience = 0.05, now = clock_now();
    if (!run->asked)
        run->asked = now;
    if (now - run->asked < patience)
        return false;
    const bool stop = run->watch && run->watch->interrupted(run->watch->context);
    if (stop)
        failure_note(&run->failure, FAILURE_EXCEPTION, "interrupted");
    run->asked = clock_now();
    return stop;
}

/* A run that is neither measured nor explained. Its last members, most of its length, stay. */
static inline void run_begin(struct run *run, int frames)
{
    memset(run, 0, offsetof(struct run, answer));
    run->frames = frames;
    run->failure.kind = FAILURE_NONE;
}

#define RESULTS_IN_TURN      "one after the other"
#define RESULTS_SIDE_BY_SIDE "side by side"

/* How a backend that launches nothing goes through an array, in words and numbers. */
struct loops {
    const char *results;      /* how those along axes follow each other; NULL: there is one */
    const char *way;          /* how elements come to a loop; NULL: there are none */
    uint64_t chunk;           /* elements that one loop folds to a state; 0: there are no chunks */
    unsigned threads;         /* that may share the work, at most */
    const char *instructions; /* that loops are made of; NULL: there is no choice */
    uint64_t copied;          /* bytes of a working copy */
};

typedef size_t substitute_shared_bytes(size_t bytes);

/* A kernel of the user's own in the place of a rung, in a process started for it. */
struct substitute {
    const struct platform *platform;
    const struct method *method; /* NULL: there is none */
    unsigned data_blocks;        /* in place of the method's own */

    kernel_finder *plain, *counting;

    /* Bytes of a block's shared memory on the simulated device, of the rung's. NULL: as many. */
    substitute_shared_bytes *shared_bytes;
};

struct backend {
    struct platform platform; /* first, so that a plan's platform is a backend */
    bool takes_order;         /* the order of threads is for it */
    bool takes_workspace;     /* it works in memory of its own, which may be limited */

    /* A backend's state; NULL when memory is short. */
    void *(*create)(void);
    void (*destroy)(void *state);

    bool (*describe)(int index, struct device *device);

    /* Bounds the host's threads that runs may have from now on, unless `most` is 0, and says how
     * many they may have. NULL: they have none. */
    unsigned (*threads)(void *state, unsigned most);

    /* Whether a run, neither measured nor explained, takes so little time that other threads of
     * Python may as well wait for it. NULL: none does. */
    bool (*is_brief)(const struct plan *);

    /* True: run->answer is there, or results will be written. False: run->failure says why not.
     * Where the plan is NULL, only run->timing is filled. */
    bool (*run)(void *state, const struct plan *plan, struct run *run);
};

/* Built without nvcc, the last has no devices. */
extern const struct backend backend_host, backend_simulated, backend_cuda;

static inline const struct backend *backend_of(const struct platform *platform)
{
    return (const struct backend *)platform;
}
