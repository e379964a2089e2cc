/* The machine of one run on a simulator. Its memory is the host's; its launches run in the
 * simulator, counted, recorded and checked as the run requires. */
#pragma once

#include "run/machine.h"
#include "simulated/launch.h"

struct simulated_machine {
    struct machine machine; /* the first member: a machine is one of these */
    struct simulator *simulator;
    struct run *run;
    const struct plan *plan; /* or NULL */
    struct kernels kernels;
    double times[TIMING_EVENTS];
    struct mailbox mailbox;
    uint64_t words[MAILBOX_WORDS];
};

/* `self` must not move, and keeps pointers to all arguments. */
void simulated_machine_open(struct simulated_machine *, struct simulator *, const struct plan *,
                            struct run *);
