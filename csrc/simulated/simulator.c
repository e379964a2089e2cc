#define _GNU_SOURCE

#include "simulated/simulator.h"

#include "simulated/block.h"

#include <stdio.h>
#include <stdlib.h>

/* ---- the grid ---- */

enum { WATCH_MILLISECONDS = 50 };

void grid_stop(struct grid *self, enum simulator_status status, const char *message)
{
    pthread_mutex_lock(&self->lock);
    if (self->status == SIMULATOR_DONE) {
        self->status = status;
        snprintf(self->message, sizeof self->message, "%s", message);
    }
    atomic_store(&self->stop, true);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool grid_stopped(struct grid *self)
{
    return atomic_load_explicit(&self->stop, memory_order_relaxed);
}

static long milliseconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

void grid_look_at_watch(struct grid *self)
{
    const struct simulator_watch *watch = self->watch;
    if (!watch || grid_stopped(self) || milliseconds_since(&self->looked) < WATCH_MILLISECONDS)
        return;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
    if (watch->interrupted(watch->context))
        grid_stop(self, SIMULATOR_INTERRUPTED, "interrupted");
}

bool grid_meet(struct grid *self)
{
    pthread_mutex_lock(&self->lock);
    const uint64_t barrier = self->barriers;
    if (++self->at_barrier == self->blocks) {
        self->at_barrier = 0;
        self->barriers++;
        pthread_cond_broadcast(&self->changed);
    }
    while (self->barriers == barrier && !self->past_kernel && !grid_stopped(self))
        pthread_cond_wait(&self->changed, &self->lock);
    const bool met = self->barriers != barrier;
    pthread_mutex_unlock(&self->lock);
    return met;
}

/* A block of a cooperative launch is past its kernel: whoever still waits for it waits forever. */
static void grid_leave(struct grid *self)
{
    pthread_mutex_lock(&self->lock);
    self->past_kernel++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* ---- clusters ---- */

/* The blocks that a core is at, which take turns, from one barrier of the cluster to the next. A
 * block that is in no cluster is one by itself. */
struct cluster {
    struct multiprocessor blocks[SIMULATOR_CLUSTER_MAX];
    unsigned order[SIMULATOR_CLUSTER_MAX];
    uint64_t random;
};

static bool cluster_prepare(struct cluster *self, const struct simulator_launch *launch,
                            enum thread_order ordering)
{
    for (unsigned k = 0; k < launch->cluster; k++) {
        self->order[k] = ordering == ORDER_BACKWARDS ? launch->cluster - 1 - k : k;
        if (!multiprocessor_prepare(&self->blocks[k], launch, ordering))
            return false;
    }
    return true;
}

/* Every block gets its turn. One begins when it comes to the first: what others have put into its
 * shared memory before is gone, as it may be on a GPU. True as long as a barrier brings another
 * round. */
static bool go_round(struct cluster *self, uint64_t first, uint64_t seed, bool begin)
{
    const struct multiprocessor *any = self->blocks;
    bool again = false;
    if (any->sweep.ordering == ORDER_SHUFFLED)
        random_shuffle(self->order, any->launch->cluster, &self->random);
    for (unsigned k = 0; k < any->launch->cluster && !grid_stopped(any->grid); k++) {
        struct multiprocessor *block = &self->blocks[self->order[k]];
        if (begin)
            block_begin(block, first + self->order[k], seed);
        again |= block_run(block);
    }
    return again && !grid_stopped(any->grid);
}

static void cluster_run(struct cluster *self, uint64_t index, uint64_t seed)
{
    const unsigned size = self->blocks->launch->cluster;
    const uint64_t first = index * size;
    self->random = seed ^ index;
    bool begin = true;
    while (go_round(self, first, seed, begin)) {
        begin = false;
        for (unsigned k = 0; k < size; k++)
            block_pass_cluster_barrier(&self->blocks[k]);
    }
}

/* ---- the simulator ---- */

/* A multiprocessor, with the cluster that it is at, and its thread of the operating system. */
struct core {
    struct cluster cluster;
    struct simulator *simulator;
    pthread_t thread; /* but for the first, which is the caller's */
    uint64_t seen;    /* the last launch that it has, or need not have, run */
};

struct simulator {
    enum thread_order order;
    uint64_t seed;
    struct grid grid;

    struct core *cores;
    unsigned count, running; /* cores, and those of them that have a thread */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct simulator_launch *launch;
    uint64_t generation; /* of the launch */
    unsigned busy;       /* cores still at work on it */
    bool closing;

    atomic_uint_fast64_t next_cluster;
};

/* ---- the order of clusters ---- */

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* The cluster that runs as the i-th of n. Shuffled: i -> a i + b modulo n, a one-to-one map when a
 * has no factor in common with n. Grids are below 2^31, so nothing overflows. */
static uint64_t cluster_in_order(const struct simulator *self, uint64_t i, uint64_t n)
{
    if (self->order == ORDER_FORWARDS)
        return i;
    if (self->order == ORDER_BACKWARDS)
        return n - 1 - i;
    uint64_t state = self->seed;
    const uint64_t b = random_next(&state) % n;
    uint64_t a;
    do {
        a = random_next(&state) % n;
    } while (n > 1 && greatest_common_divisor(a, n) != 1);
    return (a * i + b) % n;
}

/* ---- cores ---- */

/* One core's part of a launch: clusters, one after the other, until none is left. Of a cooperative
 * launch every core takes at most one, so that all run at once. */
static void run_clusters(struct core *core, const struct simulator_launch *launch)
{
    struct simulator *self = core->simulator;
    const uint64_t clusters = launch->grid / launch->cluster;
    if (!cluster_prepare(&core->cluster, launch, self->order)) {
        grid_stop(&self->grid, SIMULATOR_FAILED, "out of memory for the threads of a block");
        return;
    }
    while (!grid_stopped(&self->grid)) {
        const uint64_t i = atomic_fetch_add(&self->next_cluster, 1);
        if (i >= clusters)
            return;
        cluster_run(&core->cluster, cluster_in_order(self, i, clusters), self->seed);
        if (launch->cooperative) {
            grid_leave(&self->grid);
            return;
        }
    }
}

static void *core_body(void *argument)
{
    struct core *core = argument;
    struct simulator *self = core->simulator;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->closing && self->generation == core->seen)
            pthread_cond_wait(&self->changed, &self->lock);
        if (self->closing)
            break;
        core->seen = self->generation;
        pthread_mutex_unlock(&self->lock);
        run_clusters(core, self->launch);
        pthread_mutex_lock(&self->lock);
        self->busy--;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Gives as many cores as there are blocks for their threads, but for the caller's core. */
static void start_cores(struct simulator *self, uint64_t blocks)
{
    while (self->running < self->count && self->running < blocks) {
        struct core *next = &self->cores[self->running];
        next->seen = self->generation;
        if (pthread_create(&next->thread, NULL, core_body, next))
            return;
        self->running++;
    }
}

/* Looks up now and then: somebody may want the run to end. */
static void wait_for_cores(struct simulator *self)
{
    enum { LOOK_NANOSECONDS = 50000000, SECOND = 1000000000 };
    pthread_mutex_lock(&self->lock);
    while (self->busy) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += LOOK_NANOSECONDS;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        pthread_cond_timedwait(&self->changed, &self->lock, &until);
        pthread_mutex_unlock(&self->lock);
        grid_look_at_watch(&self->grid);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

/* Adds up what all cores have counted. */
static void take_counts(struct simulator *self, struct counted_launch *counts)
{
    for (unsigned m = 0; m < self->count; m++)
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++)
            if (!multiprocessor_take_counts(&self->cores[m].cluster.blocks[k], counts))
                grid_stop(&self->grid, SIMULATOR_FAILED, "out of memory for what is counted");
}

enum simulator_status simulator_launch(struct simulator *self,
                                       const struct simulator_launch *launch)
{
    if (self->grid.status != SIMULATOR_DONE)
        return self->grid.status;
    /* Recorded, blocks come one after the other, and tickets and atomics in their order. */
    const bool recorded = launch->counts && launch->counts->room,
               shared = launch->grid > 1 && (!recorded || launch->cooperative);
    if (shared)
        start_cores(self, launch->grid);
    if (launch->cooperative && launch->grid > 1 && launch->grid > self->running) {
        grid_stop(&self->grid, SIMULATOR_FAILED,
                  "a cooperative launch of more blocks than can run at once");
        return self->grid.status;
    }
    self->grid.blocks = launch->grid; /* cores have no part in it yet */
    self->grid.at_barrier = self->grid.past_kernel = 0;
    pthread_mutex_lock(&self->lock);
    self->launch = launch;
    atomic_store(&self->next_cluster, 0);
    if (shared) {
        self->busy = self->running - 1;
        self->generation++;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    run_clusters(&self->cores[0], launch);
    wait_for_cores(self);
    if (launch->counts)
        take_counts(self, launch->counts);
    return self->grid.status;
}

/* ---- opening and closing ---- */

unsigned simulator_multiprocessors(const struct simulator *self)
{
    return self->count;
}

struct simulator *simulator_open(unsigned multiprocessors)
{
    struct simulator *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->count = multiprocessors;
    self->running = 1;
    self->cores = calloc(self->count, sizeof *self->cores);
    if (!self->cores) {
        free(self);
        return NULL;
    }
    for (unsigned m = 0; m < self->count; m++) {
        self->cores[m].simulator = self;
        struct multiprocessor *blocks = self->cores[m].cluster.blocks;
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++) {
            blocks[k].grid = &self->grid;
            blocks[k].cluster = blocks;
            blocks[k].number = m;
        }
    }
    self->grid.cores = multiprocessors;
    pthread_mutex_init(&self->grid.lock, NULL);
    pthread_cond_init(&self->grid.changed, NULL);
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    return self;
}

void simulator_set(struct simulator *self, enum thread_order order, uint64_t seed,
                   const struct simulator_watch *watch)
{
    self->order = order;
    self->seed = seed;
    self->grid.watch = watch;
    clock_gettime(CLOCK_MONOTONIC, &self->grid.looked);
}

void simulator_close(struct simulator *self)
{
    if (!self)
        return;
    pthread_mutex_lock(&self->lock);
    self->closing = true;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
    for (unsigned m = 1; m < self->running; m++)
        pthread_join(self->cores[m].thread, NULL);
    for (unsigned m = 0; m < self->count; m++)
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++)
            multiprocessor_release(&self->cores[m].cluster.blocks[k]);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    pthread_mutex_destroy(&self->grid.lock);
    pthread_cond_destroy(&self->grid.changed);
    free(self->cores);
    free(self);
}

const char *simulator_message(const struct simulator *self)
{
    return self->grid.message;
}
