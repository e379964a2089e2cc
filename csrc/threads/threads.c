/* A thread without work spins on the pool's generation for a while, since calls often follow each
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
static const double spin_seconds = 50e-6;

struct pool {
    _Alignas(FALSE_SHARING_BYTES) atomic_uint generation; /* changes when a job is opened */
    _Alignas(FALSE_SHARING_BYTES) pid_t owner;            /* the process that owns the threads */
    unsigned max; /* maximum threads, including the caller */
    pthread_mutex_t lock;
    pthread_cond_t wakeup, finished;
    /* Written with the lock held. */
    atomic_uint started, asleep; /* asleep: and not woken yet */
    unsigned woken;              /* sleepers that are about to wake */
    atomic_uint workers;         /* threads that have a number */
    atomic_bool stop;
    _Atomic double last_end; /* time at which the last shared job ended */
    struct shared_job jobs[SLOTS];
    pthread_t threads[];
};

/* ---- thread counts ---- */

/* The threads, beyond idle ones that are awake, that open jobs with `wakes` have places for. */
static unsigned missing_threads(struct pool *pool)
{
    uint64_t places = 0, awake = atomic_load(&pool->started) - atomic_load(&pool->asleep), busy = 0;
    for (struct shared_job *job = pool->jobs; job < pool->jobs + SLOTS; job++) {
        const unsigned references = atomic_load(&job->references), held = references & ~open_bit;
        const int free_places = atomic_load(&job->places);
        busy += held ? held - 1 : 0; /* one is the caller */
        if (references & open_bit && atomic_load(&job->wakes) && free_places > 0)
            places += (uint64_t)free_places;
    }
    const uint64_t idle = awake > busy ? awake - busy : 0;
    return places > idle ? (unsigned)min_u64(places - idle, pool->max) : 0;
}

/* Whether a spinning thread may occupy a core that another one needs. */
static bool is_oversubscribed(struct pool *pool)
{
    unsigned callers = 0;
    for (struct shared_job *job = pool->jobs; job < pool->jobs + SLOTS; job++)
        callers += atomic_load(&job->references) != 0;
    return atomic_load(&pool->started) + callers > pool->max;
}

/* Wakes sleepers, but only as many as are needed. */
static void wake_sleepers(struct pool *pool)
{
    enum { WAKE_MAX = 16 };
    if (!atomic_load(&pool->asleep) || !missing_threads(pool))
        return;
    pthread_mutex_lock(&pool->lock);
    const unsigned asleep = atomic_load(&pool->asleep),
                   woken = (unsigned)min_u64(min_u64(missing_threads(pool), asleep), WAKE_MAX);
    atomic_store(&pool->asleep, asleep - woken);
    pool->woken += woken;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned k = 0; k < woken; k++)
        pthread_cond_signal(&pool->wakeup);
}

/* ---- waiting ---- */

/* Whether a wait has lasted spin_seconds; reads the clock only now and then, and yields, since the
 * awaited thread may need this very core. */
static bool has_timed_out(unsigned *iterations, double *since)
{
    enum { CLOCK_INTERVAL = 16 };
    PAUSE();
    if (++*iterations % CLOCK_INTERVAL)
        return false;
    sched_yield();
    const double now = clock_now();
    if (*iterations == CLOCK_INTERVAL)
        *since = now;
    return now - *since > spin_seconds;
}

/* Whether the generation changes while spinning. */
static bool spin_on_generation(struct pool *pool, unsigned seen)
{
    if (is_oversubscribed(pool) || processor_cores() < pool->max)
        return false;
    double since = 0;
    for (unsigned iterations = 0; !has_timed_out(&iterations, &since);)
        if (atomic_load(&pool->generation) != seen)
            return true;
    return false;
}

/* Sleeps until woken, unless the generation has changed: callers change the generation before they
 * look for sleepers, and sleepers register before they check the generation. */
