/* A machine for the passes, made over a simulator for one run: its memory is the host's, and its
 * launches go to the simulator, counted, recorded and checked where the run asks for that. */
#pragma once

#include "run/machine.h"
#include "simulated/launch.h"

struct simulated_machine {
    struct machine machine; /* first, so that a machine is one of these */
    struct simulator *simulator;
    struct run *run;
    const struct plan *plan; /* NULL: there is none */
    struct kernels kernels;
    double moments[MOMENTS];
    struct mailbox mailbox;
    uint64_t words[MAILBOX_WORDS];
};

/* It stays where it is, and refers to all of these. */
void simulated_machine_open(struct simulated_machine *, struct simulator *, const struct plan *,
                            struct run *);
