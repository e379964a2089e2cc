#define _GNU_SOURCE

#include "simulated/simulator.h"

#include "common/processor.h"
#include "simulated/multiprocessor.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { WATCH_MILLISECONDS = 50 };

struct simulator {
    enum thread_order order;
    uint64_t seed;
    const struct simulator_watch *watch;
    struct timespec looked;

    struct multiprocessor *multiprocessors;
    unsigned count, running; /* multiprocessors, and those of them that have a core */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    const struct simulator_launch *launch;
    uint64_t generation;                   /* of the launch */
    unsigned busy;                         /* cores still at work on it */
    unsigned at_grid_barrier, past_kernel; /* blocks of a cooperative launch */
    uint64_t grid_barriers;
    bool closing;

    atomic_uint_fast64_t next_block;
    atomic_bool stop;
    enum simulator_status status;
    char message[256];
};

/* ---- the order of blocks ---- */

uint64_t simulator_random(uint64_t *state)
{
    uint64_t z = *state += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    return b ? greatest_common_divisor(b, a % b) : a;
}

/* The block that runs as the i-th. Shuffled: i -> a i + b modulo the grid, a one-to-one map when a
 * has no factor in common with the grid. Grids are below 2^31, so nothing overflows. */
static uint64_t block_in_order(const struct simulator *self, uint64_t i, uint64_t grid)
{
    if (self->order == ORDER_FORWARDS)
        return i;
    if (self->order == ORDER_BACKWARDS)
        return grid - 1 - i;
    uint64_t state = self->seed;
    const uint64_t b = simulator_random(&state) % grid;
    uint64_t a;
    do {
        a = simulator_random(&state) % grid;
    } while (grid > 1 && greatest_common_divisor(a, grid) != 1);
    return (a * i + b) % grid;
}

/* ---- ends of a run ---- */

void simulator_stop(struct simulator *self, enum simulator_status status, const char *message)
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

bool simulator_stopped(struct simulator *self)
{
    return atomic_load_explicit(&self->stop, memory_order_relaxed);
}

static long milliseconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

void simulator_look_at_watch(struct simulator *self)
{
    const struct simulator_watch *watch = self->watch;
    if (!watch || simulator_stopped(self) || milliseconds_since(&self->looked) < WATCH_MILLISECONDS)
        return;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
    if (watch->interrupted(watch->context))
        simulator_stop(self, SIMULATOR_INTERRUPTED, "interrupted");
}

bool simulator_meet_grid(struct simulator *self)
{
    pthread_mutex_lock(&self->lock);
    const uint64_t barrier = self->grid_barriers;
    if (++self->at_grid_barrier == self->launch->grid) {
        self->at_grid_barrier = 0;
        self->grid_barriers++;
        pthread_cond_broadcast(&self->changed);
    }
    while (self->grid_barriers == barrier && !self->past_kernel && !simulator_stopped(self))
        pthread_cond_wait(&self->changed, &self->lock);
    const bool met = self->grid_barriers != barrier;
    pthread_mutex_unlock(&self->lock);
    return met;
}

/* ---- cores ---- */

/* A cooperative block is past its kernel: whoever still waits for it at the grid's barrier waits in
 * vain. */
static void leave_kernel(struct simulator *self)
{
    pthread_mutex_lock(&self->lock);
    self->past_kernel++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}

/* One core's part of a launch: blocks, one after the other, until none is left. Of a cooperative
 * launch every core takes at most one, so that all run at once. */
static void run_blocks(struct multiprocessor *core, const struct simulator_launch *launch)
{
    struct simulator *self = core->simulator;
    if (!multiprocessor_prepare(core, launch, self->order)) {
        simulator_stop(self, SIMULATOR_FAILED, "out of memory for the threads of a block");
        return;
    }
    while (!simulator_stopped(self)) {
        const uint64_t i = atomic_fetch_add(&self->next_block, 1);
        if (i >= launch->grid)
            return;
        multiprocessor_run_block(core, block_in_order(self, i, launch->grid), self->seed);
        if (launch->cooperative) {
            leave_kernel(self);
            return;
        }
    }
}

static void *core_body(void *argument)
{
    struct multiprocessor *core = argument;
    struct simulator *self = core->simulator;
    uint64_t seen = 0;
    pthread_mutex_lock(&self->lock);
    for (;;) {
        while (!self->closing && self->generation == seen)
            pthread_cond_wait(&self->changed, &self->lock);
        if (self->closing)
            break;
        seen = self->generation;
        pthread_mutex_unlock(&self->lock);
        run_blocks(core, self->launch);
        pthread_mutex_lock(&self->lock);
        self->busy--;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    return NULL;
}

/* Gives every multiprocessor but the caller's a thread of the operating system, once. */
static void start_cores(struct simulator *self)
{
    if (self->running)
        return;
    self->running = 1;
    while (self->running < self->count) {
        struct multiprocessor *next = &self->multiprocessors[self->running];
        if (pthread_create(&next->core, NULL, core_body, next))
            return;
        self->running++;
    }
}

static void wait_for_cores(struct simulator *self)
{
    pthread_mutex_lock(&self->lock);
    while (self->busy) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MILLISECONDS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&self->changed, &self->lock, &until);
        pthread_mutex_unlock(&self->lock);
        simulator_look_at_watch(self);
        pthread_mutex_lock(&self->lock);
    }
    pthread_mutex_unlock(&self->lock);
}

enum simulator_status simulator_launch(struct simulator *self,
                                       const struct simulator_launch *launch)
{
    if (self->status != SIMULATOR_DONE)
        return self->status;
    if (launch->grid > 1)
        start_cores(self);
    if (launch->cooperative && launch->grid > 1 && launch->grid > self->running) {
        simulator_stop(self, SIMULATOR_FAILED,
                       "a cooperative launch of more blocks than can run at once");
        return self->status;
    }
    pthread_mutex_lock(&self->lock);
    self->launch = launch;
    self->at_grid_barrier = self->past_kernel = 0;
    atomic_store(&self->next_block, 0);
    if (launch->grid > 1) {
        self->busy = self->running - 1;
        self->generation++;
        pthread_cond_broadcast(&self->changed);
    }
    pthread_mutex_unlock(&self->lock);
    run_blocks(&self->multiprocessors[0], launch);
    wait_for_cores(self);
    return self->status;
}

/* ---- opening and closing ---- */

unsigned simulator_multiprocessors(const struct simulator *self)
{
    return self->count;
}

struct simulator *simulator_open(void)
{
    struct simulator *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    self->count = processor_cores();
    self->multiprocessors = calloc(self->count, sizeof *self->multiprocessors);
    if (!self->multiprocessors) {
        free(self);
        return NULL;
    }
    for (unsigned m = 0; m < self->count; m++) {
        self->multiprocessors[m].simulator = self;
        self->multiprocessors[m].number = m;
    }
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
    return self;
}

void simulator_set(struct simulator *self, enum thread_order order, uint64_t seed,
                   const struct simulator_watch *watch)
{
    self->order = order;
    self->seed = seed;
    self->watch = watch;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
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
        pthread_join(self->multiprocessors[m].core, NULL);
    for (unsigned m = 0; m < self->count; m++)
        multiprocessor_release(&self->multiprocessors[m]);
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
    free(self->multiprocessors);
    free(self);
}

const char *simulator_message(const struct simulator *self)
{
    return self->message;
}
