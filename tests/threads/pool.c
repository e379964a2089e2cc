/* Tests the thread pool in isolation, and folds arrays on it with simple loops defined here, so
 * that a checker can watch every access. `pool NAME` runs one trial, and exits with 0 or fails an
 * assertion. It always sees CORES cores. It is linked without the real loops; functions that are
 * not called for contiguous elements may be missing. */
#define _GNU_SOURCE
#undef NDEBUG

#include "common/processor.h"
#include "cpu/host.h"
#include "threads/threads.h"

#include <assert.h>
#include <fenv.h>
#include <glob.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* Callbacks and replacements for loops use few of their parameters. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

/* PATIENCE is the time limit of each process, in seconds, in case it never ends. */
enum { CORES = 8, CALLERS = 5, ROUNDS = 300, PIECES_MAX = 700, PATIENCE = 300 };

unsigned processor_cores(void)
{
    return CORES;
}

unsigned cgroup_cores(const char *root)
{
    return UINT_MAX;
}

static struct threads *threads;

/* Run a job as one call does; return the most threads it may use. */
static unsigned run(uint64_t pieces, bool brief, threads_piece *piece, void *context)
{
    const struct thread_team thread_team = threads_team(threads);
    threads_run(&thread_team, pieces, brief, piece, context);
    return threads_for(&thread_team, pieces);
}

/* ---- every piece once ---- */

struct tally {
    unsigned done[PIECES_MAX]; /* not atomic, so that a checker finds races */
    unsigned of_thread[CORES]; /* likewise: each number belongs to one thread */
};

static void count_piece(void *context, uint64_t index, unsigned thread)
{
    struct tally *tally = context;
    tally->done[index]++;
    tally->of_thread[thread]++;
}

static void run_and_check(uint64_t pieces)
{
    struct tally tally = {0};
    const unsigned most = run(pieces, pieces % 2, count_piece, &tally);
    unsigned all = 0;
    for (uint64_t k = 0; k < PIECES_MAX; k++)
        assert(tally.done[k] == (k < pieces));
    for (unsigned k = 0; k < CORES; k++) {
        assert(k < most || !tally.of_thread[k]);
        all += tally.of_thread[k];
    }
    assert(all == pieces);
}

static void *call_often(void *opaque)
{
    unsigned random = (unsigned)(uintptr_t)opaque;
    for (unsigned round = 0; round < ROUNDS; round++) {
        random = random * 1664525 + 1013904223;
        run_and_check(round % 3 ? (random >> 16) % 12 : (random >> 16) % PIECES_MAX);
    }
    return NULL;
}

static void call_at_once(void *(*often)(void *))
{
    pthread_t all[CALLERS];
    often(NULL);
    for (unsigned k = 0; k < CALLERS; k++)
        assert(!pthread_create(&all[k], NULL, often, (void *)(uintptr_t)(k + 1)));
    for (unsigned k = 0; k < CALLERS; k++)
        pthread_join(all[k], NULL);
}

/* ---- all threads together ---- */

struct gate {
    atomic_uint there, wanted;
};

/* Wait until the wanted number of threads has arrived. */
static void wait_at_gate(void *context, uint64_t index, unsigned thread)
{
    struct gate *gate = context;
    gate->there++;
    while (gate->there < gate->wanted)
        usleep(100);
}

static void meet(void)
{
    for (unsigned round = 0; round < 20; round++)
        run(CORES, false, wait_at_gate, &(struct gate){.wanted = CORES});
}

static void *hold_all(void *gate)
{
    run(2 * CORES, false, wait_at_gate, gate);
    return NULL;
}

/* While every thread is blocked in another caller's job, a caller does its own job alone. */
static void try_held_up(void)
{
    struct gate gate = {.wanted = UINT_MAX};
    pthread_t other;
    meet();
    assert(!pthread_create(&other, NULL, hold_all, &gate));
    while (gate.there < CORES)
        usleep(100);
    run_and_check(PIECES_MAX - 1);
    run_and_check(PIECES_MAX);
    gate.wanted = 0;
    pthread_join(other, NULL);
}

/* ---- sleep, and brief jobs ---- */

/* Return the number of running or runnable threads of this process. */
static unsigned awake(void)
{
    unsigned found = 0;
    glob_t tasks;
    assert(!glob("/proc/self/task/*/stat", 0, NULL, &tasks));
    for (size_t k = 0; k < tasks.gl_pathc; k++) {
        char state = 0;
        FILE *file = fopen(tasks.gl_pathv[k], "r");
        if (file) {
            assert(fscanf(file, "%*s %*s %c", &state) == 1);
            fclose(file);
        }
        found += state == 'R';
    }
    globfree(&tasks);
    return found;
}

/* Wait until all other threads sleep, and stay asleep for 100 checks. */
static void wait_until_alone(void)
{
    for (unsigned alone = 0; alone < 100; usleep(1000))
        alone = awake() > 1 ? 0 : alone + 1;
}

static void note_thread(void *context, uint64_t index, unsigned thread)
{
    atomic_uint *most = context;
    if (thread > *most)
        *most = thread;
    usleep(10);
}

/* Return the largest number of a participating thread. */
static unsigned run_briefly(void)
{
    atomic_uint most = 0;
    run(2 * CORES, true, note_thread, &most);
    return most;
}

/* A single brief job wakes no thread; many in a row eventually wake some, whether or not threads
 * already exist. */
static void try_brief(void)
{
    for (unsigned round = 0; round < 3; round++) {
        wait_until_alone();
        assert(run_briefly() == 0);
        while (!run_briefly())
            ;
    }
}

