/* Folds arrays on the host's threads with loops of its own, plain enough for a checker to watch
 * every access: `folding NAME` runs one trial and ends with 0, or by an assertion. What it is
 * linked with has no loops; what is never called where elements lie ready may be missing. */
#undef NDEBUG

#include "common/processor.h"
#include "cpu/host.h"

#include <assert.h>
#include <limits.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CORES = 8, CALLERS = 3, ROUNDS = 3 };

unsigned processor_cores(void)
{
    return CORES;
}

unsigned cgroup_cores(const char *root)
{
    (void)root;
    return UINT_MAX;
}

/* ---- loops: a state is a sum of int64 ---- */

static void add(const void *values, size_t n, uint64_t first, void *state)
{
    const int64_t *numbers = values;
    int64_t sum = 0;
    (void)first;
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
    (void)n;
    return *(const int64_t *)state != 0;
}

fold_values *loop_of_elements(enum instructions instructions, enum fold fold, enum element input,
                              enum element type)
{
    (void)instructions, (void)fold, (void)input, (void)type;
    return add;
}

merge_states *loop_of_states(enum fold fold, enum element accumulator)
{
    (void)fold, (void)accumulator;
    return merge;
}

/* Truth values settle where they are not zero; other elements never do. */
is_settled *settling_of(enum reduction reduction, enum element type)
{
    (void)type;
    return reduction == REDUCTION_any ? is_not_zero : NULL;
}

size_t state_bytes(enum fold fold, enum element accumulator)
{
    (void)fold, (void)accumulator;
    return sizeof(int64_t);
}

bool fold_is_indexed(enum fold fold)
{
    (void)fold;
    return false;
}

size_t element_size(enum element element)
{
    (void)element;
    return sizeof(int64_t);
}

/* ---- calls ---- */

static struct threads *threads;

static bool never(void *context)
{
    (void)context;
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
    struct job job = {.plan = &plan, .run = &run, .threads = threads};
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

/* One element is not zero, and then another before it. */
static void check_settling(int64_t *numbers, size_t n)
{
    memset(numbers, 0, n * sizeof *numbers);
    assert(folded(numbers, n, REDUCTION_any) == 0);
    for (size_t at = n - 1; at; at /= 9) {
        numbers[at] = 1;
        assert(folded(numbers, n, REDUCTION_any) != 0);
    }
}

static void (*check)(int64_t *, size_t);

static void *call_often(void *unused)
{
    static const size_t lengths[] = {LOOP_MOST + 1, 20 * LOOP_MOST, 77 * LOOP_MOST - 5,
                                     200 * LOOP_MOST + 9};
    int64_t *numbers = calloc(201 * LOOP_MOST, sizeof *numbers);
    assert(numbers);
    for (unsigned round = 0; round < 4 * ROUNDS; round++)
        check(numbers, lengths[round % 4]);
    free(numbers);
    return unused;
}

int main(int argc, char **argv)
{
    pthread_t callers[CALLERS];
    assert(argc == 2);
    check = strcmp(argv[1], "settling") ? check_sums : check_settling;
    threads = threads_create();
    call_often(NULL);
    for (unsigned k = 0; k < CALLERS; k++)
        assert(!pthread_create(&callers[k], NULL, call_often, NULL));
    for (unsigned k = 0; k < CALLERS; k++)
        pthread_join(callers[k], NULL);
    threads_destroy(threads);
    return 0;
}
