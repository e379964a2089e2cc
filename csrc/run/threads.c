/* A job's pieces lie in lanes, one a thread: neighbours, so that what threads write lies apart,
 * too. A thread begins with its own lane, so that the same array comes to the same core, and its
 * cache, at the next call, and then goes on with the others' until there is nothing left. The
 * caller waits for those pieces alone that other threads have begun: a job is counted down by
 * pieces and not by threads, and its slot is free when whoever lets go of it last has done so, so
 * that a thread that is late, or that the system has put aside between two pieces, holds nobody up.
 *
 * A thread without work watches the pool's generation for a moment, since calls often come one
 * after another, and only then sleeps. Who announces a job wakes sixteen sleepers, and each of them
 * as many while there is room for them: nobody spends long on waking others. For a job that
 * would be over before they are there nobody is woken, unless another has just been: then more are
 * likely to follow, and whoever is awake will watch for them. */
#define _GNU_SOURCE

#include "run/threads.h"

#include "common/arithmetic.h"
#include "common/cgroup.h"
#include "common/clock.h"
#include "common/process.h"
#include "common/processor.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

enum {
    STACK_BYTES = 256 << 10, /* what a piece may need, whatever limits the user has set; the system
                                adds its own */
    APART = 128,             /* bytes; processors fetch lines of 64 in pairs */
    SLOTS = 32,              /* for jobs at once; who finds none works alone */
    TAKEN_BITS = 24
};

/* How long a thread watches before it sleeps: about what waking many sleepers takes. */
static const double watch_seconds = 50e-6;

static const unsigned open_bit = 1u << 31;
static const uint64_t asleep_bit = (uint64_t)1 << 63;

/* How many of a lane's pieces are taken, in TAKEN_BITS, and above them which of the slot's jobs
 * that was: so nobody has to clear what lies in another core's cache. */
struct lane {
    _Alignas(APART) _Atomic uint64_t taken;
};

/* A slot, and the job in it. */
struct job {
    /* Set before it is open. */
    _Alignas(APART) threads_piece *piece;
    void *context;
    uint64_t pieces;
    struct lane *lanes;
    unsigned width;    /* lanes that are used */
    uint64_t serial;   /* of the job, in its slot */
    fenv_t arithmetic; /* the caller's rounding and flushing, so that all threads compute alike */

    /* For who wants to join and take pieces. */
    _Alignas(APART) atomic_uint holds; /* threads that know of it, and open_bit: more may join; 0:
                                          the slot is free */
    atomic_int places;                 /* for more threads */
    atomic_bool calls;                 /* sleepers to come, too */

    /* For who waits for the end. */
    _Alignas(APART) _Atomic uint64_t done; /* pieces, and asleep_bit: the caller sleeps */
};

/* The threads of one process. */
struct pool {
    _Alignas(APART) atomic_uint generation; /* of jobs: whoever sees it change looks for one */
    _Alignas(APART) pid_t owner;
    unsigned most; /* threads, the caller included */
    pthread_mutex_t lock;
    pthread_cond_t work, finished;
    /* These are changed by who holds the lock. */
    atomic_uint started, asleep; /* the latter: and not called yet */
    unsigned called;             /* sleepers that are to wake */
    atomic_uint numbered;        /* threads that know their number */
    atomic_bool stop;
    _Atomic double ended; /* by the clock: the last job that was shared */
    struct job jobs[SLOTS];
    pthread_t threads[];
};

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

unsigned threads_for(struct threads *self, uint64_t pieces)
{
    const unsigned bound = atomic_load(&self->bound);
    if (pieces <= 1 || bound == 1)
        return 1;
    return (unsigned)least(pieces, least(most_threads(self), bound ? bound : UINT64_MAX));
}

unsigned threads_bound(struct threads *self, unsigned most)
{
    if (most)
        atomic_store(&self->bound, most);
    return threads_for(self, UINT64_MAX);
}

/* ---- a job ---- */

