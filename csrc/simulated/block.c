/* Runs a block: sweeps over its threads, and between sweeps releases threads whose barriers are
 * complete. A deadlock ends the run. */
#define _GNU_SOURCE

#include "simulated/block.h"

#include "simulated/checker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- threads ---- */

static bool is_on_callers_thread(const struct multiprocessor *self)
{
    return self->number == 0 || self->launch->cooperative;
}

/* The next thread of this sweep that can run; NULL at the sweep's end, and when interrupts should
 * be checked. Bulk copies may take any time: they complete immediately if threads run forwards, as
 * late as possible if backwards, and at random if shuffled. Results then reveal missing waits. */
static struct thread *next_ready(struct multiprocessor *self)
{
    enum { POLL_SWITCHES = 8, COPY_SWITCHES = 16 };
    struct sweep *sweep = &self->sweep;
    if (self->copies.count && self->launch->order == ORDER_SHUFFLED &&
        random_next(&self->copies.random) % COPY_SWITCHES == 0)
        bulk_copies_complete_one(&self->copies);
    if (is_on_callers_thread(self) && ++sweep->switches % POLL_SWITCHES == 0)
        return NULL;
    while (sweep->next < self->launch->block && self->in_state[READY]) {
        struct thread *thread = &self->threads[sweep->order[sweep->next++]];
        if (thread->state == READY && thread->place.thread.x / SIMULATOR_WARP != sweep->last_warp)
            return thread;
    }
    return NULL;
}

void thread_wait_at(enum thread_state barrier)
{
    struct thread *self = thread_running();
    struct multiprocessor *sm = self->sm;
    sm->in_state[READY]--;
    sm->in_state[barrier]++;
    self->state = barrier;
    struct thread *next = next_ready(sm);
    fiber_switch(&self->fiber, next ? &next->fiber : &sm->scheduler);
}

/* Runs every ready thread, except those of the last warp, to its next barrier. They switch to each
 * other; the last one switches back. */
static void sweep(struct multiprocessor *self)
{
    if (self->launch->order == ORDER_SHUFFLED)
        random_shuffle(self->sweep.order, self->launch->block, &self->sweep.random);
    self->sweep.next = 0;
    while (self->sweep.next < self->launch->block && self->in_state[READY] &&
           !grid_stopped(self->grid)) {
        struct thread *first = next_ready(self);
        if (first)
            fiber_switch(&self->scheduler, &first->fiber);
        if (is_on_callers_thread(self))
            grid_check_interrupt(self->grid);
    }
}

/* A fiber lives as long as its simulator and runs the kernels of one block after the other. */
static void thread_body(void *opaque)
{
    struct thread *self = opaque;
    for (;;) {
        const struct simulator_launch *launch = self->sm->launch;
        launch->kernel(launch->arguments);
        thread_wait_at(ENDED);
    }
}

/* Creates fibers for the first `block` threads that have none. Guards that split the mapping are
 * divided among a simulator's cores; there may be several simulators. False if out of memory. */
static bool make_threads(struct multiprocessor *self, unsigned block)
{
    enum { SPLITS_MAX = 1024 };
    const unsigned splits = self == self->cluster ? SPLITS_MAX / self->grid->cores : 0;
    if (!self->stacks.memory && !stacks_open(&self->stacks, SIMULATOR_BLOCK_MAX, splits))
        return false;
    if (!self->threads && !(self->threads = calloc(SIMULATOR_BLOCK_MAX, sizeof *self->threads)))
        return false;
    for (; self->created < block; self->created++) {
        struct thread *thread = &self->threads[self->created];
        thread->sm = self;
        fiber_create(&thread->fiber, &self->scheduler, &self->stacks, self->created, thread_body);
    }
    return true;
}

bool multiprocessor_prepare(struct multiprocessor *self)
{
    const struct simulator_launch *launch = self->launch = self->grid->launch;
    free(self->shared);
    self->shared = malloc(launch->shared_bytes + 1);
    if (launch->counts && !self->counter)
        self->counter = counter_open();
    return self->shared && (self->counter || !launch->counts) && make_threads(self, launch->block);
}

void multiprocessor_release(struct multiprocessor *self)
{
    stacks_close(&self->stacks);
    counter_close(self->counter);
    free(self->threads);
    free(self->shared);
}

/* ---- starting a block ---- */

