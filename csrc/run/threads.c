/* Pieces are given out by one counter a job. A caller takes pieces until there are none and then
 * waits for those alone that other threads have begun: a job is counted down by pieces and not by
 * threads, and freed by whoever lets go of it last, so that a thread that is late, or that the
 * system has put aside between two pieces, holds nobody up.
 *
 * A thread without work watches for a moment before it sleeps, and so does a caller that waits for
 * others' last pieces: calls often come one after another, and waking takes longer than many last.
 */
#define _GNU_SOURCE

#include "run/threads.h"

#include "common/arithmetic.h"
#include "common/cgroup.h"
#include "common/clock.h"
#include "common/processor.h"

#include <fenv.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <unistd.h>

/* What a piece may need, whatever limits on stacks the user has set; the system adds its own. */
enum { STACK_BYTES = 256 << 10 };

/* How long a thread watches before it sleeps. */
static const double watch_seconds = 50e-6;

struct job {
    threads_piece *piece;
    void *context;
    uint64_t pieces;
    unsigned most;     /* threads that may take part */
    fenv_t arithmetic; /* the caller's rounding and flushing, so that all threads compute alike */
    _Atomic uint64_t next; /* the piece that is taken next */
    _Atomic uint64_t done; /* pieces; changed by who holds the pool's lock */
    /* The rest is for who holds the pool's lock. */
    unsigned joined; /* threads that took part so far */
    unsigned held;   /* threads that know of it */
    struct job *after;
};

/* The threads of one process. */
struct pool {
    pid_t owner;
    unsigned most; /* threads, the caller included */
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    struct job *first; /* those that have pieces left, the oldest first */
    unsigned started, asleep, watching;
    _Atomic unsigned generation; /* of jobs; changed by who holds the lock */
    bool stop;
    pthread_t threads[];
};

struct threads {
    _Atomic(struct pool *) pool;
    _Atomic unsigned most; /* threads in a job; 0: nobody has asked yet */
    unsigned asked;        /* by OMP_NUM_THREADS; 0: nothing */
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

unsigned threads_for(struct threads *self, uint64_t pieces)
{
    return pieces <= 1 ? 1 : (unsigned)least(pieces, most_threads(self));
}

/* ---- a job ---- */

/* Returns how many pieces this thread did. */
static uint64_t take_pieces(struct job *job, unsigned thread)
{
    for (uint64_t done = 0;; done++) {
        const uint64_t index = atomic_fetch_add_explicit(&job->next, 1, memory_order_relaxed);
        if (index >= job->pieces)
            return done;
        job->piece(job->context, index, thread);
    }
}

/* The rest is called with the pool's lock held. */

static void add_done(struct pool *pool, struct job *job, uint64_t done)
{
    job->done += done;
    if (done && job->done == job->pieces)
        pthread_cond_broadcast(&pool->finished);
}

static void let_go(struct job *job)
{
    if (--job->held == 0)
        free(job);
}

static void enqueue(struct pool *pool, struct job *job)
{
    struct job **end = &pool->first;
    while (*end)
        end = &(*end)->after;
    *end = job;
}

static void dequeue(struct pool *pool, struct job *job)
{
    struct job **at = &pool->first;
    while (*at != job)
        at = &(*at)->after;
    *at = job->after;
}

static struct job *job_to_join(const struct pool *pool)
{
    struct job *job = pool->first;
    while (job && (job->joined == job->most ||
                   atomic_load_explicit(&job->next, memory_order_relaxed) >= job->pieces))
        job = job->after;
    return job;
}

/* ---- the threads ---- */

/* Whether a wait that began then has been long enough; gives way to the core's other half. */
static bool is_late(double began)
{
#if defined(__x86_64__)
    for (int k = 0; k < 16; k++)
        __builtin_ia32_pause();
#endif
    return clock_now() - began > watch_seconds;
}

/* Until there is a job, or for a moment; without the lock, which the caller holds. */
static void watch(struct pool *pool)
{
    const unsigned seen = pool->generation;
    const double began = clock_now();
    pool->watching++;
    pthread_mutex_unlock(&pool->lock);
    while (atomic_load_explicit(&pool->generation, memory_order_relaxed) == seen && !is_late(began))
        ;
    pthread_mutex_lock(&pool->lock);
    pool->watching--;
    if (pool->generation != seen || pool->stop)
        return;
    pool->asleep++;
    pthread_cond_wait(&pool->work, &pool->lock);
    pool->asleep--;
}

static void *work(void *opaque)
{
    struct pool *pool = opaque;
    pthread_mutex_lock(&pool->lock);
    while (!pool->stop) {
        struct job *const job = job_to_join(pool);
        if (!job) {
            watch(pool);
            continue;
        }
        const unsigned thread = job->joined++;
        job->held++;
        pthread_mutex_unlock(&pool->lock);
        fesetenv(&job->arithmetic);
        const uint64_t done = take_pieces(job, thread);
        pthread_mutex_lock(&pool->lock);
        add_done(pool, job, done);
        let_go(job);
    }
    pthread_mutex_unlock(&pool->lock);
    return NULL;
}

/* All signals are for the threads that were there before: Python's handlers belong to one. */
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
    const bool started =
        pthread_create(&pool->threads[pool->started], &attributes, work, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    pool->started += started;
    return started;
}

/* As many as can help and are not there yet; where none can be started, fewer do the work. */
static void start_threads(struct pool *pool, unsigned helpers)
{
    for (unsigned there = pool->asleep + pool->watching;
         there < helpers && pool->started < pool->most - 1; there++)
        if (!start_thread(pool))
            return;
}

/* ---- the pool ---- */

/* It is held for a few instructions, by many at the same moment: to sleep for it would take longer.
 */
static void init_lock(pthread_mutex_t *lock)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ADAPTIVE_NP);
    pthread_mutex_init(lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
}

