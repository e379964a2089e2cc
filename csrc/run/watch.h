/* Whether a run is to stop: what Python's signal handlers say, noted as the run's failure. To be
 * asked by the thread that the run was started in. */
#pragma once

#include "common/processor.h"
#include "run/backend.h"

static inline bool watch_interrupted(struct run *run)
{
    const struct watch *watch = run->watch;
    if (!watch->interrupted(watch->context))
        return false;
    failure_note(&run->failure, FAILURE_EXCEPTION, "interrupted");
    return true;
}

/* The same, as often as anybody likes: asking takes the GIL, which other threads want, too, so
 * Python is not asked more often than a person would mind. `*asked` is when it was last. */
static inline bool watch_interrupted_lately(struct run *run, double *asked)
{
    const double patience = 0.05;
    if (clock_now() - *asked < patience)
        return false;
    const bool stop = watch_interrupted(run);
    *asked = clock_now();
    return stop;
}
