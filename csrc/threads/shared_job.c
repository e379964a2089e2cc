#include "threads/shared_job.h"

enum { TAKEN_BITS = 24 }; /* low bits of a lane's word, so at most 2^24 pieces per lane */

bool shared_job_open(struct shared_job *job, unsigned max, uint64_t pieces, shared_job_piece *piece,
                     void *context)
{
    unsigned none = 0;
    if (!atomic_compare_exchange_strong(&job->references, &none, 1))
        return false;
    job->piece = piece;
    job->context = context;
    job->pieces = pieces;
    job->lane_count = max;
    job->serial++;
    fegetenv(&job->arithmetic);
    atomic_store_explicit(&job->places, (int)max - 1, memory_order_relaxed);
    atomic_store_explicit(&job->wakes, false, memory_order_relaxed);
    atomic_store_explicit(&job->done, 0, memory_order_relaxed);
    atomic_fetch_or(&job->references, open_bit);
    return true;
}

static void close_job(struct shared_job *job)
{
    if (shared_job_is_open(job))
        atomic_fetch_and(&job->references, ~open_bit);
}

void shared_job_release(struct shared_job *job)
{
    atomic_fetch_sub(&job->references, 1);
}

unsigned shared_job_join(struct shared_job *job)
{
    if (atomic_fetch_add(&job->references, 1) & open_bit) {
        const int place = atomic_fetch_sub(&job->places, 1);
        if (place == 1)
            close_job(job);
        if (place > 0)
            return (unsigned)place;
    }
    shared_job_release(job);
    return 0;
}

/* Index of a lane's first piece. */
static uint64_t lane_start(const struct shared_job *job, unsigned lane)
{
    return job->pieces * lane / job->lane_count;
}

/* Takes a lane's next piece; false if there is none left. */
static bool take_piece(struct shared_job *job, unsigned lane, uint64_t *index)
{
    _Atomic uint64_t *const taken = &job->lanes[lane].taken;
    const uint64_t first = lane_start(job, lane), end = lane_start(job, lane + 1);
    uint64_t before = atomic_load_explicit(taken, memory_order_relaxed), count;
    do {
        count =
            before >> TAKEN_BITS == job->serial ? before & (((uint64_t)1 << TAKEN_BITS) - 1) : 0;
        *index = first + count;
        if (*index >= end)
            return false;
    } while (!atomic_compare_exchange_weak_explicit(taken, &before,
                                                    job->serial << TAKEN_BITS | (count + 1),
                                                    memory_order_relaxed, memory_order_relaxed));
    return true;
}

uint64_t shared_job_run_pieces(struct shared_job *job, unsigned first_lane, unsigned thread)
{
    uint64_t done = 0, index;
    for (unsigned k = 0; k < job->lane_count; k++)
        for (; take_piece(job, (first_lane + k) % job->lane_count, &index); done++)
            job->piece(job->context, index, thread);
    close_job(job);
    return done;
}
