/* How a reduction along axes is carried out on a device, and in what memory. */
#pragma once

#include "schedule/launch_config.h"
#include "schedule/schedule.h"

/* Elements come to the kernel as they lie, or one after the other in memory's order. */
struct axes_schedule {
    const struct plan *plan;
    enum element accumulator; /* the plan's, or one that holds more */
    size_t state_bytes;
    const void *kernel; /* NULL: all results are 0 */
    struct step copy;   /* of elements of other types; of no kernel: they are read as they lie */
    struct brought array, mask; /* all elements that differ, and their mask */
    struct axes axes;           /* as the kernel sees them; without addresses of the arena's */
    struct launch_config launch;
    struct arena arena;
};

/* Some of a plan's results, as a plan of their own, and how they are made. */
struct axes_part {
    struct axes axes;
    struct plan plan;
    struct axes_schedule schedule;
};

/* False with a failure noted, or, of exact results, where one launch cannot make them: not all is
 * on the device, or masked, or results begin with something, or several dimensions are reduced. */
bool axes_schedule_make(const struct plan *, const struct facts *, struct axes_schedule *,
                        struct failure *);

/* Makes a layout of its own, whose type it has already, of the elements that differ, or of the
 * mask's bytes, and strides of the axes' as if these lay one after the other, `size` bytes each. */
void axes_compact(struct axes *, bool of_mask, size_t size, struct layout *);

/* The launch that makes results. */
struct step axes_schedule_step(const struct axes_schedule *);

/* The kernel's argument, but for where results go. All kernels but the general one take what is of
 * few dimensions, which comes first. */
void axes_schedule_argument(const struct axes_schedule *, struct kernel_axes_of_any *);

/* The same of exact sums, but for what lies in the arena. */
void exact_along_argument(const struct axes_schedule *, struct kernel_exact_along *);
