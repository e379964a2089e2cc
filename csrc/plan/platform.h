/* Platforms, as far as plans need them; running is up to the backends. */
#pragma once

#include "arrays/array.h"
#include "common/failure.h"
#include "common/method.h"

enum located { LOCATED_FOUND, LOCATED_NOT_FOUND, LOCATED_ERROR };

/* Device memory that gred allocated for its caller. Its users have to wait for the work on its
 * stream, and later work on that stream for them. `stream` is not given without streams. */
struct device_memory {
    void *at;
    size_t bytes;
    int device;
    struct stream stream;
    void *pin; /* for the platform's use */
};

struct platform {
    const char *name;
    unsigned place;              /* METHOD_ON_... */
    bool numbered;               /* 'cuda:0' rather than 'cuda' */
    enum method_index automatic; /* the method of 'auto'; METHODS: the backend's choice */

    /* The number of devices; `failure` says why it is 0, or -1 (unknown). NULL: one. */
    int (*count)(void *state, struct failure *failure);

    /* Finds the device that has all of a view's memory, and sets it in the view. NULL: never. */
    enum located (*locate)(void *state, struct view *view, struct failure *failure);

    /* A stream of the device for a producer, which makes it wait for its work. NULL: no streams. */
    bool (*consumer_stream)(void *state, int device, uintptr_t *stream, struct failure *failure);

    /* Allocates memory->bytes, which are not 0. These three are NULL if memory is the host's. */
    bool (*allocate)(void *state, struct device_memory *memory, struct failure *failure);
    void (*release)(void *state, const struct device_memory *memory);

    /* Copies all of it to host memory and waits for that. */
    bool (*read)(void *state, const struct device_memory *memory, void *target,
                 struct failure *failure);

    /* Makes work put on `later` from now on wait for the work on `earlier`. NULL: no streams. */
    bool (*order)(void *state, int device, uintptr_t earlier, uintptr_t later,
                  struct failure *failure);
};

enum { PLATFORMS = 3 };

/* All platforms, the best for rungs last. */
struct platforms {
    struct locator locator; /* first, so that a pointer to it is one to this struct */
    const struct platform *all[PLATFORMS];
    void *states[PLATFORMS];
};

/* Sets the functions in `locator`. */
void platforms_init_locator(struct platforms *);

const struct platform *platforms_on(const struct platforms *, unsigned place);

void *platforms_state(const struct platforms *, const struct platform *);

/* Sets the platform and the device that have all of a view's device memory. The last platform's
 * failure says why there is none. */
bool platforms_locate(const struct platforms *, struct view *, struct failure *);

/* As the platform's count. */
int platforms_count(const struct platforms *, const struct platform *, struct failure *why);

/* Whether there is a GPU. False with an exception set if that cannot be determined, since a GPU
 * that fails must not be skipped silently. */
bool platforms_find_gpu(const struct platforms *, bool *available);

/* Reads device=. False with an exception set. */
bool platforms_parse(const struct platforms *, PyObject *device, const struct platform **,
                     int *index);

/* Reads device= or, without it, takes the best available device among `places`, METHOD_ON_... */
bool platforms_choose(const struct platforms *, PyObject *device, unsigned places,
                      const struct platform **, int *index);

/* A name such as "cuda:0"; a new reference. */
PyObject *platform_name(const struct platform *, int device);
