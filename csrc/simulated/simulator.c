#define _GNU_SOURCE

#include "simulated/block.h"

#include "run/backend.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- the grid ---- */

void grid_stop(struct grid *self, enum failure_kind kind, const char *text)
{
    pthread_mutex_lock(&self->lock);
    failure_record(&self->failure, kind, "%s", text);
    atomic_store(&self->stop, true);
    pthread_mutex_unlock(&self->lock);
}

bool grid_stopped(struct grid *self)
{
    return atomic_load_explicit(&self->stop, memory_order_relaxed);
}

void grid_check_interrupt(struct grid *self)
{
    struct run *run = self->launch->run;
    if (run && !grid_stopped(self) && run_check_interrupt(run))
        grid_stop(self, FAILURE_EXCEPTION, "interrupted");
}

/* ---- the simulator ---- */

/* A multiprocessor and its OS thread. It runs one cluster at a time, whose blocks take turns
 * between the cluster's barriers. A block without a cluster is a cluster of one. The blocks of a
 * cooperative launch take turns between the grid's barriers, on the caller's thread. */
struct core {
    struct multiprocessor blocks[SIMULATOR_CLUSTER_MAX];
    struct simulator *simulator;
    pthread_t thread; /* of a launch; the first core uses the caller's thread */
};

struct simulator {
    struct core *cores; /* grid.cores of them */
    struct grid grid;
    atomic_uint_fast64_t next_cluster;
};

/* ---- order ---- */

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* Which of n runs as the i-th. Shuffled: i -> a i + b modulo n, which is one-to-one if a and n are
 * coprime. Grids are below 2^31, so nothing overflows. */
static uint64_t in_order(enum thread_order order, uint64_t seed, uint64_t i, uint64_t n)
{
    if (order == ORDER_FORWARDS)
        return i;
    if (order == ORDER_BACKWARDS)
        return n - 1 - i;
    const uint64_t b = random_next(&seed) % n;
    uint64_t a;
    do {
        a = random_next(&seed) % n;
    } while (n > 1 && greatest_common_divisor(a, n) != 1);
    return (a * i + b) % n;
}

/* ---- cores ---- */

/* Block `rank` of a cluster or, in a cooperative launch, of the grid. */
static struct multiprocessor *block_at(struct core *self, uint64_t rank)
{
    struct simulator *simulator = self->simulator;
    return simulator->grid.launch->cooperative ? simulator->cores[rank].blocks
                                               : &self->blocks[rank];
}

/* Blocks take turns as long as some are at a barrier. A block begins at its first turn, which
 * overwrites what other blocks stored in its shared memory, as may happen on a GPU. */
static void run_cluster(struct core *self, uint64_t index, uint64_t size)
{
    struct grid *grid = &self->simulator->grid;
    const struct simulator_launch *launch = grid->launch;
    uint64_t random = launch->seed ^ index;
    bool begin = true, again = true;
    for (; again && !grid_stopped(grid); begin = false) {
        const uint64_t seed = random_next(&random);
        bool ended = again = false;
        for (uint64_t k = 0; k < size && !grid_stopped(grid); k++) {
            const uint64_t rank = in_order(launch->order, seed, k, size);
            struct multiprocessor *block = block_at(self, rank);
            if (begin)
                block_begin(block, index * size + rank);
            const bool waits = block_run(block);
            again |= waits;
            ended |= !waits;
        }
        if (launch->cooperative && again && ended)
            grid_stop(grid, FAILURE_RUNTIME,
                      "some blocks wait at the grid's barrier that others never reach");
    }
}

/* A core's share of a launch: one cluster after the other until none is left. */
static void *run_clusters(void *argument)
{
    struct core *self = argument;
    struct simulator *simulator = self->simulator;
    struct grid *grid = &simulator->grid;
    const struct simulator_launch *launch = grid->launch;
    const uint64_t size = launch->cooperative ? launch->grid : launch->cluster,
                   clusters = launch->grid / size;
    for (uint64_t k = 0; k < size && !grid_stopped(grid); k++)
        if (!multiprocessor_prepare(block_at(self, k)))
            grid_stop(grid, FAILURE_RUNTIME, "out of memory for the threads of a block");
    while (!grid_stopped(grid)) {
        const uint64_t i = atomic_fetch_add(&simulator->next_cluster, 1);
        if (i >= clusters)
            break;
        run_cluster(self, in_order(launch->order, launch->seed, i, clusters), size);
    }
    return NULL;
}

/* The run can be interrupted. */
static void wait_for_core(struct grid *grid, pthread_t core)
{
    enum { SECOND = 1000000000, POLL = SECOND / 20 };
    struct timespec until;
    int joined = ETIMEDOUT;
    while (joined == ETIMEDOUT) {
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += POLL;
        until.tv_sec += until.tv_nsec / SECOND;
        until.tv_nsec %= SECOND;
        joined = pthread_timedjoin_np(core, NULL, &until);
        grid_check_interrupt(grid);
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
               parallel = !recorded && !launch->cooperative;
    unsigned cores = 1;
    grid->launch = launch;
    atomic_store(&self->next_cluster, 0);
    while (parallel && cores < grid->cores && cores < launch->grid &&
           !pthread_create(&self->cores[cores].thread, NULL, run_clusters, &self->cores[cores]))
        cores++;
    if (launch->cooperative && launch->grid > grid->cores)
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
    free(self->cores);
    free(self);
}