/* Warps are not in lockstep with each other: if threads are shuffled, one of them lags behind. */
static void choose_last_warp(struct multiprocessor *self)
{
    const unsigned warps = self->launch->block / SIMULATOR_WARP;
    self->sweep.last_warp = self->launch->order == ORDER_SHUFFLED && warps > 1
                                ? (unsigned)(random_next(&self->sweep.random) % warps)
                                : NO_WARP;
}

void block_begin(struct multiprocessor *self, uint64_t index)
{
    enum { GARBAGE = 0xa5 };
    const struct simulator_launch *launch = self->launch;
    self->sweep.random = launch->seed ^ (index * 0x9e3779b97f4a7c15);
    memset(self->shared, GARBAGE, launch->shared_bytes);
    memset(self->warps, 0, sizeof *self->warps * (launch->block / SIMULATOR_WARP));
    memset(self->in_state, 0, sizeof self->in_state);
    self->in_state[READY] = launch->block;
    self->voted = false;
    self->copies.count = 0;
    self->copies.random = self->sweep.random;
    choose_last_warp(self);
    if (launch->checker)
        checker_begin_block(launch->checker, self->number, (unsigned)index, self->shared);
    for (unsigned t = 0; t < launch->block; t++) {
        struct thread *thread = &self->threads[t];
        thread->state = READY;
        thread->source = thread->interval = 0;
        thread->place = (struct simulator_place){.thread = {.x = t},
                                                 .block = {.x = (unsigned)index},
                                                 .block_size = {launch->block, 1, 1},
                                                 .grid_size = {(unsigned)launch->grid, 1, 1},
                                                 .cluster_rank = (unsigned)index % launch->cluster,
                                                 .cluster_size = launch->cluster};
        self->sweep.order[t] = launch->order == ORDER_BACKWARDS ? launch->block - 1 - t : t;
    }
}

/* ---- divergence ---- */

static const char *const barrier_names[THREAD_STATES] = {
    [AT_BLOCK_BARRIER] = "__syncthreads()",       [AT_WARP_BARRIER] = "__syncwarp() or a shuffle",
    [AT_MBARRIER] = "a barrier in shared memory", [AT_CLUSTER_BARRIER] = "the cluster's barrier",
    [AT_GRID_BARRIER] = "the grid's barrier",
};

static unsigned first_in(const struct multiprocessor *self, enum thread_state state)
{
    unsigned t = 0;
    while (t < self->launch->block && self->threads[t].state != state)
        t++;
    return t;
}

/* Describes the threads that do not wait at `barrier`. */
static void describe_others(const struct multiprocessor *self, enum thread_state barrier,
                            char *text, size_t bytes)
{
    for (enum thread_state s = barrier + 1; s < ENDED; s++)
        if (self->in_state[s]) {
            snprintf(text, bytes, "thread %u waits at %s", first_in(self, s), barrier_names[s]);
            return;
        }
    if (self->in_state[ENDED])
        snprintf(text, bytes, "%u have ended, thread %u among them", self->in_state[ENDED],
                 first_in(self, ENDED));
    else
        snprintf(text, bytes, "%s",
                 barrier == AT_GRID_BARRIER ? "the launch is not cooperative"
                 : barrier == AT_MBARRIER   ? "no pending copy will deliver its bytes"
                                            : "the masks do not match");
}

/* Reports a barrier that some threads will never reach. */
static void report_divergence(struct multiprocessor *self)
{
    enum thread_state barrier = AT_BLOCK_BARRIER;
    while (!self->in_state[barrier])
        barrier++;
    char others[96], text[256];
    describe_others(self, barrier, others, sizeof others);
    const unsigned first = first_in(self, barrier);
    snprintf(text, sizeof text,
             "%u of the %u threads of block %u wait at %s, thread %u among them, which not all "
             "will reach: %s",
             self->in_state[barrier], self->launch->block, self->threads[first].place.block.x,
             barrier_names[barrier], first, others);
    if (self->launch->checker)
        checker_report(self->launch->checker, self->number, first, text);
    grid_stop(self->grid, FAILURE_RUNTIME, text);
}

/* ---- barriers ---- */

/* Accesses before and after a barrier of the warp are counted separately. */
static void flush_warp_counts(struct multiprocessor *self, unsigned warp)
{
    if (self->launch->counts)
        counter_pass_barrier(self->counter, warp);
}