static void sleep_until_woken(struct pool *pool, unsigned seen)
{
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_add(&pool->asleep, 1);
    if (atomic_load(&pool->generation) != seen) {
        atomic_fetch_sub(&pool->asleep, 1);
    } else {
        while (!pool->woken && !atomic_load(&pool->stop))
            pthread_cond_wait(&pool->wakeup, &pool->lock);
        pool->woken -= pool->woken > 0;
    }
    pthread_mutex_unlock(&pool->lock);
}

/* Waits, as a caller, for the pieces that other threads have started. */
static void wait_for_pieces(struct pool *pool, struct shared_job *job)
{
    double since = 0;
    if (!is_oversubscribed(pool))
        for (unsigned iterations = 0; !has_timed_out(&iterations, &since);)
            if (atomic_load(&job->done) == job->pieces)
                return;
    pthread_mutex_lock(&pool->lock);
    atomic_fetch_or(&job->done, waiter_bit);
    while (atomic_load(&job->done) != (job->pieces | waiter_bit))
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
    if (before == (last | waiter_bit)) {
        pthread_mutex_lock(&pool->lock);
        pthread_cond_broadcast(&pool->finished);
        pthread_mutex_unlock(&pool->lock);
    }
    return before == last;
}

/* ---- the threads ---- */

/* Whether there was a job to help with. */
static bool help_any_job(struct pool *pool, unsigned lane)
{
    unsigned thread = 0;
    struct shared_job *job = pool->jobs;
    while (!shared_job_is_open(job) || !(thread = shared_job_join(job)))
        if (++job == pool->jobs + SLOTS)
            return false;
    wake_sleepers(pool);
    fesetenv(&job->arithmetic);
    add_done(pool, job, shared_job_run_pieces(job, lane, thread));
    shared_job_release(job);
    return true;
}

static void *thread_main(void *opaque)
{
    struct pool *pool = opaque;
    const unsigned lane = 1 + atomic_fetch_add(&pool->workers, 1); /* the caller's number is 0 */
    for (;;) {
        const unsigned seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stop))
            return NULL;
        if (!help_any_job(pool, lane) && !spin_on_generation(pool, seen))
            sleep_until_woken(pool, seen);
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
    const unsigned index = atomic_load(&pool->started);
    const bool started = pthread_create(&pool->threads[index], &attributes, thread_main, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store(&pool->started, index + started);
    return started;
}

/* Starts the threads that can help; if that fails, fewer threads do the work. */
static void start_threads(struct pool *pool)
{
    if (atomic_load(&pool->started) == pool->max - 1)
        return;
    pthread_mutex_lock(&pool->lock);
    while (atomic_load(&pool->started) < pool->max - 1 &&
           missing_threads(pool) > atomic_load(&pool->asleep) && start_thread(pool))
        ;
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the pool ---- */

/* A pool of up to `max` threads, including the caller; NULL if out of memory. Starts no
 * threads. */
static struct pool *pool_new(pid_t owner, unsigned max)
{
    const size_t bytes = sizeof(struct pool) + (max - 1) * sizeof(pthread_t);
    struct pool *pool = aligned_alloc(FALSE_SHARING_BYTES,
                                      ceil_div(bytes, FALSE_SHARING_BYTES) * FALSE_SHARING_BYTES);
    struct lane *lanes = aligned_alloc(FALSE_SHARING_BYTES, SLOTS * max * sizeof(struct lane));
    if (!pool || !lanes) {
        free(pool);
        free(lanes);
        return NULL;
    }
    memset(pool, 0, bytes);
    memset(lanes, 0, SLOTS * max * sizeof(struct lane));
    pool->owner = owner;
    pool->max = max;
    for (unsigned slot = 0; slot < SLOTS; slot++)
        pool->jobs[slot].lanes = lanes + slot * max;
    pthread_mutex_init(&pool->lock, NULL);
    pthread_cond_init(&pool->wakeup, NULL);
    pthread_cond_init(&pool->finished, NULL);
    return pool;
}

static void pool_free(struct pool *pool)
{
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->wakeup);
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
    pthread_cond_broadcast(&pool->wakeup);
    pthread_mutex_unlock(&pool->lock);
    for (unsigned k = 0; k < pool->started; k++)
        pthread_join(pool->threads[k], NULL);
}

