/* A machine for the passes, made over a session for one run. */
#pragma once

#include "cuda/session.h"

struct cuda_machine {
    struct machine machine; /* first, so that a machine is one of these */
    struct cuda_session *session;
    bool ahead; /* copies to the device run ahead of its launches */
};

/* The session's device is current, and its stream is set. */
struct cuda_machine cuda_machine_over(struct cuda_session *, struct failure *);
