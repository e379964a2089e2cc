/* What the blocks of a grid, on whatever core, have in common: the grid's barrier, and the end of
 * the run, which may come before its time. */
#pragma once

#include "simulated/launch.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

struct grid {
    unsigned cores;                      /* that blocks may run on */
    const struct simulator_watch *watch; /* NULL: nobody watches */
    struct timespec looked;              /* at the watch */

    pthread_mutex_t lock;
    pthread_cond_t changed;
    uint64_t blocks;                  /* of the launch */
    uint64_t at_barrier, past_kernel; /* how many of them, of a cooperative launch */
    uint64_t barriers;                /* that all blocks have met at */

    atomic_bool stop;
    enum simulator_status status;
    char message[256];
};

void grid_open(struct grid *, unsigned cores);
void grid_close(struct grid *);

/* For the launches that follow. */
void grid_watch(struct grid *, const struct simulator_watch *);

/* Before a launch of so many blocks. */
void grid_begin(struct grid *, uint64_t blocks);

/* Ends the run; the first to say why is heard. */
void grid_stop(struct grid *, enum simulator_status, const char *message);
bool grid_stopped(struct grid *);

/* For the caller's own core only: asks the watch, now and then. */
void grid_look_at_watch(struct grid *);

/* A block of a cooperative launch is at its barrier: true when every block is, false when one never
 * will be. */
bool grid_meet(struct grid *);

/* A block of a cooperative launch is past its kernel: whoever still waits for it waits forever. */
void grid_leave(struct grid *);
