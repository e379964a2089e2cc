/* Threads that share the pieces of a job. The caller takes part, so a job is done even where no
 * thread can be started; how pieces fall to threads changes nothing about what they compute.
 *
 * Threads start when there is first a job for them, at most as many as the cores that this process
 * may use (its affinity, its control group's quota), OMP_NUM_THREADS and a bound say. After a job
 * they watch for the next for a moment, then sleep. They have no signals, and stacks of a size of
 * their own. A forked child starts its own. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* What a thread that spins does, for the sake of the core's other thread. */
#if defined(__x86_64__) || defined(__i386__)
#define PAUSE() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define PAUSE() __asm__ volatile("yield")
#else
#define PAUSE() ((void)0)
#endif

/* Does piece number `index`. `thread` is a number that no other thread has in the same job: below
 * threads_for. */
typedef void threads_piece(void *context, uint64_t index, unsigned thread);

struct threads;

/* NULL when memory is short. Nothing is started yet. */
struct threads *threads_create(void);

/* Ends the threads; no job may be under way. */
void threads_destroy(struct threads *);

/* Threads as one call has them: what bounds their number meanwhile is for calls to come, so that
 * memory that was taken for each of them suffices. */
struct crew {
    struct threads *threads;
    unsigned bound; /* 0: none */
};

struct crew threads_crew(struct threads *);

/* How many threads may take part in a job of so many pieces. */
unsigned threads_for(const struct crew *, uint64_t pieces);

/* Lets at most so many take part in jobs from now on; 0: as many as until now. Returns how many may
 * take part in a job of many pieces. */
unsigned threads_bound(struct threads *, unsigned most);

/* Does all pieces and returns when they are done. Any number of threads may call at once: each
 * works on its own job and the pool's threads help any that has pieces left, so that no caller
 * waits for another; beyond some thirty jobs at once a caller does its own alone. `brief`: threads
 * that sleep would come too late, so only those that watch take part; they are woken for the sake
 * of the next jobs, where one follows another. */
void threads_run(const struct crew *, uint64_t pieces, bool brief, threads_piece *piece,
                 void *context);
