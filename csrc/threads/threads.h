/* A thread pool. The caller participates, so jobs finish even if no thread can be started; results
 * do not depend on which thread executes which piece.
 *
 * Threads start with the first job that has work for them: at most as many as the process's cores
 * (affinity, cgroup quota), OMP_NUM_THREADS and a bound allow. After a job they spin briefly for
 * the next one, then sleep. They block all signals and have stacks of fixed size. A forked child
 * starts its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Spin-wait hint, which yields to the core's other hardware thread. */
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* Executes piece `index`. `thread` is unique among the job's threads and below threads_for. */
typedef void threads_piece(void *context, uint64_t index, unsigned thread);

struct threads;

/* NULL if out of memory. Starts no threads. */
struct threads *threads_create(void);

/* Ends the threads; no job may be in progress. */
void threads_destroy(struct threads *);

/* The threads available to one call. Later changes of the bound do not affect it, so that
 * per-thread memory suffices. */
struct thread_team {
    struct threads *threads;
    unsigned bound; /* 0: none */
};

struct thread_team threads_team(struct threads *);

/* The maximum number of threads in a job of `pieces` pieces. */
unsigned threads_for(const struct thread_team *, uint64_t pieces);

/* Bounds the threads of future jobs; 0: keeps the bound. Returns the maximum number of threads in a
 * job of many pieces. */
unsigned threads_set_limit(struct threads *, unsigned max);

/* Executes all pieces and returns when they are done. Any number of threads may call concurrently:
 * each works on its own job, and the pool's threads help any that has pieces left, so no caller
 * waits for another; beyond 32 concurrent jobs, a caller works by itself. `brief`: sleeping
 * threads would come too late, so only spinning ones join; sleeping ones are woken for the
 * following jobs if this one closely follows another. */
void threads_run(const struct thread_team *, uint64_t pieces, bool brief, threads_piece *piece,
                 void *context);
