/* Tries the pool of threads by itself, so that a checker can watch it: `pool NAME` runs one trial
 * and ends with 0, or by an assertion. There are always CORES cores. */
#define _GNU_SOURCE
#undef NDEBUG

#include "common/processor.h"
#include "threads/threads.h"

#include <assert.h>
#include <dirent.h>
#include <fenv.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

/* PATIENCE, in seconds, is only for what would never end. */
enum { CORES = 8, CALLERS = 5, ROUNDS = 300, PIECES_MAX = 700, PATIENCE = 300 };

unsigned processor_cores(void)
{
    return CORES;
}

unsigned cgroup_cores(const char *root)
{
    (void)root;
    return UINT_MAX;
}

static struct threads *threads;

/* As one call has them. */
static void run(uint64_t pieces, bool brief, threads_piece *piece, void *context)
{
    const struct crew crew = threads_crew(threads);
    threads_run(&crew, pieces, brief, piece, context);
}

/* ---- every piece once ---- */

struct tally {
    unsigned done[PIECES_MAX]; /* plain memory, so that a race would show */
    unsigned of_thread[CORES]; /* likewise: a number belongs to one thread */
};

static void count_piece(void *context, uint64_t index, unsigned thread)
{
    struct tally *tally = context;
    tally->done[index]++;
    tally->of_thread[thread]++;
}

