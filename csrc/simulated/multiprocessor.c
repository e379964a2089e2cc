#define _GNU_SOURCE

#include "simulated/multiprocessor.h"

#include "simulated/random.h"

#include <stdlib.h>

/* The caller's core looks at the clock once in so many switches. */
enum { SWITCHES_A_LOOK = 8 };

/* A bulk copy takes as long as it takes: none if threads run forwards, until nobody can go on
 * without it if they run backwards, and anything else if they are shuffled. An answer that depends
 * on it betrays a wait that is missing. */
static void end_copy_now_or_then(struct multiprocessor *self)
{
    enum { SWITCHES_A_COPY = 16 };
    if (self->copies.count && self->ordering == ORDER_SHUFFLED &&
        random_next(&self->copies.random) % SWITCHES_A_COPY == 0)
        bulk_copies_end_any(&self->copies);
}

/* The next thread of this sweep that can run; NULL at the sweep's end, and when it is time to look
 * at the watch. */
static struct thread *next_ready(struct multiprocessor *self)
{
    end_copy_now_or_then(self);
    if (self->number == 0 && ++self->switches % SWITCHES_A_LOOK == 0)
        return NULL;
    while (self->next < self->launch->block && self->at[READY]) {
        struct thread *thread = &self->threads[self->order[self->next++]];
        if (thread->state == READY && thread->place.thread.x / SIMULATOR_WARP != self->last_warp)
            return thread;
    }
    return NULL;
}

void multiprocessor_wait_at(enum thread_state barrier)
{
    struct thread *self = thread_running();
    struct multiprocessor *home = self->home;
    home->at[READY]--;
    home->at[barrier]++;
    self->state = barrier;
    struct thread *next = next_ready(home);
    fiber_switch(&self->fiber, next ? &next->fiber : &home->scheduler);
}

void multiprocessor_sweep(struct multiprocessor *self)
{
    if (self->ordering == ORDER_SHUFFLED)
        random_shuffle(self->order, self->launch->block, &self->random);
    self->next = 0;
    while (self->next < self->launch->block && self->at[READY] && !grid_stopped(self->grid)) {
        struct thread *first = next_ready(self);
        if (first)
            fiber_switch(&self->scheduler, &first->fiber);
        if (self->number == 0)
            grid_look_at_watch(self->grid);
    }
}

/* A fiber lives as long as its simulator and runs one block's kernel after the other. */
static void thread_body(void *argument)
{
    struct thread *self = argument;
    for (;;) {
        const struct simulator_launch *launch = self->home->launch;
        launch->kernel(launch->arguments);
        multiprocessor_wait_at(ENDED);
    }
}

/* Gives the first `block` threads a fiber each, where they have none yet. False when memory is
 * short. */
static bool make_threads(struct multiprocessor *self, unsigned block)
{
    const unsigned sharers = self == self->cluster ? self->grid->cores : 0;
    if (!self->stacks.memory && !stacks_open(&self->stacks, SIMULATOR_BLOCK_MAX, sharers))
        return false;
    if (!self->threads && !(self->threads = calloc(SIMULATOR_BLOCK_MAX, sizeof *self->threads)))
        return false;
    for (; self->made < block; self->made++) {
        struct thread *thread = &self->threads[self->made];
        const struct stack stack = stacks_take(&self->stacks, self->made);
        thread->home = self;
        thread->place.thread.x = self->made;
        *stack_owner((uintptr_t)stack.memory) = thread;
        fiber_make(&thread->fiber, &self->scheduler, stack.memory, stack.bytes, thread_body,
                   thread);
    }
    return true;
}

/* False when memory is short. */
static bool prepare_to_count(struct multiprocessor *self, const struct counted_launch *counts)
{
    recorder_close(self->recorder);
    self->recorder = counts && counts->room ? recorder_open(counts->room) : NULL;
    if (counts && !self->counter)
        self->counter = counter_open();
    return !counts || (self->counter && (self->recorder || !counts->room));
}

bool multiprocessor_prepare(struct multiprocessor *self, const struct simulator_launch *launch,
                            enum thread_order ordering)
{
    free(self->shared);
    self->shared = malloc(launch->shared_bytes + 1);
    self->launch = launch;
    self->ordering = ordering;
    return self->shared && prepare_to_count(self, launch->counts) &&
           make_threads(self, launch->block);
}

void multiprocessor_release(struct multiprocessor *self)
{
    stacks_close(&self->stacks);
    counter_close(self->counter);
    recorder_close(self->recorder);
    free(self->threads);
    free(self->shared);
}

/* The recorder is of this launch alone, and has room for no more. */
bool multiprocessor_take_counts(struct multiprocessor *self, struct counted_launch *counts)
{
    return (!self->counter || counter_take(self->counter, counts)) &&
           (!self->recorder || recorder_take(self->recorder, &counts->recording));
}
