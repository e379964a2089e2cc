/* A job whose pieces threads share. They lie in lanes, one a thread: neighbours, so that what
 * threads write lies apart, too. A thread begins with its own lane, so that the same array comes to
 * the same core, and its cache, at the next call, and then goes on with the others' until there is
 * nothing left.
 *
 * The caller waits for those pieces alone that other threads have begun: a job is counted down by
 * pieces and not by threads, and its slot is free when whoever lets go of it last has done so. So a
 * thread that is late, or that the system has put aside between two pieces, holds nobody up. */
#pragma once

#include <fenv.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* As threads_run has it. */
typedef void shared_job_piece(void *context, uint64_t index, unsigned thread);

enum { APART = 128 }; /* bytes; processors fetch lines of 64 in pairs */

/* Of `holds`: more may join. */
static const unsigned open_bit = 1u << 31;
/* Of `done`: the caller sleeps. */
static const uint64_t asleep_bit = (uint64_t)1 << 63;

/* How many of a lane's pieces are taken, and above that which of the slot's jobs that was: so
 * nobody has to clear what lies in another core's cache. */
struct lane {
    _Alignas(APART) _Atomic uint64_t taken;
};

/* A slot, and the job in it. */
struct shared_job {
    /* Set before it is open. */
    _Alignas(APART) shared_job_piece *piece;
    void *context;
    uint64_t pieces;
    struct lane *lanes;
    unsigned width;    /* lanes that are used */
    uint64_t serial;   /* of the job, in its slot */
    fenv_t arithmetic; /* the caller's rounding and flushing, so that all threads compute alike */

    /* For who wants to join and take pieces. */
    _Alignas(APART) atomic_uint holds; /* threads that know of it, and open_bit; 0: the slot is
                                          free */
    atomic_int places;                 /* for more threads */
    atomic_bool calls;                 /* sleepers to come, too */

    /* For who waits for the end. */
    _Alignas(APART) _Atomic uint64_t done; /* pieces, and asleep_bit */
};

/* Opens the slot for a job of the caller's, who holds it; false: it is taken. */
bool shared_job_open(struct shared_job *slot, unsigned most, uint64_t pieces,
                     shared_job_piece *piece, void *context);

/* Whether it is worth while to try and join. */
static inline bool shared_job_is_open(struct shared_job *job)
{
    return atomic_load(&job->holds) & open_bit;
}

/* The number of a thread that joins, and holds the job; 0, the caller's: there is no place. */
unsigned shared_job_join(struct shared_job *);

/* Does pieces as long as there are any, from lane number `own` on. Returns how many. */
uint64_t shared_job_take_pieces(struct shared_job *, unsigned own, unsigned thread);

/* Of a thread that held it. */
void shared_job_let_go(struct shared_job *);
