#include "schedule/tuning.h"

const struct tuning measured = {
    .axes =
        {
#define AXES(name, value, entry) .name = (value),
#include "schedule/tuning.def"
        },
    .long_rows =
        {
#define LONG_ROWS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
        },
    .short_rows =
        {
#define SHORT_ROWS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
        },
    .segments =
        {
#define SEGMENTS(name, value, entry) .name = (value),
#include "schedule/tuning.def"
        },
};

const struct tuning *tuned = &measured;
