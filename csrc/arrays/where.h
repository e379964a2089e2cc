/* What arrays ask of the devices, without knowing what devices there are: answered by whoever made
 * the request. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct view;

struct where {
    /* Finds out where a view of device memory lies; `name` is the argument's. False with an
     * exception set. */
    bool (*locate)(const struct where *, struct view *, const char *name);

    /* A GPU's stream for a producer to work ahead of. False with an exception set. */
    bool (*handshake)(const struct where *, int device, uintptr_t *stream);
};
