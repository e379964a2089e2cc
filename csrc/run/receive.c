#define _GNU_SOURCE

#include "run/execute.h"

#include "common/process.h"
#include "run/watch.h"

#include <sched.h>
#include <time.h>

/* Most results are there while the host looks for them without doing anything else. Then it lets
 * other threads go first, and later on it sleeps, each time for a small part of what it has waited.
 */
static const double spins_for = 50e-6, yields_for = 20e-3;

enum { LOOKS = 256, SLEEPS_A_WAIT = 64 };

static void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

static bool look(struct mailbox *mailbox, void *state)
{
    for (int k = 0; k < LOOKS; k++) {
        if (mailbox_read(mailbox, state))
            return true;
        relax();
    }
    return false;
}

static void rest(double waited)
{
    if (waited < yields_for) {
        sched_yield();
        return;
    }
    const double seconds = waited / SLEEPS_A_WAIT < 1e-3 ? waited / SLEEPS_A_WAIT : 1e-3;
    nanosleep(&(struct timespec){.tv_nsec = (long)(seconds * 1e9)}, NULL);
}

/* Whether there is any sense in going on; *there: the state came with the work's end. */
static bool is_worth_waiting(struct machine *machine, void *state, bool *there)
{
    const enum progress progress = machine->work->progress(machine);
    if (progress != PROGRESS_DONE)
        return progress == PROGRESS_UNDER_WAY;
    *there = mailbox_read(machine->mailbox, state);
    if (!*there)
        failure_note(machine->failure, FAILURE_RUNTIME, "the kernel ended without a result");
    return *there;
}

bool receive_state(struct machine *machine, struct run *run, void *state)
{
    const double began = clock_now();
    double asked = began;
    bool there = false;
    while (!there && !look(machine->mailbox, state)) {
        const double waited = clock_now() - began;
        if (waited < spins_for)
            continue;
        if (watch_interrupted_lately(run, &asked) || !is_worth_waiting(machine, state, &there))
            return false;
        if (!there)
            rest(waited);
    }
    return true;
}
