#include "schedule/tuning.h"

/* A group of constants: `threads` of a block are never 0. */
#define GROUP(group, threads)                                                                      \
    static struct group##_tuning forced_##group;                                                   \
    const struct group##_tuning *group##_tuning(void)                                              \
    {                                                                                              \
        return forced_##group.threads ? &forced_##group : &measured_##group;                       \
    }                                                                                              \
    void group##_tuning_force(struct group##_tuning tuning)                                        \
    {                                                                                              \
        forced_##group = tuning;                                                                   \
    }

static const struct axes_tuning measured_axes = {
#define AXES(name, value, entry) .name = (value),
#include "schedule/tuning.def"
};

static const struct long_rows_tuning measured_long_rows = {
#define LONG_ROWS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
};

static const struct short_rows_tuning measured_short_rows = {
#define SHORT_ROWS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
};

static const struct segments_tuning measured_segments = {
#define SEGMENTS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
};

GROUP(axes, block)
GROUP(long_rows, block)
GROUP(short_rows, staging)
GROUP(segments, block)
