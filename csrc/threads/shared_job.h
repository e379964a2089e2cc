/* A job whose pieces are distributed among threads. Each thread has a lane of adjacent pieces, so
 * that threads write to separate memory. A thread starts with its own lane, which keeps the same
 * part of an array in the same core's cache from call to call, and then steals pieces from the
 * other lanes.
 *
 * The caller waits only for pieces that other threads have started: completion is counted in
 * pieces, not threads, and the last thread to release a job frees its slot. So a thread that starts
 * late, or is descheduled between two pieces, does not delay the others. */
#pragma once

#include <fenv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* As in threads_run. */
typedef void shared_job_piece(void *context, uint64_t index, unsigned thread);

enum { FALSE_SHARING_BYTES = 128 }; /* bytes; processors prefetch 64-byte lines in pairs */

/* In `references`: threads may join. */
static const unsigned open_bit = 1u << 31;
/* In `done`: the caller sleeps. */
static const uint64_t waiter_bit = (uint64_t)1 << 63;

/* Number of pieces taken from a lane; the upper bits are the serial number of the slot's job, so
 * that other cores' cache lines need no clearing. */
struct lane {
    _Alignas(FALSE_SHARING_BYTES) _Atomic uint64_t taken;
};

/* A slot and its current job. */
struct shared_job {
    /* Set before the job is opened. */
    _Alignas(FALSE_SHARING_BYTES) shared_job_piece *piece;
    void *context;
    uint64_t pieces;
    struct lane *lanes;
    unsigned lane_count; /* number of lanes in use */
    uint64_t serial;     /* of the job within its slot */
    fenv_t arithmetic;   /* the caller's rounding mode and flush-to-zero, used by all threads */

    /* For joining and for taking pieces. */
    _Alignas(FALSE_SHARING_BYTES)
        atomic_uint references; /* references, plus open_bit; 0: the slot is free */
    atomic_int places;          /* for additional threads */
    atomic_bool wakes;          /* wakes sleeping threads, too */

    /* For waiting. */
    _Alignas(FALSE_SHARING_BYTES) _Atomic uint64_t done; /* finished pieces, plus waiter_bit */
};

/* Opens the slot for a job and takes a reference for the caller; false if the slot is in use. */
bool shared_job_open(struct shared_job *slot, unsigned max, uint64_t pieces,
                     shared_job_piece *piece, void *context);

/* Whether joining can succeed. */
static inline bool shared_job_is_open(struct shared_job *job)
{
    return atomic_load(&job->references) & open_bit;
}

/* Takes a reference and returns the thread's number in the job; 0, the caller's number, if no place
 * is left. */
unsigned shared_job_join(struct shared_job *);

/* Executes pieces until none is left, starting in lane `first_lane`. Returns how many. */
uint64_t shared_job_run_pieces(struct shared_job *, unsigned first_lane, unsigned thread);

/* Releases a reference. */
void shared_job_release(struct shared_job *);