static void run_and_check(uint64_t pieces)
{
    const struct crew crew = threads_crew(threads);
    struct tally tally = {0};
    run(pieces, pieces % 2, count_piece, &tally);
    unsigned all = 0;
    for (uint64_t k = 0; k < PIECES_MAX; k++)
        assert(tally.done[k] == (k < pieces));
    for (unsigned k = 0; k < CORES; k++) {
        assert(k < threads_for(&crew, pieces) || !tally.of_thread[k]);
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

static void call_at_once(unsigned callers)
{
    pthread_t all[CALLERS];
    for (unsigned k = 0; k < callers; k++)
        assert(!pthread_create(&all[k], NULL, call_often, (void *)(uintptr_t)(k + 1)));
    for (unsigned k = 0; k < callers; k++)
        pthread_join(all[k], NULL);
}

static void try_callers(void)
{
    call_at_once(1);
    call_at_once(CALLERS);
}

/* ---- all at once ---- */

struct meeting {
    atomic_uint there;
    atomic_bool alone[CORES];
};

/* Every thread waits here for all the others. */
static void meet(void *context, uint64_t index, unsigned thread)
{
    struct meeting *meeting = context;
    (void)index;
    (void)thread;
    atomic_fetch_add(&meeting->there, 1);
    while (atomic_load(&meeting->there) < CORES)
        usleep(100);
}

static void try_meeting(void)
{
    for (unsigned round = 0; round < 20; round++) {
        struct meeting meeting = {0};
        run(CORES, false, meet, &meeting);
    }
}

/* ---- one job beside another ---- */

struct gate {
    atomic_uint there;
    atomic_bool open;
};

static void wait_at_gate(void *context, uint64_t index, unsigned thread)
{
    struct gate *gate = context;
    (void)index;
    (void)thread;
    atomic_fetch_add(&gate->there, 1);
    while (!atomic_load(&gate->open))
        usleep(100);
}

static void *hold_all(void *gate)
{
    run(2 * CORES, false, wait_at_gate, gate);
    return NULL;
}

/* While every thread is held up in another's job, a caller does its own. */
static void try_held_up(void)
{
    struct gate gate = {0};
    pthread_t other;
    alarm(PATIENCE);
    assert(!pthread_create(&other, NULL, hold_all, &gate));
    while (atomic_load(&gate.there) < CORES)
        usleep(100);
    run_and_check(PIECES_MAX - 1);
    run_and_check(PIECES_MAX);
    atomic_store(&gate.open, true);
    pthread_join(other, NULL);
}

/* ---- sleep ---- */

/* How many threads of this process are on a core or would like to be. */
static unsigned awake(void)
{
    unsigned found = 0;
    DIR *tasks = opendir("/proc/self/task");
    for (struct dirent *task; (task = readdir(tasks));) {
        char path[sizeof "/proc/self/task//stat" + sizeof task->d_name], state = 0;
        snprintf(path, sizeof path, "/proc/self/task/%s/stat", task->d_name);
        FILE *file = task->d_name[0] == '.' ? NULL : fopen(path, "r");
        if (file) {
            assert(fscanf(file, "%*s %*s %c", &state) == 1);
            fclose(file);
        }
        found += state == 'R';
    }
    closedir(tasks);
    return found;
}

/* All threads but this one are asleep sooner or later, and stay so. */
static void wait_until_alone(void)
{
    const unsigned looks = 100;
    alarm(PATIENCE);
    for (unsigned alone = 0; alone < looks; usleep(1000))
        alone = awake() > 1 ? 0 : alone + 1;
    alarm(0);
}

static void try_sleep(void)
{
    struct meeting meeting = {0};
    run(CORES, false, meet, &meeting);
    wait_until_alone();
}

/* ---- brief jobs ---- */

static void note_thread(void *context, uint64_t index, unsigned thread)
{
    atomic_uint *most = context;
    (void)index;
    if (thread > atomic_load(most))
        atomic_store(most, thread);
    usleep(10);
}

/* The greatest number of a thread that took part. */
static unsigned run_briefly(void)
{
    atomic_uint most = 0;
    run(2 * CORES, true, note_thread, &most);
    return most;
}

/* One by itself wakes nobody, and many in a row wake some sooner or later, whether there have been
 * threads before or not. */
static void try_brief(void)
{
    for (unsigned round = 0; round < 3; round++) {
        wait_until_alone();
        assert(run_briefly() == 0);
        alarm(PATIENCE);
        while (!run_briefly())
            ;
        alarm(0);
    }
}

/* ---- what a thread is like ---- */

struct seen {
    double thirds[CORES];
    bool open[CORES];
    size_t deep[CORES];
    atomic_uint there;
};

static size_t __attribute__((noinline)) use_stack(void)
{
    volatile char deep[128 << 10];
    for (size_t k = 0; k < sizeof deep; k += 512)
        deep[k] = 1;
    return sizeof deep;
}

static void look(void *context, uint64_t index, unsigned thread)
{
    struct seen *seen = context;
    volatile double one = 1, three = 3;
    sigset_t blocked;
    (void)index;
    pthread_sigmask(SIG_SETMASK, NULL, &blocked);
    seen->open[thread] = !sigismember(&blocked, SIGINT);
    seen->thirds[thread] = one / three;
    seen->deep[thread] = use_stack();
    atomic_fetch_add(&seen->there, 1);
    while (atomic_load(&seen->there) < CORES)
        usleep(100);
}

static void try_threads(void)
{
    pthread_attr_t small; /* what new threads get if they do not ask */
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 64 << 10);
    assert(!pthread_setattr_default_np(&small));
    const int modes[] = {FE_TONEAREST, FE_UPWARD, FE_TONEAREST};
    for (unsigned round = 0; round < 3; round++) {
        struct seen seen = {0};
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

static void check_in_a_child(void)
{
    const pid_t child = fork();
    if (child == 0) {
        alarm(PATIENCE);
        try_meeting();
        const pid_t grandchild = fork();
        if (grandchild == 0) {
            alarm(PATIENCE);
            try_meeting();
            threads_destroy(threads);
            _exit(0);
        }
        int status;
        waitpid(grandchild, &status, 0);
        threads_destroy(threads);
        _exit(status != 0);
    }
    int status;
    assert(waitpid(child, &status, 0) == child && status == 0);
}

static void *call_until_stopped(void *stop)
{
    while (!atomic_load((atomic_bool *)stop))
        run_and_check(PIECES_MAX);
    return NULL;
}

static void try_forks(void)
{
    check_in_a_child();
    try_meeting();
    check_in_a_child();
    atomic_bool stop = false;
    pthread_t busy[2];
    for (unsigned k = 0; k < 2; k++)
        pthread_create(&busy[k], NULL, call_until_stopped, &stop);
    for (unsigned k = 0; k < 20; k++)
        check_in_a_child();
    atomic_store(&stop, true);
    for (unsigned k = 0; k < 2; k++)
        pthread_join(busy[k], NULL);
}

/* ---- no thread to be had ---- */

/* Not of the superuser, whom that limit does not bind. */
static void try_no_right_to_start(void)
{
    const struct rlimit none = {0, 0};
    assert(geteuid() != 0 || setuid(65534) == 0);
    assert(setrlimit(RLIMIT_NPROC, &none) == 0);
    pthread_t thread;
    if (!pthread_create(&thread, NULL, call_often, NULL)) {
        puts("the limit does not bind");
        exit(77);
    }
    call_often(NULL);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } trials[] = {{"callers", try_callers}, {"meeting", try_meeting},
                  {"held up", try_held_up}, {"sleep", try_sleep},
                  {"brief", try_brief},     {"threads", try_threads},
                  {"forks", try_forks},     {"no right to start", try_no_right_to_start}};
    threads = threads_create();
    for (unsigned k = 0; argc == 2 && k < sizeof trials / sizeof *trials; k++)
        if (strcmp(argv[1], trials[k].name) == 0) {
            trials[k].run();
            threads_destroy(threads);
            return 0;
        }
    return 2;
}
