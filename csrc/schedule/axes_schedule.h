/* The schedule of a reduction along axes on a device: kernel, launch and memory. */
#pragma once

#include "schedule/launch_config.h"
#include "schedule/schedule.h"

/* The kernel reads elements in place, or from a contiguous copy in memory order. */
struct axes_schedule {
    const struct plan *plan;
    enum element accumulator; /* the plan's, or a wider one */
    size_t state_bytes;
    const void *kernel;          /* NULL: all results are 0 */
    struct step copy;            /* converts elements; no kernel: they are read in place */
    struct transfer array, mask; /* of all elements in the axes, and of their mask */
    struct axes axes;            /* as the kernel sees them, without addresses in the arena */
    struct launch_config launch;
    struct arena arena;
};

/* A subset of a plan's results as a plan of its own, with its schedule. */
struct axes_slice {
    struct axes axes;
    struct plan plan;
    struct axes_schedule schedule;
};

/* False with a failure noted, or, for an exact plan that a single launch cannot compute, without:
 * the array is on the host, masked, has an initial value, or several dimensions are reduced. */
bool axes_schedule_make(const struct plan *, const struct facts *, struct axes_schedule *,
                        struct failure *);

/* Fills in a layout, whose type is already set, of all elements in the axes, or of all mask bytes.
 * Sets the strides of the axes to those of a contiguous copy with `size` bytes per element. */
void axes_compact(struct axes *, bool of_mask, size_t size, struct layout *);

/* The launch that computes the results. */
struct step axes_schedule_step(const struct axes_schedule *);

/* The kernel's argument, except for where results go. Kernels other than the general one take only
 * its first member, for few dimensions. */
void axes_schedule_argument(const struct axes_schedule *, struct kernel_axes_any *);

/* The argument of an exact kernel, except for addresses in the arena. */
void exact_along_argument(const struct axes_schedule *, struct kernel_exact_along *);
