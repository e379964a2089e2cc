/* A thread without work spins on the pool's generation for a moment, since calls often follow each
 * other closely, and then sleeps. Opening a job wakes sixteen sleepers, each of which wakes as many
 * more, so no thread spends long waking others. A job that would end before they run wakes none
 * unless it closely follows another: then more are likely, and awake threads will spin for them. */
#define _GNU_SOURCE

#include "threads/threads.h"

#include "threads/shared_job.h"

#include "common/arithmetic.h"
#include "common/processor.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    STACK_BYTES = 256 << 10, /* enough for any piece; the system adds its own */
    SLOTS = 32               /* concurrent jobs; callers beyond them work by themselves */
};

/* How long a thread spins before it sleeps: about the time that waking many sleepers takes. */
static const double watch_seconds = 50e-6;

struct pool {
    _Alignas(FALSE_SHARING_BYTES) atomic_uint generation; /* changes when a job is opened */
    _Alignas(FALSE_SHARING_BYTES) pid_t owner;            /* the process that owns the threads */
    unsigned most; /* maximum threads, including the caller */
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    /* Written with the lock held. */
    atomic_uint started, asleep; /* asleep: and not called yet */
    unsigned called;             /* sleepers that are about to wake */
    atomic_uint numbered;        /* threads that have a number */
    atomic_bool stop;
    _Atomic double ended; /* time at which the last shared job ended */
    struct shared_job jobs[SLOTS];
    pthread_t threads[];
};

/* ---- thread counts ---- */

/* The threads, beyond idle ones that are awake, that open jobs with `calls` have places for. */
static unsigned missing_threads(struct pool *pool)
{
    uint64_t places = 0, awake = atomic_load(&pool->started) - atomic_load(&pool->asleep), busy = 0;
    for (struct shared_job *job = pool->jobs; job < pool->jobs + SLOTS; job++) {
        const unsigned holds = atomic_load(&job->holds), held = holds & ~open_bit;
        const int free_places = atomic_load(&job->places);
        busy += held ? held - 1 : 0; /* one is the caller */
        if (holds & open_bit && atomic_load(&job->calls) && free_places > 0)
            places += (uint64_t)free_places;
    }
    const uint64_t idle = awake > busy ? awake - busy : 0;
    return places > idle ? (unsigned)min_u64(places - idle, pool->most) : 0;
}

/* Whether a spinning thread may occupy a core that another one needs. */
static bool is_crowded(struct pool *pool)
{
    unsigned callers = 0;
    for (struct shared_job *job = pool->jobs; job < pool->jobs + SLOTS; job++)
        callers += atomic_load(&job->holds) != 0;
    return atomic_load(&pool->started) + callers > pool->most;
}

/* Wakes sleepers, but only as many as are needed. */
static void call_sleepers(struct pool *pool)
{
    enum { MOST = 16 };
    if (!atomic_load(&pool->asleep) || !missing_threads(pool))
        return;
    pthread_mutex_lock(&pool->lock);
    const unsigned asleep = atomic_load(&pool->asleep),
                   called = (unsigned)min_u64(min_u64(missing_threads(pool), asleep), MOST);
    atomic_store(&pool->asleep, asleep - called);
    pool->called += called;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned k = 0; k < called; k++)
        pthread_cond_signal(&pool->work);
}

/* ---- waiting ---- */

/* Whether a wait has lasted watch_seconds; reads the clock only now and then, and yields, since the
 * awaited thread may need this very core. */
static bool is_late(unsigned *turns, double *since)
{
    enum { TURNS = 16 };
    PAUSE();
    if (++*turns % TURNS)
        return false;
    sched_yield();
    const double now = clock_now();
    if (*turns == TURNS)
        *since = now;
    return now - *since > watch_seconds;
}

/* Whether the generation changes within a moment. */
static bool watch_generation(struct pool *pool, unsigned seen)
{
    if (is_crowded(pool) || processor_cores() < pool->most)
        return false;
    double since = 0;
    for (unsigned turns = 0; !is_late(&turns, &since);)
        if (atomic_load(&pool->generation) != seen)
            return true;
    return false;
}

/* Sleeps until called, unless the generation has changed: callers change the generation before they
 * look for sleepers, and sleepers register before they check the generation. */
