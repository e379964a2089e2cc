#include "threads/threads.h"

#include "threads/pool.h"

#include "common/arithmetic.h"
#include "common/processor.h"

#include <stdatomic.h>
#include <stdlib.h>

struct threads {
    _Atomic(struct pool *) pool;
    _Atomic unsigned most;  /* threads in a job; 0: nobody has asked yet */
    _Atomic unsigned bound; /* the same, by who calls; 0: none */
    unsigned asked;         /* by OMP_NUM_THREADS; 0: nothing */
};

/* ---- how many ---- */

/* "8", or "8,4" for nested regions; anything else asks for nothing. */
static unsigned asked_for(const char *text)
{
    char *end;
    const unsigned long asked = text ? strtoul(text, &end, 10) : 0;
    return asked && (*end == '\0' || *end == ',') && asked < INT32_MAX ? (unsigned)asked : 0;
}

/* Found out once, so that all jobs agree. */
static unsigned most_threads(struct threads *self)
{
    unsigned most = atomic_load(&self->most);
    if (most)
        return most;
    const unsigned cores = (unsigned)least(processor_cores(), cgroup_cores(""));
    const unsigned found = self->asked ? (unsigned)least(self->asked, cores) : cores;
    return atomic_compare_exchange_strong(&self->most, &most, found) ? found : most;
}

struct crew threads_crew(struct threads *self)
{
    return (struct crew){self, atomic_load(&self->bound)};
}

unsigned threads_for(const struct crew *self, uint64_t pieces)
{
    const uint64_t bound = self->bound ? self->bound : UINT64_MAX;
    if (pieces <= 1 || bound == 1)
        return 1;
    return (unsigned)least(pieces, least(most_threads(self->threads), bound));
}

unsigned threads_bound(struct threads *self, unsigned most)
{
    if (most)
        atomic_store(&self->bound, most);
    const struct crew crew = threads_crew(self);
    return threads_for(&crew, UINT64_MAX);
}

/* ---- the pool ---- */

/* The pool of this process. A parent's stays after in a forked child as it is: its threads are not
 * there, and its lock may be held by one of them. */
static struct pool *pool_here(struct threads *self)
{
    const pid_t here = process_here();
    struct pool *there = atomic_load(&self->pool);
    if (there && pool_owner(there) == here)
        return there;
    struct pool *fresh = pool_new(here, most_threads(self));
    if (!fresh || atomic_compare_exchange_strong(&self->pool, &there, fresh))
        return fresh;
    pool_free(fresh);
    return there; /* another thread's, just made */
}

struct threads *threads_create(void)
{
    struct threads *self = calloc(1, sizeof *self);
    if (self)
        self->asked = asked_for(getenv("OMP_NUM_THREADS"));
    return self;
}

void threads_destroy(struct threads *self)
{
    struct pool *pool = self ? atomic_load(&self->pool) : NULL;
    if (pool && pool_owner(pool) == process_here()) {
        pool_stop(pool);
        pool_free(pool);
    }
    free(self);
}

/* ---- running ---- */

static void run_alone(uint64_t pieces, threads_piece *piece, void *context)
{
    for (uint64_t index = 0; index < pieces; index++)
        piece(context, index, 0);
}

void threads_run(const struct crew *self, uint64_t pieces, bool brief, threads_piece *piece,
                 void *context)
{
    const unsigned most = threads_for(self, pieces);
    struct pool *const pool = most > 1 ? pool_here(self->threads) : NULL;
    if (!pool || !pool_run(pool, most, pieces, brief, piece, context))
        run_alone(pieces, piece, context);
}
