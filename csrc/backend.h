/* What a backend is: a few functions that describe its devices and run plans on them. Three exist;
 * plan.c picks one, and nobody else asks which one it is. They run without the GIL and never touch
 * Python. */
#pragma once

#include "failure.h"
#include "plan.h"
#include "thread_order.h"

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
    bool (*interrupted)(void *context);               /* true: a Python exception is set, stop */
    bool (*warn_slow)(void *context, double seconds); /* false: a Python exception is set, stop */
    void *context;
};

/* All samples of a measurement. The arrays belong to the caller. */
struct timing {
    unsigned samples, warmup;
    bool cold; /* caches are flushed before each sample */
    double *seconds, *first_pass;
    unsigned passes;
    uint64_t grid; /* blocks of the first pass, 0 where there are no blocks */
    unsigned block;
};

struct run {
    const struct watch *watch;
    struct timing *timing;   /* NULL: run once, unmeasured */
    enum thread_order order; /* of the simulated device */
    uint64_t seed;
    uint64_t workspace_limit; /* bytes of device memory; 0: what there is */
    union scalar result;      /* unless the plan has an `out` */
    enum element accumulator; /* the result's type: the plan's, or one that holds more */
    uint64_t count;           /* elements that took part, for a mean under a mask */
    struct failure failure;
};

enum located { LOCATED_HERE, LOCATED_ELSEWHERE, LOCATED_NOWHERE };

struct backend {
    const char *name;
    unsigned place; /* METHOD_ON_... */

    /* A backend's state lives in the module's; NULL when memory is short. */
    void *(*create)(void);
    void (*destroy)(void *state);

    /* How many devices there are. Where there is none, or -1 if that cannot be told, `failure` says
     * why. */
    int (*count)(void *state, struct failure *failure);
    bool (*describe)(int index, struct device *device);

    /* Whether a view's device memory, all of it, lies on one of the backend's devices; then
     * view->backend and ->device say so. NULL where no memory can. */
    enum located (*locate)(void *state, struct view *view, struct failure *failure);

    /* A stream of the backend's own on a device, for a producer to work ahead of. NULL where there
     * are no streams. */
    bool (*handshake)(void *state, int device, uintptr_t *stream, struct failure *failure);

    /* True: run->result is what the passes leave. False: run->failure says why not. */
    bool (*run)(void *state, const struct plan *plan, struct run *run);

    /* The time it takes to read `bytes`, best of several shapes; fills run->timing. */
    bool (*read)(void *state, int index, size_t bytes, struct run *run);
};

extern const struct backend backend_host, backend_simulated, backend_cuda;