static void sleep_until_called(struct pool *pool, unsigned seen)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    if (atomic_load(&pool->generation) != seen) {
        atomic_fetch_sub(&pool->asleep, 1);
    } else {
        while (!pool->called && !atomic_load(&pool->stop))
            pthread_cond_wait(&pool->work, &pool->lock);
        pool->called -= pool->called > 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Waits, as a caller, for the pieces that other threads have started. */
static void wait_for_the_rest(struct pool *pool, struct shared_job *job)
{
    double since = 0;
    if (!is_crowded(pool))
        for (unsigned turns = 0; !is_late(&turns, &since);)
            if (atomic_load(&job->done) == job->pieces)
                return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_or(&job->done, asleep_bit);
    while (atomic_load(&job->done) != (job->pieces | asleep_bit))
        pthread_cond_wait(&pool->finished, &pool->lock);
    pthread_mutex_unlock(&pool->lock);
}

/* Whether these were the last pieces; wakes the caller if it sleeps. Compares the count before the
 * addition: GCC 12 miscompiles a comparison after it here. */
static bool add_done(struct pool *pool, struct shared_job *job, uint64_t done)
{
    if (!done)
        return false;
    const uint64_t before = atomic_fetch_add(&job->done, done), last = job->pieces - done;
    if (before == (last | asleep_bit)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->finished);
        pthread_mutex_unlock(&pool->lock);
    }
    return before == last;
}

/* ---- the threads ---- */

/* Whether there was a job to help with. */
static bool help(struct pool *pool, unsigned own)
{
    unsigned thread = 0;
    struct shared_job *job = pool->jobs;
    while (!shared_job_is_open(job) || !(thread = shared_job_join(job)))
        if (++job == pool->jobs + SLOTS)
            return false;
    call_sleepers(pool);
    fesetenv(&job->arithmetic);
    add_done(pool, job, shared_job_run_pieces(job, own, thread));
    shared_job_release(job);
    return true;
}

static void *work(void *opaque)
{
    struct pool *pool = opaque;
    const unsigned own = 1 + atomic_fetch_add(&pool->numbered, 1); /* the caller's number is 0 */
    for (;;) {
        const unsigned seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stop))
            return NULL;
        if (!help(pool, own) && !watch_generation(pool, seen))
            sleep_until_called(pool, seen);
    }
}

/* Blocks all signals in the thread: Python's handlers run in other threads. */
static bool start_thread(struct pool *pool)
{
    pthread_attr_t attributes;
    if (pthread_attr_init(&attributes))
        return false;
    const long least_stack = sysconf(_SC_THREAD_STACK_MIN);
    sigset_t all, before;
    sigfillset(&all);
    pthread_attr_setstacksize(&attributes,
                              STACK_BYTES + (least_stack > 0 ? (size_t)least_stack : 0));
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const unsigned there = atomic_load(&pool->started);
    const bool started = pthread_create(&pool->threads[there], &attributes, work, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store(&pool->started, there + started);
    return started;
}

/* Starts the threads that can help; if that fails, fewer threads do the work. */
static void start_threads(struct pool *pool)
{
    if (atomic_load(&pool->started) == pool->most - 1)
        return;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->started) < pool->most - 1 &&
           missing_threads(pool) > atomic_load(&pool->asleep) && start_thread(pool))
        ;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the pool ---- */

/* A pool of up to `most` threads, including the caller; NULL if out of memory. Starts no
 * threads. */
static struct pool *pool_new(pid_t owner, unsigned most)
{
    const size_t bytes = sizeof(struct pool) + (most - 1) * sizeof(pthread_t);
    struct pool *pool = aligned_alloc(FALSE_SHARING_BYTES,
                                      ceil_div(bytes, FALSE_SHARING_BYTES) * FALSE_SHARING_BYTES);
    struct lane *lanes = aligned_alloc(FALSE_SHARING_BYTES, SLOTS * most * sizeof(struct lane));
    if (!pool || !lanes) {
        free(pool);
        free(lanes);
        return NULL;
    }
    memset(pool, 0, bytes);
    memset(lanes, 0, SLOTS * most * sizeof(struct lane));
    pool->owner = owner;
    pool->most = most;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        pool->jobs[slot].lanes = lanes + slot * most;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->finished, NULL);
    return pool;
}

static void pool_free(struct pool *pool)
{
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool->jobs->lanes);
    free(pool);
}