/* The caller's; NULL: all slots are taken. Nobody joins before it is open. */
static struct job *job_new(struct pool *pool, unsigned most, uint64_t pieces, threads_piece *piece,
                           void *context)
{
    struct job *job = pool->jobs;
    for (unsigned none = 0; !atomic_compare_exchange_strong(&job->holds, &none, 1); none = 0)
        if (++job == pool->jobs + SLOTS)
            return NULL;
    job->piece = piece;
    job->context = context;
    job->pieces = pieces;
    job->width = most;
    job->serial++;
    fegetenv(&job->arithmetic);
    atomic_store_explicit(&job->places, (int)most - 1, memory_order_relaxed);
    atomic_store_explicit(&job->calls, false, memory_order_relaxed);
    atomic_store_explicit(&job->done, 0, memory_order_relaxed);
    atomic_fetch_or(&job->holds, open_bit);
    return job;
}

static bool is_open(struct job *job)
{
    return atomic_load(&job->holds) & open_bit;
}

static void close_job(struct job *job)
{
    if (is_open(job))
        atomic_fetch_and(&job->holds, ~open_bit);
}

static void let_go(struct job *job)
{
    atomic_fetch_sub(&job->holds, 1);
}

/* The number of a thread that joins; 0, the caller's: there is no place. */
static unsigned join_job(struct job *job)
{
    if (!is_open(job))
        return 0;
    if (atomic_fetch_add(&job->holds, 1) & open_bit) {
        const int place = atomic_fetch_sub(&job->places, 1);
        if (place == 1)
            close_job(job);
        if (place > 0)
            return (unsigned)place;
    }
    let_go(job);
    return 0;
}

/* The number of a lane's first piece. */
static uint64_t lane_start(const struct job *job, unsigned lane)
{
    return job->pieces * lane / job->width;
}

/* The number of a lane's next piece, which is then taken; false: there is none. */
static bool take_piece(struct job *job, unsigned lane, uint64_t *index)
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

/* Begins with a lane of the thread's own. Returns how many pieces this thread did. */
static uint64_t take_pieces(struct job *job, unsigned own, unsigned thread)
{
    uint64_t done = 0, index;
    for (unsigned k = 0; k < job->width; k++)
        for (; take_piece(job, (own + k) % job->width, &index); done++)
            job->piece(job->context, index, thread);
    close_job(job);
    return done;
}

/* Whether these were the last; the caller is woken if it sleeps. The count before is compared, and
 * not the one after: GCC 12 gets the latter's sum wrong in such a place. */
static bool add_done(struct pool *pool, struct job *job, uint64_t done)
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

/* ---- who is there ---- */

/* Threads that open jobs which call for them have places and pieces for, beyond those that are
 * awake without work. */
static unsigned missing_threads(struct pool *pool)
{
    uint64_t places = 0, awake = atomic_load(&pool->started) - atomic_load(&pool->asleep), busy = 0;
    for (struct job *job = pool->jobs; job < pool->jobs + SLOTS; job++) {
        const unsigned holds = atomic_load(&job->holds), held = holds & ~open_bit;
        const int free_places = atomic_load(&job->places);
        busy += held ? held - 1 : 0; /* one is the caller */
        if (holds & open_bit && atomic_load(&job->calls) && free_places > 0)
            places += (uint64_t)free_places;
    }
    const uint64_t idle = awake > busy ? awake - busy : 0;
    return places > idle ? (unsigned)least(places - idle, pool->most) : 0;
}

/* Whether a thread that only watches may keep another from a core. */
static bool is_crowded(struct pool *pool)
{
    unsigned callers = 0;
    for (struct job *job = pool->jobs; job < pool->jobs + SLOTS; job++)
        callers += atomic_load(&job->holds) != 0;
    return atomic_load(&pool->started) + callers > pool->most;
}

