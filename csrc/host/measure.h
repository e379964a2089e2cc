/* Measurements on the host: of a plan's work, and of the memory that limits it. */
#pragma once

#include "host/work.h"

/* Fill run->timing. */
bool measure_work(struct work *);
bool measure_reading(struct job *, size_t bytes);
