#define _GNU_SOURCE

#include "simulator.h"

#include "fiber.h"
#include "processor.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum {
    WARPS_MAX = SIMULATOR_BLOCK_MAX / SIMULATOR_WARP,
    STACK_BYTES = 64 << 10, /* of address space; a kernel touches one page or two */
    STACKS_BYTES = (SIMULATOR_BLOCK_MAX + 1) * STACK_BYTES, /* one more, to find a multiple of the size */
    WATCH_MILLISECONDS = 50,
    SWITCHES_A_LOOK = 8, /* the caller's core looks at the clock once in so many switches */
};

enum thread_state { READY, AT_BLOCK_BARRIER, AT_WARP_BARRIER, AT_GRID_BARRIER, ENDED, THREAD_STATES };

struct thread {
    struct fiber fiber;
    struct multiprocessor *home;
    struct simulator_place place;
    enum thread_state state;
    unsigned mask;   /* of the warp barrier it waits at */
    unsigned parity; /* of the shuffles it has done: which half of the warp's slots is next */
};

/* What a warp shares. A lane that has left a shuffle may enter the next before others have read from the last, so the
 * slots alternate; it cannot get two ahead. */
struct warp {
    unsigned waiting; /* lanes at a warp barrier */
    uint64_t slots[2][SIMULATOR_WARP];
};

/* A core, and the block that it is running. */
struct multiprocessor {
    struct simulator *simulator;
    unsigned number;
    pthread_t core;
    struct fiber scheduler;
    struct thread *threads;
    unsigned made; /* threads that have a fiber */
    void *memory; /* for the stacks */
    unsigned order[SIMULATOR_BLOCK_MAX];
    uint64_t random;
    unsigned switches;
    struct warp warps[WARPS_MAX];
    unsigned at[THREAD_STATES]; /* how many threads are in each state */
    bool voted, verdict;        /* of __syncthreads_or */
    unsigned char *shared;
};

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
    uint64_t generation; /* of the launch */
    unsigned busy;       /* cores still at work on it */
    unsigned at_grid_barrier, past_kernel;
    uint64_t grid_barriers;
    bool closing;

    atomic_uint_fast64_t next_block;
    atomic_bool stop;
    enum simulator_status status;
    char message[256];
};

/* The running thread. Every word of a kernel asks, so the answer lies where it costs nothing to find: the lowest word of the
 * thread's stack, which begins at a multiple of its size. */
static inline struct thread *current(void)
{
    const uintptr_t frame = (uintptr_t)__builtin_frame_address(0);
    return *(struct thread **)(frame & ~(uintptr_t)(STACK_BYTES - 1));
}

/* ---- randomness, for the shuffled order ---- */

/* splitmix64 (Steele, Lea, Flood 2014). */
static uint64_t next_random(uint64_t *state)
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

/* The block that runs as the i-th. Shuffled: i -> a i + b modulo the grid, a one-to-one map when a has no factor in
 * common with the grid. */
static uint64_t block_in_order(const struct simulator *simulator, uint64_t i, uint64_t grid)
{
    if (simulator->order == ORDER_FORWARDS)
        return i;
    if (simulator->order == ORDER_BACKWARDS)
        return grid - 1 - i;
    uint64_t state = simulator->seed;
    const uint64_t b = next_random(&state) % grid;
    uint64_t a;
    do {
        a = next_random(&state) % grid;
    } while (grid > 1 && greatest_common_divisor(a, grid) != 1);
    return (uint64_t)(((unsigned __int128)a * i + b) % grid);
}

static void order_threads(struct multiprocessor *self, unsigned block)
{
    for (unsigned k = block - 1; k > 0; k--) {
        const unsigned other = (unsigned)(next_random(&self->random) % (k + 1));
        const unsigned swapped = self->order[k];
        self->order[k] = self->order[other];
        self->order[other] = swapped;
    }
}

/* ---- ends of a run ---- */

