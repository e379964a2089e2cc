/* The constants of tuning.def, as measured or, for tests, as forced. */
#pragma once

#include "common/kernel_arguments.h"

struct axes_tuning {
#define AXES(name, value, entry) unsigned name;
#include "schedule/tuning.def"
};

struct long_rows_tuning {
#define LONG_ROWS(name, value, entry) unsigned name;
#include "schedule/tuning.def"
};

struct short_rows_tuning {
#define SHORT_ROWS(name, value, entry) unsigned name;
#include "schedule/tuning.def"
};

struct segments_tuning {
#define SEGMENTS(name, value, entry) uint64_t name;
#include "schedule/tuning.def"
};

/* What applies now. */
const struct axes_tuning *axes_tuning(void);
const struct long_rows_tuning *long_rows_tuning(void);
const struct short_rows_tuning *short_rows_tuning(void);
const struct segments_tuning *segments_tuning(void);

/* From now on this, for tests; of no threads a block: as measured. */
void axes_tuning_force(struct axes_tuning);
void long_rows_tuning_force(struct long_rows_tuning);
void short_rows_tuning_force(struct short_rows_tuning);
void segments_tuning_force(struct segments_tuning);