/* Wakes some sleepers, and none that is not needed. */
static void call_sleepers(struct pool *pool)
{
    enum { MOST = 16 };
    if (!atomic_load(&pool->asleep) || !missing_threads(pool))
        return;
    pthread_mutex_lock(&pool->lock);
    const unsigned asleep = atomic_load(&pool->asleep),
                   called = (unsigned)least(least(missing_threads(pool), asleep), MOST);
    atomic_store(&pool->asleep, asleep - called);
    pool->called += called;
    pthread_mutex_unlock(&pool->lock);
    for (unsigned k = 0; k < called; k++)
        pthread_cond_signal(&pool->work);
}

/* ---- waiting ---- */

/* Whether so long a wait is over; the clock is read once in a while. What is waited for may want to
 * run on this very core. */
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

/* Whether there is news within a moment. */
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

/* Until this thread is called, unless there is news already: who announces it first changes the
 * generation and then looks for sleepers, and here it is the other way round. */
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

/* Of a caller, for the pieces that others have begun. */
static void wait_for_the_rest(struct pool *pool, struct job *job)
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

/* ---- the threads ---- */

/* Whether there was anything to help with. */
static bool help(struct pool *pool, unsigned own)
{
    unsigned thread = 0;
    struct job *job = pool->jobs;
    while (!(thread = join_job(job)))
        if (++job == pool->jobs + SLOTS)
            return false;
    call_sleepers(pool);
    fesetenv(&job->arithmetic);
    add_done(pool, job, take_pieces(job, own, thread));
    let_go(job);
    return true;
}

static void *work(void *opaque)
{
    struct pool *pool = opaque;
    const unsigned own = 1 + atomic_fetch_add(&pool->numbered, 1); /* a caller's is 0 */
    for (;;) {
        const unsigned seen = atomic_load(&pool->generation);
        if (atomic_load(&pool->stop))
            return NULL;
        if (!help(pool, own) && !watch_generation(pool, seen))
            sleep_until_called(pool, seen);
    }
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
    const unsigned there = atomic_load(&pool->started);
    const bool started = pthread_create(&pool->threads[there], &attributes, work, pool) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    atomic_store(&pool->started, there + started);
    return started;
}

/* As many as can help and are not there yet; where none can be started, fewer do the work. */
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

static struct pool *pool_new(pid_t owner, unsigned most)
{
    const size_t bytes = sizeof(struct pool) + (most - 1) * sizeof(pthread_t);
    struct pool *pool = aligned_alloc(APART, divide_up(bytes, APART) * APART);
    struct lane *lanes = aligned_alloc(APART, SLOTS * most * sizeof(struct lane));
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

/* The pool of this process. A parent's stays behind in a forked child as it is: its threads are not
 * there, and its lock may be held by one of them. */
static struct pool *pool_here(struct threads *self)
{
    const pid_t here = process_here();
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
    if (pool && pool->owner == process_here()) {
        pthread_mutex_lock(&pool->lock);
        atomic_store(&pool->stop, true);
        atomic_fetch_add(&pool->generation, 1);
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

/* Whether the last job that was shared is not long over, and threads would watch after this one. */
static bool is_one_of_many(struct pool *pool)
{
    return clock_now() - atomic_load(&pool->ended) < watch_seconds && !is_crowded(pool);
}

static void announce(struct pool *pool, struct job *job, bool brief)
{
    const bool calls = !brief || is_one_of_many(pool);
    atomic_store(&job->calls, calls);
    atomic_fetch_add(&pool->generation, 1);
    if (calls) {
        start_threads(pool);
        call_sleepers(pool);
    }
}

void threads_run(struct threads *self, uint64_t pieces, bool brief, threads_piece *piece,
                 void *context)
{
    const unsigned most = threads_for(self, pieces);
    struct pool *const pool = most > 1 ? pool_here(self) : NULL;
    struct job *const job = pool ? job_new(pool, most, pieces, piece, context) : NULL;
    if (!job) {
        run_alone(pieces, piece, context);
        return;
    }
    announce(pool, job, brief);
    if (!add_done(pool, job, take_pieces(job, 0, 0)))
        wait_for_the_rest(pool, job);
    let_go(job);
    atomic_store(&pool->ended, clock_now());
}
