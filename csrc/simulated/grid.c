#define _GNU_SOURCE

#include "simulated/grid.h"

#include <stdio.h>

enum { WATCH_MILLISECONDS = 50 };

void grid_open(struct grid *self, unsigned cores)
{
    self->cores = cores;
    pthread_mutex_init(&self->lock, NULL);
    pthread_cond_init(&self->changed, NULL);
}

void grid_close(struct grid *self)
{
    pthread_mutex_destroy(&self->lock);
    pthread_cond_destroy(&self->changed);
}

void grid_begin(struct grid *self, uint64_t blocks)
{
    pthread_mutex_lock(&self->lock);
    self->blocks = blocks;
    self->at_barrier = self->past_kernel = 0;
    pthread_mutex_unlock(&self->lock);
}

/* ---- the end of a run ---- */

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

void grid_watch(struct grid *self, const struct simulator_watch *watch)
{
    self->watch = watch;
    clock_gettime(CLOCK_MONOTONIC, &self->looked);
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

/* ---- the barrier ---- */

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

void grid_leave(struct grid *self)
{
    pthread_mutex_lock(&self->lock);
    self->past_kernel++;
    pthread_cond_broadcast(&self->changed);
    pthread_mutex_unlock(&self->lock);
}
