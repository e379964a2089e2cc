/* The constants of tuning.def. */
#pragma once

#include "common/kernel_arguments.h"
#include "plan/plan.h"

struct tuning {
    struct axes_tuning {
#define AXES(name, value, entry) unsigned name;
#include "schedule/tuning.def"
    } axes;
    struct long_rows_tuning {
#define LONG_ROWS(name, value, entry) unsigned name;
#include "schedule/tuning.def"
    } long_rows;
    struct short_rows_tuning {
#define SHORT_ROWS(name, value, entry) unsigned name;
#include "schedule/tuning.def"
    } short_rows;
    struct segments_tuning {
#define SEGMENTS(name, value, entry) uint64_t name;
#include "schedule/tuning.def"
    } segments;
    struct plan_launch shape; /* overrides rung 21's for every array, unless block is 0 */
};

/* The measured constants, and those in effect: tests force others. */
extern const struct tuning measured;
extern const struct tuning *tuned;