static void flush_counts(struct multiprocessor *self)
{
    for (unsigned w = 0; w < self->launch->block / SIMULATOR_WARP; w++)
        flush_warp_counts(self, w);
}

static void release(struct multiprocessor *self, struct thread *thread)
{
    self->in_state[thread->state]--;
    self->in_state[READY]++;
    thread->state = READY;
}

/* Releases the warp barriers that all lanes of their mask have reached. Shuffled words are
 * exchanged here, before any lane can reach its next shuffle. */
static bool release_warps(struct multiprocessor *self)
{
    struct checker *checker = self->launch->checker;
    bool any = false;
    for (unsigned w = 0; w < self->launch->block / SIMULATOR_WARP; w++) {
        const unsigned waiting = self->warps[w].waiting;
        for (unsigned left = waiting; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left), tid = w * SIMULATOR_WARP + lane;
            struct thread *thread = &self->threads[tid];
            if ((waiting & thread->mask) != thread->mask)
                continue;
            self->warps[w].waiting &= ~(1u << lane);
            thread->received = self->warps[w].words[thread->source];
            if (checker)
                checker_pass_warp_barrier(checker, self->number, tid, thread->mask);
            release(self, thread);
            any = true;
        }
        if (waiting == UINT32_MAX && self->warps[w].waiting == 0)
            flush_warp_counts(self, w);
    }
    return any;
}

/* All threads of the block that have not ended are in this state. */
static void release_at(struct multiprocessor *self, enum thread_state state)
{
    flush_counts(self);
    for (unsigned t = 0; t < self->launch->block; t++)
        if (self->threads[t].state == state)
            release(self, &self->threads[t]);
}

/* Releases threads whose phase has ended. If no thread can run, pending copies are completed. */
static bool release_mbarriers(struct multiprocessor *self)
{
    const unsigned before = self->in_state[READY];
    do
        for (unsigned t = 0; t < self->launch->block; t++) {
            struct thread *thread = &self->threads[t];
            if (thread->state == AT_MBARRIER && thread->mbarrier->parity != thread->parity)
                release(self, thread);
        }
    while (self->in_state[READY] == before && bulk_copies_complete_one(&self->copies));
    return self->in_state[READY] > before;
}

static bool release_block_barrier(struct multiprocessor *self)
{
    struct checker *checker = self->launch->checker;
    self->vote_result = self->voted;
    self->voted = false;
    if (checker && !checker_pass_block_barrier(checker, self->number)) {
        grid_stop(self->grid, FAILURE_RUNTIME, "a word used as a barrier is not a barrier");
        return false;
    }
    release_at(self, AT_BLOCK_BARRIER);
    choose_last_warp(self);
    return true;
}

/* Called when no thread is ready except the last warp's: releases a complete barrier, or that warp.
 * False when the block has ended, has failed or must wait for other blocks. */
static bool release_barrier(struct multiprocessor *self)
{
    const unsigned block = self->launch->block, *in = self->in_state;
    if (in[AT_WARP_BARRIER] && release_warps(self))
        return true;
    if (in[READY]) {
        self->sweep.last_warp = NO_WARP;
        return true;
    }
    if (in[AT_MBARRIER] && release_mbarriers(self))
        return true;
    if (in[AT_BLOCK_BARRIER] == block)
        return release_block_barrier(self);
    if (in[AT_GRID_BARRIER] == block && self->launch->cooperative)
        return false;
    if (in[ENDED] == block) {
        if (self->copies.count) /* another block will reuse the shared memory */
            grid_stop(self->grid, FAILURE_RUNTIME,
                      "a block has ended before a bulk copy to its shared memory");
        flush_counts(self);
    } else if (!in[AT_CLUSTER_BARRIER] || in[AT_CLUSTER_BARRIER] + in[ENDED] != block) {
        report_divergence(self);
    }
    return false;
}

bool block_run(struct multiprocessor *self)
{
    if (self->in_state[AT_CLUSTER_BARRIER])
        release_at(self, AT_CLUSTER_BARRIER);
    if (self->in_state[AT_GRID_BARRIER]) {
        if (self->launch->checker)
            checker_pass_grid_barrier(self->launch->checker, self->number);
        release_at(self, AT_GRID_BARRIER);
    }
    do
        sweep(self);
    while (!grid_stopped(self->grid) && release_barrier(self));
    return self->in_state[AT_CLUSTER_BARRIER] || self->in_state[AT_GRID_BARRIER];
}
