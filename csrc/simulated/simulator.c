#define _GNU_SOURCE

#include "simulated/block.h"

#include "run/backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the grid ---- */

enum { WATCH_MILLISECONDS = 50 };

void grid_stop(struct grid *self, enum failure_kind kind, const char *text)
{
    pthread_mutex_lock(&self->lock);
    if (self->failure.kind == FAILURE_NONE) {
        self->failure.kind = kind;
        snprintf(self->failure.text, sizeof self->failure.text, "%s", text);
    }
    atomic_store(&self->stop, true);
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

bool grid_stopped(struct grid *self)
{
    return atomic_load_explicit(&self->stop, memory_order_relaxed);
}

void grid_poll_watch(struct grid *self)
{
    const struct watch *watch = self->launch->watch;
    struct timespec now;
    if (!watch || grid_stopped(self))
        return;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if ((now.tv_sec - self->polled.tv_sec) * 1000 + (now.tv_nsec - self->polled.tv_nsec) / 1000000 <
        WATCH_MILLISECONDS)
        return;
    self->polled = now;
    if (watch->interrupted(watch->context))
        grid_stop(self, FAILURE_EXCEPTION, "interrupted");
}

bool grid_sync(struct grid *self)
{
    pthread_mutex_lock(&self->lock);
    const uint64_t barrier = self->barriers;
    if (++self->at_barrier == self->launch->grid) {
        self->at_barrier = 0;
        self->barriers++;
        pthread_cond_broadcast(&self->changed);
    }
    while (self->barriers == barrier && !self->exited && !grid_stopped(self))
        pthread_cond_wait(&self->changed, &self->lock);
    const bool met = self->barriers != barrier;
    pthread_mutex_unlock(&self->lock);
    return met;
}

/* A block of a cooperative launch has ended: blocks at the grid's barrier would wait forever. */
static void grid_exit(struct grid *self)
{
    pthread_mutex_lock(&self->lock);
    self->exited++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* ---- the simulator ---- */

/* A multiprocessor and its OS thread. It runs one cluster at a time, whose blocks take turns
 * between the cluster's barriers. A block without a cluster is a cluster of one. */
struct core {
    struct multiprocessor blocks[SIMULATOR_CLUSTER_MAX];
    unsigned order[SIMULATOR_CLUSTER_MAX];
    uint64_t random;
    struct simulator *simulator;
    pthread_t thread; /* of a launch; the first core uses the caller's thread */
};

struct simulator {
    struct core *cores; /* grid.cores of them */
    struct grid grid;
    atomic_uint_fast64_t next_cluster;
};

/* ---- clusters ---- */

/* Blocks take turns as long as some are at a barrier. A block begins at its first turn, which
 * overwrites what other blocks stored in its shared memory, as may happen on a GPU. */
static void run_cluster(struct core *self, uint64_t index)
{
    struct grid *grid = &self->simulator->grid;
    const struct simulator_launch *launch = grid->launch;
    const unsigned size = launch->cluster;
    bool begin = true, again = true;
    self->random = launch->seed ^ index;
    for (; again && !grid_stopped(grid); begin = false) {
        again = false;
        if (launch->order == ORDER_SHUFFLED)
            random_shuffle(self->order, size, &self->random);
        for (unsigned k = 0; k < size && !grid_stopped(grid); k++) {
            struct multiprocessor *block = &self->blocks[self->order[k]];
            if (begin)
                block_begin(block, index * size + self->order[k]);
            again |= block_run(block);
        }
    }
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* The cluster that runs as the i-th of n. Shuffled: i -> a i + b modulo n, which is one-to-one if a
 * and n are coprime. Grids are below 2^31, so nothing overflows. */
static uint64_t cluster_in_order(const struct simulator_launch *self, uint64_t i, uint64_t n)
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

/* A core's share of a launch: one cluster after the other until none is left. In a cooperative
 * launch a core takes at most one, so that all are resident. */
static void *run_clusters(void *argument)
{
    struct core *self = argument;
    struct simulator *simulator = self->simulator;
    struct grid *grid = &simulator->grid;
    const struct simulator_launch *launch = grid->launch;
    const uint64_t clusters = launch->grid / launch->cluster;
    for (unsigned k = 0; k < launch->cluster; k++) {
        self->order[k] = launch->order == ORDER_BACKWARDS ? launch->cluster - 1 - k : k;
        if (!multiprocessor_prepare(&self->blocks[k]))
            grid_stop(grid, FAILURE_RUNTIME, "out of memory for the threads of a block");
    }
    while (!grid_stopped(grid)) {
        const uint64_t i = atomic_fetch_add(&simulator->next_cluster, 1);
        if (i >= clusters)
            break;
        run_cluster(self, cluster_in_order(launch, i, clusters));
        if (launch->cooperative) {
            grid_exit(grid);
            break;
        }
    }
    return NULL;
}

/* Polls the watch, so that the run can be interrupted. */
static void wait_for_core(struct grid *grid, pthread_t core)
{
    enum { SECOND = 1000000000 };
    struct timespec until;
    int joined = ETIMEDOUT;
    while (joined == ETIMEDOUT) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MILLISECONDS * 1000000;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        joined = pthread_timedjoin_np(core, NULL, &until);
        grid_poll_watch(grid);
    }
}

/* Uses a core per block, as far as there are cores and OS threads, and always the caller's. */
const struct failure *simulator_launch(struct simulator *self,
                                       const struct simulator_launch *launch)
{
    struct grid *grid = &self->grid;
    if (grid->failure.kind != FAILURE_NONE)
        return &grid->failure;
    /* When recording, blocks run one after the other, so that tickets and atomics are in order. */
    const bool recorded = launch->counts && launch->counts->room,
               parallel = !recorded || launch->cooperative;
    unsigned cores = 1;
    grid->launch = launch;
    grid->at_barrier = grid->exited = 0;
    atomic_store(&self->next_cluster, 0);
    while (parallel && cores < grid->cores && cores < launch->grid &&
           !pthread_create(&self->cores[cores].thread, NULL, run_clusters, &self->cores[cores]))
        cores++;
    if (launch->cooperative && launch->grid > cores)
        grid_stop(grid, FAILURE_RUNTIME,
                  "a cooperative launch of more blocks than can run at once");
    run_clusters(&self->cores[0]);
    for (unsigned m = 1; m < cores; m++)
        wait_for_core(grid, self->cores[m].thread);
    for (unsigned m = 0; launch->counts && m < grid->cores; m++)
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++) {
            struct counter *counter = self->cores[m].blocks[k].counter;
            if (counter && !counter_collect(counter, launch->counts))
                grid_stop(grid, FAILURE_RUNTIME, "out of memory for what is counted");
        }
    return &grid->failure;
}

/* ---- opening and closing ---- */

unsigned simulator_multiprocessors(const struct simulator *self)
{
    return self->grid.cores;
}

struct simulator *simulator_open(unsigned multiprocessors)
{
    struct simulator *self = calloc(1, sizeof *self);
    struct core *cores = self ? calloc(multiprocessors, sizeof *cores) : NULL;
    if (!cores) {
        free(self);
        return NULL;
    }
    self->cores = cores;
    self->grid.cores = multiprocessors;
    for (unsigned m = 0; m < multiprocessors; m++) {
        cores[m].simulator = self;
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++) {
            cores[m].blocks[k].grid = &self->grid;
            cores[m].blocks[k].cluster = cores[m].blocks;
            cores[m].blocks[k].number = m;
        }
    }
    pthread_mutex_init(&self->grid.lock, NULL);
    pthread_cond_init(&self->grid.changed, NULL);
    return self;
}

void simulator_close(struct simulator *self)
{
    if (!self)
        return;
    for (unsigned m = 0; m < self->grid.cores; m++)
        for (unsigned k = 0; k < SIMULATOR_CLUSTER_MAX; k++)
            multiprocessor_release(&self->cores[m].blocks[k]);
    pthread_mutex_destroy(&self->grid.lock);
    pthread_cond_destroy(&self->grid.changed);
    free(self->cores);
    free(self);
}
