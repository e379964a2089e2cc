/* Where work can be done, as far as a plan has to know; what is done there is the backend's. */
#pragma once

#include "arrays/array.h"
#include "common/failure.h"
#include "common/method.h"

enum located { LOCATED_HERE, LOCATED_ELSEWHERE, LOCATED_NOWHERE };

/* Memory on a device that gred got for its caller. Who uses it comes after what is on its stream,
 * and that after who used it; where there are no streams, it is not given. */
struct device_memory {
    void *at;
    size_t bytes;
    int device;
    struct stream stream;
    void *pin; /* the platform's own */
};

struct platform {
    const char *name;
    unsigned place;              /* METHOD_ON_... */
    bool numbered;               /* 'cuda:0', and not 'cuda' */
    enum method_index automatic; /* what 'auto' is there; METHODS: a way of its own */

    /* Whether the questions below, about a device or about none, -1, take no time to speak of. If
     * not, they are asked without the GIL. NULL: they never take long. */
    bool (*ready)(void *state, int device);

    /* How many devices there are; of 0, or -1, which cannot be told, `failure` says why. NULL: one.
     */
    int (*count)(void *state, struct failure *failure);

    /* Whether all of a view's memory lies on one of these, which it then says. NULL: none can. */
    enum located (*locate)(void *state, struct view *view, struct failure *failure);

    /* A stream on a device, for a producer to work ahead of. NULL where there are no streams. */
    bool (*handshake)(void *state, int device, uintptr_t *stream, struct failure *failure);

    /* Memory of memory->bytes, which are not 0. These three are NULL where memory is the host's. */
    bool (*allocate)(void *state, struct device_memory *memory, struct failure *failure);
    void (*release)(void *state, const struct device_memory *memory);

    /* Copies all of it to the host's memory, and waits for that. */
    bool (*read)(void *state, const struct device_memory *memory, void *target,
                 struct failure *failure);

    /* What is put on `later` from now on comes after what is on `earlier`. NULL: no streams. */
    bool (*order)(void *state, int device, uintptr_t earlier, uintptr_t later,
                  struct failure *failure);
};

enum { PLATFORMS = 3 };

/* Those that there are, best for rungs last. */
struct platforms {
    struct where where; /* first, so that it is found from there */
    const struct platform *all[PLATFORMS];
    void *states[PLATFORMS];
    PyObject *cuda_error; /* what failures of CUDA's are raised as */
};

/* Answers for arrays. */
void platforms_answer(struct platforms *);

const struct platform *platforms_on(const struct platforms *, unsigned place);

void *platforms_state(const struct platforms *, const struct platform *);

/* How many devices a platform has; see there. */
int platforms_count(const struct platforms *, const struct platform *, struct failure *why);

/* Whether there is a GPU. One that fails is an error: to go on without it would be silent. */
bool platforms_find_gpu(const struct platforms *, bool *there);

/* What device= names. False with an exception set. */
bool platforms_parse(const struct platforms *, PyObject *device, const struct platform **,
                     int *index);

/* device= alone, or, without one, the best device that there is in `places`, METHOD_ON_... */
bool platforms_choose(const struct platforms *, PyObject *device, unsigned places,
                      const struct platform **, int *index);

/* "cuda:0" where devices are numbered; a new reference. */
PyObject *platform_name(const struct platform *, int device);
