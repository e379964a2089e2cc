/* How the host gets a state that the last launch posts. */
#pragma once

#include "run/machine.h"

/* Waits until the mailbox holds what was posted last. False with a failure noted: the work failed,
 * or the user has had enough; then it may still be under way. */
bool receive_state(struct machine *, struct run *, void *state);