/* ---- threads' signals, stacks and rounding modes ---- */

struct seen {
    struct gate gate;
    double thirds[CORES];
    bool open[CORES];
};

static void look(void *context, uint64_t index, unsigned thread)
{
    struct seen *seen = context;
    volatile double one = 1, three = 3;
    volatile char deep[128 << 10];
    sigset_t blocked;
    for (size_t k = 0; k < sizeof deep; k += 512)
        deep[k] = 1;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    seen->open[thread] = !sigismember(&blocked, SIGINT);
    seen->thirds[thread] = one / three;
    wait_at_gate(&seen->gate, index, thread);
}

static void try_threads(void)
{
    pthread_attr_t small; /* the default for new threads */
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    assert(!pthread_setattr_default_np(&small));
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TONEAREST};
    for (unsigned round = 0; round < 3; round++) {
        struct seen seen = {.gate.wanted = CORES};
        fesetround(modes[round]);
        run(CORES, false, look, &seen);
        fesetround(FE_TONEAREST);
        for (unsigned k = 0; k < CORES; k++) {
            assert(seen.open[k] == (k == 0));
            assert((seen.thirds[k] > 1.0 / 3) == (modes[round] == FE_UPWARD));
        }
    }
}

/* ---- forks ---- */

static void check_in_children(unsigned generations)
{
    int status;
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        meet();
        if (generations > 1)
            check_in_children(generations - 1);
        threads_destroy(threads);
        _exit(0);
    }
    assert(waitpid(child, &status, 0) == child && status == 0);
}

static void try_forks(void)
{
    check_in_children(2);
    meet();
    check_in_children(2);
}

/* ---- folding, with loops whose state is an int64 sum ---- */

static void add(const void *values, size_t n, uint64_t first, void *state)
{
    const int64_t *numbers = values;
    int64_t sum = 0;
    for (size_t k = 0; k < n; k++)
        sum += numbers[k];
    *(int64_t *)state = sum;
}

static void merge(void *states, size_t n)
{
    add(states, n, 0, states);
}

static bool is_not_zero(const void *state, size_t n)
{
    return *(const int64_t *)state != 0;
}

fold_values *loop_of_elements(enum instructions instructions, enum fold fold, enum element input,
                              enum element type)
{
    return add;
}

merge_states *merge_loop(enum fold fold, enum element accumulator)
{
    return merge;
}

/* REDUCTION_any is settled when its state is nonzero; other reductions never are. */
is_settled *is_settled_test(enum reduction reduction, enum element type)
{
    return reduction == REDUCTION_any ? is_not_zero : NULL;
}

size_t state_bytes(enum fold fold, enum element accumulator)
{
    return sizeof(int64_t);
}

size_t element_size(enum element element)
{
    return sizeof(int64_t);
}

static bool never(void *context)
{
    return false;
}

static int64_t folded(const int64_t *numbers, size_t n, enum reduction reduction)
{
    const struct watch watch = {.interrupted = never};
    struct run run = {.watch = &watch};
    const struct layout layout = {.data = numbers,
                                  .input = ELEMENT_INT64,
                                  .type = ELEMENT_INT64,
                                  .dimensions = 1,
                                  .shape = {n},
                                  .strides = {sizeof *numbers}};
    const struct plan plan = {.reduction = reduction,
                              .fold = FOLD_sum,
                              .accumulator = ELEMENT_INT64,
                              .layout = &layout,
                              .n = n,
                              .elements = {.flat = true}};
    struct job job = {.plan = &plan, .run = &run, .threads = threads_team(threads)};
    int64_t state;
    uint64_t count;
    assert(folding_run(&job, &state, &count));
    return state;
}

/* Every element is added once. */
static void check_sums(int64_t *numbers, size_t n)
{
    for (size_t k = 0; k < n; k++)
        numbers[k] = (int64_t)k;
    assert(folded(numbers, n, REDUCTION_sum) == (int64_t)(n * (n - 1) / 2));
}

/* One element is nonzero, then also others before it. */
static void check_settling(int64_t *numbers, size_t n)
{
    memset(numbers, 0, n * sizeof *numbers);
    assert(folded(numbers, n, REDUCTION_any) == 0);
    for (size_t at = n - 1; at; at /= 9) {
        numbers[at] = 1;
        assert(folded(numbers, n, REDUCTION_any) != 0);
    }
}

static void *fold_often(void *unused)
{
    static const size_t lengths[] = {CHUNK_MAX + 1, 20 * CHUNK_MAX, 77 * CHUNK_MAX - 5,
                                     200 * CHUNK_MAX + 9};
    int64_t *numbers = calloc(201 * CHUNK_MAX, sizeof *numbers);
    assert(numbers);
    for (unsigned round = 0; round < 12; round++) {
        check_sums(numbers, lengths[round % 4]);
        check_settling(numbers, lengths[round % 4]);
    }
    free(numbers);
    return unused;
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        void *(*by_callers)(void *);
    } trials[] = {{"callers", NULL, call_often}, {"held up", try_held_up, NULL},
                  {"brief", try_brief, NULL},    {"threads", try_threads, NULL},
                  {"forks", try_forks, NULL},    {"folds", NULL, fold_often}};
    alarm(PATIENCE);
    threads = threads_create();
    for (unsigned k = 0; argc == 2 && k < sizeof trials / sizeof *trials; k++)
        if (strcmp(argv[1], trials[k].name) == 0) {
            if (trials[k].run)
                trials[k].run();
            else
                call_at_once(trials[k].by_callers);
            threads_destroy(threads);
            return 0;
        }
    return 2;
}
