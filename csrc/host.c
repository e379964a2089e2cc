/* The host backend: plain loops, shared among the cores by OpenMP, and the recursion that the
 * ladder starts from.
 *
 * The array is folded in chunks of fixed length and the chunks' results in turn, so a sum's bits do
 * not depend on the number of threads, and rounding errors grow with the chunk's length and not
 * with the array's. */
#define _GNU_SOURCE

#include "backend.h"
#include "processor.h"
#include "timing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 4096,          /* elements folded by one loop */
    STRETCH = 1 << 26,     /* elements between two looks at the watch */
    LANES = 8,             /* independent accumulators of a loop, for the compiler to vectorise */
    SERIAL_BELOW = 1 << 16 /* elements that are not worth waking other threads for */
};

/* Signed integers wrap around, so they are added and multiplied as unsigned ones. */
typedef uint32_t wrap_INT32;
typedef uint64_t wrap_INT64, wrap_UINT64;
typedef float wrap_FLOAT32;
typedef double wrap_FLOAT64;

/* a is the accumulator; NaN wins every comparison. */
#define COMBINE_SUM(NAME, type, a, b)  (type)((wrap_##NAME)(a) + (wrap_##NAME)(b))
#define COMBINE_PROD(NAME, type, a, b) (type)((wrap_##NAME)(a) * (wrap_##NAME)(b))
#define COMBINE_MIN(NAME, type, a, b)  ((a) < (b) || (a) != (a) ? (a) : (b))
#define COMBINE_MAX(NAME, type, a, b)  ((a) > (b) || (a) != (a) ? (a) : (b))

/* Folds n >= 1 elements of one type into one accumulator of another. */
typedef void fold(const void *elements, size_t n, void *result);

#define DEFINE_FOLD(OP, IN, in_type, ACC, acc_type)                                                \
    static void fold_##OP##_##IN##_##ACC(const void *elements, size_t n, void *result)             \
    {                                                                                              \
        const in_type *x = elements;                                                               \
        acc_type lanes[LANES];                                                                     \
        const size_t used = n < LANES ? n : LANES;                                                 \
        for (size_t k = 0; k < used; k++)                                                          \
            lanes[k] = (acc_type)x[k];                                                             \
        size_t i = LANES;                                                                          \
        for (; i + LANES <= n; i += LANES)                                                         \
            for (size_t k = 0; k < LANES; k++)                                                     \
                lanes[k] = COMBINE_##OP(ACC, acc_type, lanes[k], (acc_type)x[i + k]);              \
        for (; i < n; i++)                                                                         \
            lanes[i % LANES] = COMBINE_##OP(ACC, acc_type, lanes[i % LANES], (acc_type)x[i]);      \
        for (size_t k = 1; k < used; k++)                                                          \
            lanes[0] = COMBINE_##OP(ACC, acc_type, lanes[0], lanes[k]);                            \
        memcpy(result, lanes, sizeof *lanes);                                                      \
    }

/* Folds the upper half of n elements onto the lower; the recursion's one step. */
typedef void halve(void *elements, size_t n);

#define DEFINE_HALVE(OP, NAME, type)                                                               \
    static void halve_##OP##_##NAME(void *elements, size_t n)                                      \
    {                                                                                              \
        type *x = elements;                                                                        \
        const size_t half = n - n / 2;                                                             \
        for (size_t i = 0; i < n / 2; i++)                                                         \
            x[i] = COMBINE_##OP(NAME, type, x[i], x[i + half]);                                    \
    }

typedef void convert(void *target, const void *source, size_t n);

#define DEFINE_CONVERT(IN, in_type, ACC, acc_type)                                                 \
    static void convert_##IN##_##ACC(void *target, const void *source, size_t n)                   \
    {                                                                                              \
        acc_type *y = target;                                                                      \
        const in_type *x = source;                                                                 \
        for (size_t i = 0; i < n; i++)                                                             \
            y[i] = (acc_type)x[i];                                                                 \
    }

/* The table of element types, once more for every type: X(…, IN, in_type, ACC, acc_type). A macro
 * cannot expand itself, so the inner list is spelt out. */
#define TO_EACH(X, A, IN, in_type)                                                                 \
    X(A, IN, in_type, INT32, int32_t)                                                              \
    X(A, IN, in_type, INT64, int64_t)                                                              \
    X(A, IN, in_type, UINT64, uint64_t)                                                            \
    X(A, IN, in_type, FLOAT32, float)                                                              \
    X(A, IN, in_type, FLOAT64, double)

#define DEFINE_CONVERT_OF(A, IN, in_type, ACC, acc_type) DEFINE_CONVERT(IN, in_type, ACC, acc_type)
#define DEFINE_FROM(NAME, type, name, member)                                                      \
    TO_EACH(DEFINE_FOLD, SUM, NAME, type)                                                          \
    TO_EACH(DEFINE_FOLD, PROD, NAME, type)                                                         \
    TO_EACH(DEFINE_FOLD, MIN, NAME, type)                                                          \
    TO_EACH(DEFINE_FOLD, MAX, NAME, type)                                                          \
    TO_EACH(DEFINE_CONVERT_OF, , NAME, type)                                                       \
    DEFINE_HALVE(SUM, NAME, type)                                                                  \
    DEFINE_HALVE(PROD, NAME, type)                                                                 \
    DEFINE_HALVE(MIN, NAME, type)                                                                  \
    DEFINE_HALVE(MAX, NAME, type)