/* Returns when the job is done; false if all slots are in use. A brief job wakes sleepers only if
 * the last job has just ended and threads may spin after this one. */
static bool pool_run(struct pool *pool, unsigned max, uint64_t pieces, bool brief,
                     threads_piece *piece, void *context)
{
    struct shared_job *job = pool->jobs;
    while (!shared_job_open(job, max, pieces, piece, context))
        if (++job == pool->jobs + SLOTS)
            return false;
    const bool wakes = !brief || (clock_now() - atomic_load(&pool->last_end) < spin_seconds &&
                                  !is_oversubscribed(pool));
    atomic_store(&job->wakes, wakes);
    atomic_fetch_add(&pool->generation, 1);
    if (wakes) {
        start_threads(pool);
        wake_sleepers(pool);
    }
    if (!add_done(pool, job, shared_job_run_pieces(job, 0, 0)))
        wait_for_pieces(pool, job);
    shared_job_release(job);
    atomic_store(&pool->last_end, clock_now());
    return true;
}

/* ---- the current process's pool ---- */

struct threads {
    _Atomic(struct pool *) pool;
    _Atomic unsigned max;   /* in a job; 0: not determined yet */
    _Atomic unsigned bound; /* set by threads_set_limit; 0: none */
    unsigned requested;     /* OMP_NUM_THREADS; 0: not set */
};

/* ---- the number of threads ---- */

/* Parses "8", or "8,4" for nested regions; 0 for anything else. */
static unsigned parse_thread_count(const char *text)
{
    char *end;
    const unsigned long count = text ? strtoul(text, &end, 10) : 0;
    return count && (*end == '\0' || *end == ',') && count < INT32_MAX ? (unsigned)count : 0;
}

/* Determined once, so that all jobs agree. */
static unsigned max_threads(struct threads *self)
{
    unsigned max = atomic_load(&self->max);
    if (max)
        return max;
    const unsigned cores = (unsigned)min_u64(processor_cores(), cgroup_cores(""));
    const unsigned found = self->requested ? (unsigned)min_u64(self->requested, cores) : cores;
    return atomic_compare_exchange_strong(&self->max, &max, found) ? found : max;
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
    return (unsigned)min_u64(pieces, min_u64(max_threads(self->threads), bound));
}

unsigned threads_set_limit(struct threads *self, unsigned max)
{
    if (max)
        atomic_store(&self->bound, max);
    const struct thread_team thread_team = threads_team(self);
    return threads_for(&thread_team, UINT64_MAX);
}

/* A forked child abandons its parent's pool: the threads do not exist there, and one of them may
 * have held the lock. */
static struct pool *current_pool(struct threads *self)
{
    const pid_t pid = process_id();
    struct pool *existing = atomic_load(&self->pool);
    if (existing && existing->owner == pid)
        return existing;
    struct pool *fresh = pool_new(pid, max_threads(self));
    if (!fresh || atomic_compare_exchange_strong(&self->pool, &existing, fresh))
        return fresh;
    pool_free(fresh);
    return existing; /* just created by another thread */
}

struct threads *threads_create(void)
{
    struct threads *self = calloc(1, sizeof *self);
    if (self)
        self->requested = parse_thread_count(getenv("OMP_NUM_THREADS"));
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
    const unsigned max = threads_for(self, pieces);
    struct pool *const pool = max > 1 ? current_pool(self->threads) : NULL;
    if (pool && pool_run(pool, max, pieces, brief, piece, context))
        return;
    for (uint64_t index = 0; index < pieces; index++)
        piece(context, index, 0);
}
