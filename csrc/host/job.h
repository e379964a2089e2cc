/* One call's work on the host, as its parts share it. */
#pragma once

#include "run/backend.h"
#include "run/threads.h"

struct job {
    const struct plan *plan; /* NULL: memory is read and nothing reduced */
    struct run *run;
    struct crew threads;
    enum instructions instructions;
    bool tells_rounding; /* the processor does: see host/unrounded.h */
    double asked;        /* when the watch was asked last */
};
