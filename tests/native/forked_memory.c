/* Forks repeatedly. In each child, threads use the simulated memory's lock for the first time, all
 * simultaneously. A test compiles this with csrc/simulated/memory.c. */
#define _GNU_SOURCE

#include "simulated/memory.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/wait.h>
#include <unistd.h>

enum { THREADS = 4, BLOCKS = 20000, BLOCK_BYTES = 64, PATIENCE_SECONDS = 300 };

static struct simulated_memory memory;
static struct simulated_allocation *blocks[BLOCKS];
static uintptr_t addresses[THREADS];
static atomic_uint ready;
static atomic_bool over;

/* The oldest blocks are last in the list, so all threads walk it to its end. */
static void *release_one(void *block)
{
    ready++;
    while (ready < THREADS)
        sched_yield();
    simulated_allocation_release(block);
    return NULL;
}

/* Exits with status 1 if the list still has a removed block. */
static void be_a_child(void)
{
    pthread_t threads[THREADS];
    alarm(PATIENCE_SECONDS);
    for (int t = 0; t < THREADS; t++)
        addresses[t] = (uintptr_t)blocks[t]->bytes;
    for (int t = 0; t < THREADS; t++)
        pthread_create(&threads[t], NULL, release_one, blocks[t]);
    for (int t = 0; t < THREADS; t++)
        pthread_join(threads[t], NULL);
    for (int t = 0; t < THREADS; t++)
        if (simulated_allocation_find(&memory, addresses[t], BLOCK_BYTES))
            _exit(1);
    _exit(0);
}

/* Holds the lock most of the time. */
static void *search(void *nothing)
{
    while (!over)
        simulated_allocation_find(&memory, 1, 1);
    return nothing;
}

/* Returns 1 if a child failed or hung, which ends the loop, and otherwise 0. */
int fork_children(int children)
{
    int lost = 0;
    pthread_t searching;
    for (int k = 0; k < BLOCKS; k++)
        blocks[k] = simulated_allocation_new(&memory, BLOCK_BYTES);
    pthread_create(&searching, NULL, search, NULL);
    for (int c = 0; c < children && !lost; c++) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0)
            be_a_child();
        waitpid(child, &status, 0);
        lost += status != 0;
    }
    over = true;
    pthread_join(searching, NULL);
    for (int k = 0; k < BLOCKS; k++)
        simulated_allocation_release(blocks[BLOCKS - 1 - k]);
    return lost;
}