/* Ends the threads; no job may be in progress. */
static void pool_stop(struct pool *pool)
{
    pthread_mutex_lock(&pool->lock);
    atomic_store(&pool->stop, true);
    atomic_fetch_add(&pool->generation, 1);
    pthread_cond_broadcast(&pool->work);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned k = 0; k < pool->started; k++)
        pthread_join(pool->threads[k], NULL);
}

/* Returns when the job is done; false if all slots are in use. A brief job calls sleepers only if
 * the last job ended a moment ago and threads may spin after this one. */
static bool pool_run(struct pool *pool, unsigned most, uint64_t pieces, bool brief,
                     threads_piece *piece, void *context)
{
    struct shared_job *job = pool->jobs;
    while (!shared_job_open(job, most, pieces, piece, context))
        if (++job == pool->jobs + SLOTS)
            return false;
    const bool calls =
        !brief || (clock_now() - atomic_load(&pool->ended) < watch_seconds && !is_crowded(pool));
    atomic_store(&job->calls, calls);
    atomic_fetch_add(&pool->generation, 1);
    if (calls) {
        start_threads(pool);
        call_sleepers(pool);
    }
    if (!add_done(pool, job, shared_job_run_pieces(job, 0, 0)))
        wait_for_the_rest(pool, job);
    shared_job_release(job);
    atomic_store(&pool->ended, clock_now());
    return true;
}

/* ---- the current process's pool ---- */

struct threads {
    _Atomic(struct pool *) pool;
    _Atomic unsigned most;  /* in a job; 0: not determined yet */
    _Atomic unsigned bound; /* set by threads_bound; 0: none */
    unsigned asked;         /* OMP_NUM_THREADS; 0: not set */
};

/* ---- the number of threads ---- */

/* Parses "8", or "8,4" for nested regions; 0 for anything else. */
static unsigned asked_for(const char *text)
{
    char *end;
    const unsigned long asked = text ? strtoul(text, &end, 10) : 0;
    return asked && (*end == '\0' || *end == ',') && asked < INT32_MAX ? (unsigned)asked : 0;
}

/* Determined once, so that all jobs agree. */
static unsigned most_threads(struct threads *self)
{
    unsigned most = atomic_load(&self->most);
    if (most)
        return most;
    const unsigned cores = (unsigned)min_u64(processor_cores(), cgroup_cores(""));
    const unsigned found = self->asked ? (unsigned)min_u64(self->asked, cores) : cores;
    return atomic_compare_exchange_strong(&self->most, &most, found) ? found : most;
}

struct thread_team threads_team(struct threads *self)
{
    return (struct thread_team){self, atomic_load(&self->bound)};
}

unsigned threads_for(const struct thread_team *self, uint64_t pieces)
{
    const uint64_t bound = self->bound ? self->bound : UINT64_MAX;
    if (pieces <= 1 || bound == 1)
        return 1;
    return (unsigned)min_u64(pieces, min_u64(most_threads(self->threads), bound));
}

unsigned threads_bound(struct threads *self, unsigned most)
{
    if (most)
        atomic_store(&self->bound, most);
    const struct thread_team thread_team = threads_team(self);
    return threads_for(&thread_team, UINT64_MAX);
}

/* A forked child abandons its parent's pool: the threads do not exist there, and one of them may
 * have held the lock. */
static struct pool *pool_here(struct threads *self)
{
    const pid_t here = process_id();
    struct pool *there = atomic_load(&self->pool);
    if (there && there->owner == here)
        return there;
    struct pool *fresh = pool_new(here, most_threads(self));
    if (!fresh || atomic_compare_exchange_strong(&self->pool, &there, fresh))
        return fresh;
    pool_free(fresh);
    return there; /* just created by another thread */
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
    if (pool && pool->owner == process_id()) {
        pool_stop(pool);
        pool_free(pool);
    }
    free(self);
}

void threads_run(const struct thread_team *self, uint64_t pieces, bool brief, threads_piece *piece,
                 void *context)
{
    const unsigned most = threads_for(self, pieces);
    struct pool *const pool = most > 1 ? pool_here(self->threads) : NULL;
    if (pool && pool_run(pool, most, pieces, brief, piece, context))
        return;
    for (uint64_t index = 0; index < pieces; index++)
        piece(context, index, 0);
}