static void stop_with(struct simulator *simulator, enum simulator_status status, const char *message)
{
    pthread_mutex_lock(&simulator->lock);
    if (simulator->status == SIMULATOR_DONE) {
        simulator->status = status;
        snprintf(simulator->message, sizeof simulator->message, "%s", message);
    }
    atomic_store(&simulator->stop, true);
    pthread_cond_broadcast(&simulator->changed);
    pthread_mutex_unlock(&simulator->lock);
}

static bool stopped(struct simulator *simulator)
{
    return atomic_load_explicit(&simulator->stop, memory_order_relaxed);
}

static const char *const barrier_names[THREAD_STATES] = {
    [AT_BLOCK_BARRIER] = "__syncthreads()",
    [AT_WARP_BARRIER] = "__syncwarp() or a shuffle",
    [AT_GRID_BARRIER] = "the grid's barrier",
};

static unsigned first_in(const struct multiprocessor *self, unsigned block, enum thread_state state)
{
    unsigned t = 0;
    while (t < block && self->threads[t].state != state)
        t++;
    return t;
}

/* Some threads wait at a barrier that the others will never reach. */
static void report_divergence(struct multiprocessor *self, unsigned block)
{
    enum thread_state waiting = AT_BLOCK_BARRIER;
    while (!self->at[waiting])
        waiting++;
    enum thread_state other = ENDED;
    for (enum thread_state s = AT_BLOCK_BARRIER; s < ENDED; s++)
        if (s != waiting && self->at[s])
            other = s;
    char text[256], elsewhere[96] = "wait for lanes outside their mask";
    if (other != ENDED)
        snprintf(elsewhere, sizeof elsewhere, "thread %u waits at %s", first_in(self, block, other),
                 barrier_names[other]);
    else if (self->at[ENDED])
        snprintf(elsewhere, sizeof elsewhere, "%u, thread %u among them, have ended", self->at[ENDED],
                 first_in(self, block, ENDED));
    const unsigned first = first_in(self, block, waiting);
    snprintf(text, sizeof text,
             "%u of the %u threads of block %u wait at %s, thread %u among them, that not all reach: %s",
             self->at[waiting], block, self->threads[first].place.block.x, barrier_names[waiting],
             first, elsewhere);
    stop_with(self->simulator, SIMULATOR_FAILED, text);
}

static long milliseconds_since(const struct timespec *then)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - then->tv_sec) * 1000 + (now.tv_nsec - then->tv_nsec) / 1000000;
}

/* Only the caller's own core asks, since only the caller's thread may be asked. */
static void look_at_watch(struct simulator *simulator)
{
    const struct simulator_watch *watch = simulator->watch;
    if (!watch || stopped(simulator) || milliseconds_since(&simulator->looked) < WATCH_MILLISECONDS)
        return;
    clock_gettime(CLOCK_MONOTONIC, &simulator->looked);
    if (watch->interrupted(watch->context))
        stop_with(simulator, SIMULATOR_INTERRUPTED, "interrupted");
}

/* ---- threads of a block ---- */

static void wait_at(enum thread_state barrier)
{
    struct thread *self = current();
    self->home->at[READY]--;
    self->home->at[barrier]++;
    self->state = barrier;
    fiber_switch(&self->fiber, &self->home->scheduler);
}

/* A fiber lives as long as its simulator and runs one block's kernel after the other. */
static void thread_body(void *argument)
{
    struct thread *self = argument;
    for (;;) {
        const struct simulator_launch *launch = self->home->simulator->launch;
        launch->kernel(launch->arguments);
        wait_at(ENDED);
    }
}