ELEMENT_TYPES(DEFINE_FROM)

#define FOLD_ENTRY(OP, IN, in_type, ACC, acc_type)   [ELEMENT_##ACC] = fold_##OP##_##IN##_##ACC,
#define CONVERT_ENTRY(A, IN, in_type, ACC, acc_type) [ELEMENT_##ACC] = convert_##IN##_##ACC,

static fold *const folds[OPS][ELEMENTS][ELEMENTS] = {
#define SUM_ROW(NAME, type, name, member)                                                          \
    [OP_SUM][ELEMENT_##NAME] = {TO_EACH(FOLD_ENTRY, SUM, NAME, type)},
#define PROD_ROW(NAME, type, name, member)                                                         \
    [OP_PROD][ELEMENT_##NAME] = {TO_EACH(FOLD_ENTRY, PROD, NAME, type)},
#define MIN_ROW(NAME, type, name, member)                                                          \
    [OP_MIN][ELEMENT_##NAME] = {TO_EACH(FOLD_ENTRY, MIN, NAME, type)},
#define MAX_ROW(NAME, type, name, member)                                                          \
    [OP_MAX][ELEMENT_##NAME] = {TO_EACH(FOLD_ENTRY, MAX, NAME, type)},
    ELEMENT_TYPES(SUM_ROW) ELEMENT_TYPES(PROD_ROW) ELEMENT_TYPES(MIN_ROW) ELEMENT_TYPES(MAX_ROW)};

static convert *const conversions[ELEMENTS][ELEMENTS] = {
#define CONVERT_ROW(NAME, type, name, member)                                                      \
    [ELEMENT_##NAME] = {TO_EACH(CONVERT_ENTRY, , NAME, type)},
    ELEMENT_TYPES(CONVERT_ROW)};

static halve *const halvings[OPS][ELEMENTS] = {
#define HALVE_ROW(NAME, type, name, member)                                                        \
    [OP_SUM][ELEMENT_##NAME] = halve_SUM_##NAME, [OP_PROD][ELEMENT_##NAME] = halve_PROD_##NAME,    \
    [OP_MIN][ELEMENT_##NAME] = halve_MIN_##NAME, [OP_MAX][ELEMENT_##NAME] = halve_MAX_##NAME,
    ELEMENT_TYPES(HALVE_ROW)};

/* ---- the loop ---- */

struct state {
    pid_t maker; /* OpenMP's threads do not survive a fork, so only the process that made the state
                    uses them */
};

/* What is folded, and with what. */
struct work {
    const char *elements;
    uint64_t n;
    enum op op;
    enum element input, accumulator;
    bool parallel;
};

/* Folds every chunk to one partial. */
static void fold_chunks(const struct work *work, char *partials)
{
    fold *const fold_chunk = folds[work->op][work->input][work->accumulator];
    const size_t in_size = element_size(work->input), acc_size = element_size(work->accumulator);
    const int64_t chunks = (int64_t)((work->n + CHUNK - 1) / CHUNK);
#pragma omp parallel for schedule(static) if (work->parallel && work->n > SERIAL_BELOW)
    for (int64_t c = 0; c < chunks; c++) {
        const uint64_t start = (uint64_t)c * CHUNK, rest = work->n - start;
        fold_chunk(work->elements + start * in_size, rest < CHUNK ? rest : CHUNK,
                   partials + (size_t)c * acc_size);
    }
}

static bool interrupted(struct run *run)
{
    if (!run->watch->interrupted(run->watch->context))
        return false;
    failure_note(&run->failure, FAILURE_EXCEPTION, "interrupted");
    return true;
}

/* Chunks, then chunks of partials, until one value is left. */
static bool fold_all(struct work work, struct run *run)
{
    const size_t in_size = element_size(work.input), acc_size = element_size(work.accumulator);
    char *partials = malloc((work.n / CHUNK + 1) * acc_size);
    if (!partials) {
        failure_note(&run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    for (uint64_t at = 0; at < work.n; at += STRETCH) {
        struct work stretch = work;
        stretch.elements += at * in_size;
        stretch.n = work.n - at < STRETCH ? work.n - at : STRETCH;
        if (at && interrupted(run)) {
            free(partials);
            return false;
        }
        fold_chunks(&stretch, partials + at / CHUNK * acc_size);
    }
    const uint64_t left = (work.n + CHUNK - 1) / CHUNK;
    const struct work rest = {partials,         left,         work.op, work.accumulator,
                              work.accumulator, work.parallel};
    const bool folded = left == 1 || fold_all(rest, run);
    if (left == 1)
        memcpy(&run->result, partials, acc_size);
    free(partials);
    return folded;
}

/* ---- the recursion ---- */

static void recurse(halve *fold_upper_half, void *elements, size_t n)
{
    if (n <= 1)
        return;
    fold_upper_half(elements, n);
    recurse(fold_upper_half, elements, n - n / 2);
}

/* ---- runs ---- */

static void *working_copy(const struct plan *plan, struct failure *failure)
{
    void *copy = malloc(plan->n * element_size(plan->accumulator));
    if (!copy)
        failure_note(failure, FAILURE_MEMORY, "out of memory for a working copy of %llu elements",
                     (unsigned long long)plan->n);
    return copy;
}

struct scratch {
    char *memory;
    size_t bytes;
};

/* More memory than the last cache holds, to flush it with. */
static struct scratch scratch_new(bool wanted)
{
    enum { TIMES = 2, UNKNOWN_CACHE = 32 << 20 };
    const uint64_t cache = processor_last_level_cache();
    const size_t bytes = TIMES * (size_t)(cache ? cache : UNKNOWN_CACHE);
    return (struct scratch){wanted ? malloc(bytes) : NULL, bytes};
}

static void flush(struct scratch scratch)
{
    if (scratch.memory)
        memset(scratch.memory, 0x5a, scratch.bytes);
}

static void restore_copy(const struct plan *plan, void *copy)
{
    if (copy)
        conversions[plan->input][plan->accumulator](copy, plan->data, plan->n);
}

static bool run_once(const struct plan *plan, void *copy, bool parallel, struct run *run)
{
    if (!copy) {
        const struct work work = {plan->data,  plan->n,           plan->op,
                                  plan->input, plan->accumulator, parallel};
        return fold_all(work, run);
    }
    recurse(halvings[plan->op][plan->accumulator], copy, plan->n);
    memcpy(&run->result, copy, element_size(plan->accumulator));
    return true;
}

static bool measure(const struct plan *plan, void *copy, bool parallel, struct run *run)
{
    struct timing *timing = run->timing;
    const struct scratch scratch = scratch_new(timing->cold);
    bool ran = !timing->cold || scratch.memory;
    if (!ran)
        failure_note(&run->failure, FAILURE_MEMORY, "out of memory to flush the caches with");
    for (unsigned s = 0; ran && s < timing->warmup + timing->samples; s++) {
        if (interrupted(run)) {
            ran = false;
            break;
        }
        restore_copy(plan, copy);
        flush(scratch);
        const double began = timing_now();
        ran = run_once(plan, copy, parallel, run);
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = timing->first_pass[s - timing->warmup] =
                timing_now() - began;
    }
    timing->passes = 1;
    timing->grid = timing->block = 0;
    free(scratch.memory);
    return ran;
}

static bool run(void *opaque, const struct plan *plan, struct run *run)
{
    const struct state *state = opaque;
    const bool parallel = getpid() == state->maker;
    void *copy = NULL;
    if (plan->method && !(copy = working_copy(plan, &run->failure)))
        return false;
    if (!run->timing)
        restore_copy(plan, copy);
    const bool ran =
        run->timing ? measure(plan, copy, parallel, run) : run_once(plan, copy, parallel, run);
    free(copy);
    return ran;
}

/* ---- the read limit ---- */

static uint64_t read_words(const uint64_t *words, int64_t n, bool parallel)
{
    uint64_t folded = 0;
#pragma omp parallel for schedule(static) reduction(^ : folded) if (parallel)
    for (int64_t i = 0; i < n; i++)
        folded ^= words[i];
    return folded;
}

static bool read_memory(void *opaque, int index, size_t bytes, struct run *run)
{
    (void)index;
    const struct state *state = opaque;
    struct timing *timing = run->timing;
    uint64_t *words = malloc(bytes);
    const struct scratch scratch = scratch_new(true);
    if (!words || !scratch.memory) {
        failure_note(&run->failure, FAILURE_MEMORY, "out of memory to read");
        free(words);
        free(scratch.memory);
        return false;
    }
    timing_random(words, bytes);
    volatile uint64_t sink;
    bool read = true;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        if (interrupted(run)) {
            read = false;
            break;
        }
        flush(scratch);
        const double began = timing_now();
        sink = read_words(words, (int64_t)(bytes / sizeof *words), getpid() == state->maker);
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = timing_now() - began;
    }
    (void)sink;
    free(words);
    free(scratch.memory);
    return read;
}

/* ---- the backend ---- */

static void *create(void)
{
    struct state *state = malloc(sizeof *state);
    if (state)
        state->maker = getpid();
    return state;
}

static int count(struct failure *failure)
{
    (void)failure;
    return 1;
}

static bool describe(int index, struct device *device)
{
    (void)index;
    *device = (struct device){.units = processor_cores(),
                              .memory = processor_memory(),
                              .l2_cache = processor_last_level_cache()};
    snprintf(device->name, sizeof device->name, "host");
    processor_title(device->title, sizeof device->title);
    return true;
}

const struct backend backend_host = {
    .name = "host",
    .place = METHOD_ON_HOST,
    .create = create,
    .destroy = free,
    .count = count,
    .describe = describe,
    .run = run,
    .read = read_memory,
};
