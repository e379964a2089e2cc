/* Memory that calls take for as long as they last. A few blocks are kept for the next call: malloc
 * would join each with its neighbours and cut it off anew, which takes a short call longer than its
 * elements do ("short calls" in benchmarks/tuning/host.json). */
#pragma once

#include <stddef.h>

/* At least so many bytes, whatever they hold, in cache lines of their own; NULL: there is none. */
void *spare_take(size_t bytes);

/* Gives back as many as were taken; NULL: none. */
void spare_give(void *, size_t bytes);
