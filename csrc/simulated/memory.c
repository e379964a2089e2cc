#define _GNU_SOURCE

#include "simulated/memory.h"

#include "common/processor.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>

struct simulated_memory {
    pthread_mutex_t lock;
    _Atomic pid_t maker;                 /* of the lock; -pid: that process is making it again */
    struct simulated_allocation *blocks; /* looked at without the lock, too */
};

struct simulated_memory *simulated_memory_create(void)
{
    struct simulated_memory *self = calloc(1, sizeof *self);
    if (self) {
        pthread_mutex_init(&self->lock, NULL);
        self->maker = process_here();
    }
    return self;
}

/* A thread that held the lock when the process was forked is not there in the child to open it. So
 * the first of the child's threads that wants the lock makes it again, and the others wait until it
 * has: two locks in turn would let two threads in. The list is whole at every step. */
static void renew_lock(struct simulated_memory *self, pid_t here)
{
    pid_t maker = self->maker;
    while (maker != here)
        if (maker == -here) {
            sched_yield();
            maker = self->maker;
        } else if (atomic_compare_exchange_weak(&self->maker, &maker, -here)) {
            pthread_mutex_init(&self->lock, NULL);
            self->maker = maker = here;
        }
}

static void lock(struct simulated_memory *self)
{
    const pid_t here = process_here();
    if (self->maker != here)
        renew_lock(self, here);
    pthread_mutex_lock(&self->lock);
}

void simulated_memory_destroy(struct simulated_memory *self)
{
    pthread_mutex_destroy(&self->lock);
    free(self);
}

struct simulated_allocation *simulated_allocation_new(struct simulated_memory *memory, size_t bytes)
{
    enum { ALIGNMENT = 256 };
    struct simulated_allocation *self = calloc(1, sizeof *self);
    if (!self || posix_memalign(&self->bytes, ALIGNMENT, bytes ? bytes : 1) != 0) {
        free(self);
        return NULL;
    }
    self->memory = memory;
    self->length = bytes;
    self->holders = 1;
    lock(memory);
    self->next = memory->blocks;
    __atomic_store_n(&memory->blocks, self, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&memory->lock);
    return self;
}

void simulated_allocation_release(void *opaque)
{
    struct simulated_allocation *self = opaque;
    struct simulated_memory *memory = self->memory;
    lock(memory);
    const bool last = --self->holders == 0;
    struct simulated_allocation **link = &memory->blocks;
    while (last && *link != self)
        link = &(*link)->next;
    if (last)
        __atomic_store_n(link, self->next, __ATOMIC_RELAXED);
    pthread_mutex_unlock(&memory->lock);
    if (last) {
        free(self->bytes);
        free(self);
    }
}

struct simulated_allocation *simulated_allocation_find(struct simulated_memory *memory,
                                                       uintptr_t first, uint64_t bytes)
{
    /* As for most users, who shall not wait for each other. */
    if (!__atomic_load_n(&memory->blocks, __ATOMIC_RELAXED))
        return NULL;
    lock(memory);
    struct simulated_allocation *block = memory->blocks;
    while (block &&
           (first < (uintptr_t)block->bytes || first - (uintptr_t)block->bytes > block->length ||
            bytes > block->length - (first - (uintptr_t)block->bytes)))
        block = block->next;
    if (block)
        block->holders++;
    pthread_mutex_unlock(&memory->lock);
    return block;
}