/* Gives the first `block` threads a fiber each, where they have none yet. False when memory is short. */
static bool make_threads(struct multiprocessor *self, unsigned block)
{
    if (!self->memory) {
        void *memory = mmap(NULL, STACKS_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (memory == MAP_FAILED)
            return false;
        self->memory = memory;
    }
    unsigned char *const stacks = (unsigned char *)(((uintptr_t)self->memory + STACK_BYTES - 1) & ~(uintptr_t)(STACK_BYTES - 1));
    if (!self->threads && !(self->threads = calloc(SIMULATOR_BLOCK_MAX, sizeof *self->threads)))
        return false;
    for (; self->made < block; self->made++) {
        struct thread *thread = &self->threads[self->made];
        thread->home = self;
        thread->place.thread.x = self->made;
        unsigned char *const stack = stacks + (size_t)self->made * STACK_BYTES;
        *(struct thread **)stack = thread;
        fiber_make(&thread->fiber, &self->scheduler, stack, STACK_BYTES, thread_body, thread);
    }
    return true;
}

static void release(struct multiprocessor *self, struct thread *thread)
{
    self->at[thread->state]--;
    self->at[READY]++;
    thread->state = READY;
}

static void release_block(struct multiprocessor *self, unsigned block)
{
    for (unsigned t = 0; t < block; t++)
        release(self, &self->threads[t]);
}

/* Lets those warp barriers go at which all lanes of their mask have arrived. */
static bool release_warps(struct multiprocessor *self, unsigned block)
{
    bool any = false;
    for (unsigned w = 0; w < block / SIMULATOR_WARP; w++) {
        const unsigned waiting = self->warps[w].waiting;
        for (unsigned left = waiting; left; left &= left - 1) {
            const unsigned lane = (unsigned)__builtin_ctz(left);
            struct thread *thread = &self->threads[w * SIMULATOR_WARP + lane];
            if ((waiting & thread->mask) != thread->mask)
                continue;
            self->warps[w].waiting &= ~(1u << lane);
            release(self, thread);
            any = true;
        }
    }
    return any;
}

/* True when every block of the grid is at its barrier, false when one never will be. */
static bool meet_grid(struct multiprocessor *self)
{
    struct simulator *simulator = self->simulator;
    pthread_mutex_lock(&simulator->lock);
    const uint64_t barrier = simulator->grid_barriers, grid = simulator->launch->grid;
    if (++simulator->at_grid_barrier == grid) {
        simulator->at_grid_barrier = 0;
        simulator->grid_barriers++;
        pthread_cond_broadcast(&simulator->changed);
    }
    while (simulator->grid_barriers == barrier && !simulator->past_kernel && !stopped(simulator))
        pthread_cond_wait(&simulator->changed, &simulator->lock);
    const bool met = simulator->grid_barriers != barrier;
    pthread_mutex_unlock(&simulator->lock);
    return met;
}

/* Nobody is ready: lets a complete barrier go. False when the block is over, for better or worse. */
static bool release_barrier(struct multiprocessor *self, unsigned block)
{
    if (self->at[AT_WARP_BARRIER] && release_warps(self, block))
        return true;
    if (self->at[ENDED] == block)
        return false;
    if (self->at[AT_BLOCK_BARRIER] == block) {
        self->verdict = self->voted;
        self->voted = false;
        release_block(self, block);
        return true;
    }
    if (self->at[AT_GRID_BARRIER] == block && self->simulator->launch->cooperative) {
        if (meet_grid(self)) {
            release_block(self, block);
            return true;
        }
        stop_with(self->simulator, SIMULATOR_FAILED, "some blocks wait at the grid's barrier that others never reach");
        return false;
    }
    report_divergence(self, block);
    return false;
}

static void begin_block(struct multiprocessor *self, const struct simulator_launch *launch, uint64_t index)
{
    enum { GARBAGE = 0xa5 };
    memset(self->shared, GARBAGE, launch->shared_bytes);
    memset(self->warps, 0, sizeof self->warps);
    memset(self->at, 0, sizeof self->at);
    self->at[READY] = launch->block;
    self->voted = false;
    self->random = self->simulator->seed ^ (index * 0x9e3779b97f4a7c15);
    for (unsigned t = 0; t < launch->block; t++) {
        struct thread *thread = &self->threads[t];
        thread->state = READY;
        thread->parity = 0;
        thread->place.block.x = (unsigned)index;
        thread->place.block_size = (struct simulator_index){launch->block, 1, 1};
        thread->place.grid_size = (struct simulator_index){(unsigned)launch->grid, 1, 1};
        self->order[t] = self->simulator->order == ORDER_BACKWARDS ? launch->block - 1 - t : t;
    }
}

/* Runs every ready thread once, up to its next barrier. */
static void sweep(struct multiprocessor *self, unsigned block)
{
    for (unsigned k = 0; k < block && self->at[READY] && !stopped(self->simulator); k++) {
        struct thread *thread = &self->threads[self->order[k]];
        if (thread->state != READY)
            continue;
        fiber_switch(&self->scheduler, &thread->fiber);
        if (self->number == 0 && ++self->switches % SWITCHES_A_LOOK == 0)
            look_at_watch(self->simulator);
    }
}

static void run_block(struct multiprocessor *self, const struct simulator_launch *launch, uint64_t index)
{
    begin_block(self, launch, index);
    do {
        if (self->simulator->order == ORDER_SHUFFLED)
            order_threads(self, launch->block);
        sweep(self, launch->block);
    } while (!stopped(self->simulator) && release_barrier(self, launch->block));
}

/* ---- cores ---- */

/* One core's part of a launch: blocks, one after the other, until none is left. Of a cooperative launch every core takes
 * exactly one, so that all are there at once. */
static void run_blocks(struct multiprocessor *self, const struct simulator_launch *launch)
{
    struct simulator *simulator = self->simulator;
    free(self->shared);
    self->shared = malloc(launch->shared_bytes + 1);
    if (!self->shared || !make_threads(self, launch->block)) {
        stop_with(simulator, SIMULATOR_FAILED, "out of memory for the threads of a block");
        return;
    }
    while (!stopped(simulator)) {
        const uint64_t i = atomic_fetch_add(&simulator->next_block, 1);
        if (i >= launch->grid)
            return;
        run_block(self, launch, block_in_order(simulator, i, launch->grid));
        if (launch->cooperative) {
            pthread_mutex_lock(&simulator->lock);
            simulator->past_kernel++;
            pthread_cond_broadcast(&simulator->changed);
            pthread_mutex_unlock(&simulator->lock);
            return;
        }
    }
}

static void *core_body(void *argument)
{
    struct multiprocessor *self = argument;
    struct simulator *simulator = self->simulator;
    uint64_t seen = 0;
    pthread_mutex_lock(&simulator->lock);
    for (;;) {
        while (!simulator->closing && simulator->generation == seen)
            pthread_cond_wait(&simulator->changed, &simulator->lock);
        if (simulator->closing)
            break;
        seen = simulator->generation;
        pthread_mutex_unlock(&simulator->lock);
        run_blocks(self, simulator->launch);
        pthread_mutex_lock(&simulator->lock);
        simulator->busy--;
        pthread_cond_broadcast(&simulator->changed);
    }
    pthread_mutex_unlock(&simulator->lock);
    return NULL;
}

/* Sees to it that every multiprocessor but the caller's has a thread of the operating system. */
static void start_cores(struct simulator *simulator)
{
    if (simulator->running)
        return;
    simulator->running = 1;
    while (simulator->running < simulator->count) {
        struct multiprocessor *next = &simulator->multiprocessors[simulator->running];
        if (pthread_create(&next->core, NULL, core_body, next))
            return;
        simulator->running++;
    }
}

static void wait_for_cores(struct simulator *simulator)
{
    pthread_mutex_lock(&simulator->lock);
    while (simulator->busy) {
        struct timespec until;
        clock_gettime(CLOCK_REALTIME, &until);
        until.tv_nsec += WATCH_MILLISECONDS * 1000000L;
        until.tv_sec += until.tv_nsec / 1000000000;
        until.tv_nsec %= 1000000000;
        pthread_cond_timedwait(&simulator->changed, &simulator->lock, &until);
        pthread_mutex_unlock(&simulator->lock);
        look_at_watch(simulator);
        pthread_mutex_lock(&simulator->lock);
    }
    pthread_mutex_unlock(&simulator->lock);
}

enum simulator_status simulator_launch(struct simulator *simulator, const struct simulator_launch *launch)
{
    if (simulator->status != SIMULATOR_DONE)
        return simulator->status;
    if (launch->grid > 1)
        start_cores(simulator);
    if (launch->cooperative && launch->grid > (simulator->running ? simulator->running : 1)) {
        stop_with(simulator, SIMULATOR_FAILED, "a cooperative launch of more blocks than can run at once");
        return simulator->status;
    }
    pthread_mutex_lock(&simulator->lock);
    simulator->launch = launch;
    simulator->at_grid_barrier = simulator->past_kernel = 0;
    atomic_store(&simulator->next_block, 0);
    if (launch->grid > 1) {
        simulator->busy = simulator->running - 1;
        simulator->generation++;
        pthread_cond_broadcast(&simulator->changed);
    }
    pthread_mutex_unlock(&simulator->lock);
    run_blocks(&simulator->multiprocessors[0], launch);
    wait_for_cores(simulator);
    return simulator->status;
}

/* ---- opening and closing ---- */

unsigned simulator_multiprocessors(void)
{
    return processor_cores();
}

struct simulator *simulator_open(enum thread_order order, uint64_t seed, const struct simulator_watch *watch)
{
    struct simulator *simulator = calloc(1, sizeof *simulator);
    if (!simulator)
        return NULL;
    simulator->count = simulator_multiprocessors();
    simulator->multiprocessors = calloc(simulator->count, sizeof *simulator->multiprocessors);
    if (!simulator->multiprocessors) {
        free(simulator);
        return NULL;
    }
    for (unsigned m = 0; m < simulator->count; m++) {
        simulator->multiprocessors[m].simulator = simulator;
        simulator->multiprocessors[m].number = m;
    }
    simulator->order = order;
    simulator->seed = seed;
    simulator->watch = watch;
    clock_gettime(CLOCK_MONOTONIC, &simulator->looked);
    pthread_mutex_init(&simulator->lock, NULL);
    pthread_cond_init(&simulator->changed, NULL);
    return simulator;
}

void simulator_close(struct simulator *simulator)
{
    if (!simulator)
        return;
    pthread_mutex_lock(&simulator->lock);
    simulator->closing = true;
    pthread_cond_broadcast(&simulator->changed);
    pthread_mutex_unlock(&simulator->lock);
    for (unsigned m = 1; m < simulator->running; m++)
        pthread_join(simulator->multiprocessors[m].core, NULL);
    for (unsigned m = 0; m < simulator->count; m++) {
        struct multiprocessor *self = &simulator->multiprocessors[m];
        if (self->memory)
            munmap(self->memory, STACKS_BYTES);
        free(self->threads);
        free(self->shared);
    }
    pthread_mutex_destroy(&simulator->lock);
    pthread_cond_destroy(&simulator->changed);
    free(simulator->multiprocessors);
    free(simulator);
}

const char *simulator_message(const struct simulator *simulator)
{
    return simulator->message;
}

/* ---- the words ---- */

const struct simulator_place *simulator_here(void)
{
    return &current()->place;
}

void *simulator_shared_memory(void)
{
    return current()->home->shared;
}

void simulator_barrier_block(void)
{
    wait_at(AT_BLOCK_BARRIER);
}

bool simulator_barrier_block_or(bool vote)
{
    struct multiprocessor *home = current()->home;
    home->voted |= vote;
    wait_at(AT_BLOCK_BARRIER);
    return home->verdict;
}

void simulator_barrier_warp(unsigned mask)
{
    struct thread *self = current();
    const unsigned tid = self->place.thread.x;
    self->mask = mask | 1u << tid % SIMULATOR_WARP;
    self->home->warps[tid / SIMULATOR_WARP].waiting |= 1u << tid % SIMULATOR_WARP;
    wait_at(AT_WARP_BARRIER);
}

void simulator_barrier_grid(void)
{
    wait_at(AT_GRID_BARRIER);
}

uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source)
{
    struct thread *self = current();
    const unsigned tid = self->place.thread.x;
    uint64_t *slots = self->home->warps[tid / SIMULATOR_WARP].slots[self->parity];
    slots[tid % SIMULATOR_WARP] = word;
    self->parity ^= 1;
    simulator_barrier_warp(mask);
    return slots[source];
}
