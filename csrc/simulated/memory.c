#define _GNU_SOURCE

#include "simulated/memory.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* For all lists. Held during fork, so that lists are consistent in the child, the lock free. */
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void lock(void)
{
    pthread_mutex_lock(&mutex);
}

static void unlock(void)
{
    pthread_mutex_unlock(&mutex);
}

__attribute__((constructor)) static void register_fork_handlers(void)
{
    pthread_atfork(lock, unlock, unlock);
}

void *simulated_malloc(size_t bytes)
{
    enum { ALIGNMENT = 256, GARBAGE = 0xa5 };
    void *memory;
    return posix_memalign(&memory, ALIGNMENT, bytes ? bytes : 1) == 0
               ? memset(memory, GARBAGE, bytes)
               : NULL;
}

struct simulated_allocation *simulated_allocation_new(struct simulated_memory *memory, size_t bytes)
{
    struct simulated_allocation *self = calloc(1, sizeof *self);
    if (!self || !(self->bytes = simulated_malloc(bytes))) {
        free(self);
        return NULL;
    }
    self->memory = memory;
    self->length = bytes;
    self->refcount = 1;
    lock();
    self->next = memory->blocks;
    memory->blocks = self;
    unlock();
    return self;
}

void simulated_allocation_release(void *opaque)
{
    struct simulated_allocation *self = opaque;
    lock();
    const bool last = --self->refcount == 0;
    struct simulated_allocation **link = &self->memory->blocks;
    while (last && *link != self)
        link = &(*link)->next;
    if (last)
        *link = self->next;
    unlock();
    if (last) {
        free(self->bytes);
        free(self);
    }
}

struct simulated_allocation *simulated_allocation_find(struct simulated_memory *memory,
                                                       uintptr_t first, uint64_t bytes)
{
    lock();
    struct simulated_allocation *block = memory->blocks;
    while (block &&
           (first < (uintptr_t)block->bytes || first - (uintptr_t)block->bytes > block->length ||
            bytes > block->length - (first - (uintptr_t)block->bytes)))
        block = block->next;
    if (block)
        block->refcount++;
    unlock();
    return block;
}