static struct pool *pool_new(pid_t owner, unsigned most)
{
    struct pool *pool = calloc(1, sizeof *pool + (most - 1) * sizeof *pool->threads);
    if (!pool)
        return NULL;
    pool->owner = owner;
    pool->most = most;
    init_lock(&pool->lock);
    pthread_cond_init(&pool->work, NULL);
    pthread_cond_init(&pool->finished, NULL);
    return pool;
}

static void pool_free(struct pool *pool)
{
    pthread_cond_destroy(&pool->finished);
    pthread_cond_destroy(&pool->work);
    pthread_mutex_destroy(&pool->lock);
    free(pool);
}

/* The pool of this process. A parent's stays behind in a forked child as it is: its threads are not
 * there, and its lock may be held by one of them. */
static struct pool *pool_here(struct threads *self)
{
    const pid_t here = getpid();
    struct pool *there = atomic_load(&self->pool);
    if (there && there->owner == here)
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
    if (pool && pool->owner == getpid()) {
        pthread_mutex_lock(&pool->lock);
        pool->stop = true;
        pool->generation++;
        pthread_cond_broadcast(&pool->work);
        pthread_mutex_unlock(&pool->lock);
        for (unsigned k = 0; k < pool->started; k++)
            pthread_join(pool->threads[k], NULL);
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

static struct job *job_new(unsigned most, uint64_t pieces, threads_piece *piece, void *context)
{
    struct job *job = calloc(1, sizeof *job);
    if (!job)
        return NULL;
    job->piece = piece;
    job->context = context;
    job->pieces = pieces;
    job->most = most;
    job->joined = job->held = 1;
    fegetenv(&job->arithmetic);
    return job;
}

static void announce(struct pool *pool, struct job *job)
{
    const unsigned helpers = job->most - 1;
    pthread_mutex_lock(&pool->lock);
    enqueue(pool, job);
    pool->generation++;
    const unsigned asleep = pool->asleep, watching = pool->watching,
                   wanted = helpers > watching ? helpers - watching : 0;
    start_threads(pool, helpers);
    pthread_mutex_unlock(&pool->lock);
    if (asleep && wanted >= asleep)
        pthread_cond_broadcast(&pool->work);
    else
        for (unsigned k = 0; k < wanted && asleep; k++)
            pthread_cond_signal(&pool->work);
}

static void wait_for_the_rest(struct pool *pool, struct job *job, uint64_t done)
{
    pthread_mutex_lock(&pool->lock);
    dequeue(pool, job);
    add_done(pool, job, done);
    if (job->done < job->pieces) {
        pthread_mutex_unlock(&pool->lock);
        const double began = clock_now();
        while (atomic_load_explicit(&job->done, memory_order_relaxed) < job->pieces &&
               !is_late(began))
            ;
        pthread_mutex_lock(&pool->lock);
    }
    while (job->done < job->pieces)
        pthread_cond_wait(&pool->finished, &pool->lock);
    let_go(job);
    pthread_mutex_unlock(&pool->lock);
}

void threads_run(struct threads *self, uint64_t pieces, threads_piece *piece, void *context)
{
    const unsigned most = threads_for(self, pieces);
    struct pool *const pool = most > 1 ? pool_here(self) : NULL;
    struct job *const job = pool ? job_new(most, pieces, piece, context) : NULL;
    if (!job) {
        run_alone(pieces, piece, context);
        return;
    }
    announce(pool, job);
    wait_for_the_rest(pool, job, take_pieces(job, 0));
}
