/* The host backend: plain loops, shared among the cores by OpenMP, and the recursion that the
 * ladder starts from.
 *
 * A layout is folded in chunks of fixed length and the chunks' results in turn, so a sum's bits do
 * not depend on the number of threads nor on where its elements lie, and rounding errors grow with
 * the chunk's length and not with the array's. Elements that are not ready for a loop are gathered
 * into a thread's own memory first, a chunk at a time. */
#define _GNU_SOURCE

#include "host/backend.h"

#include "common/clock.h"
#include "common/processor.h"
#include "host/fold.h"
#include "run/gather.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    CHUNK = 4096,      /* elements folded by one loop */
    STRETCH = 1 << 26, /* elements folded to one partial, and between two thoughts of the watch */
    PIECE = 1 << 24,   /* the latter where elements are gathered first */
    SERIAL_BELOW = 1 << 16 /* elements that are not worth waking other threads for */
};

struct state {
    pid_t maker; /* OpenMP's threads do not survive a fork, so only the process that made the state
                    uses them */
};

struct job {
    const struct plan *plan;
    struct run *run;
    bool parallel;
    double looked; /* when the watch was looked at last */
};

/* Looking takes the GIL, which other threads want, too: not more often than a person would mind. */
static bool interrupted(struct job *job)
{
    const double now = clock_now(), patience = 0.05;
    if (now - job->looked < patience)
        return false;
    const struct watch *watch = job->run->watch;
    const bool stop = watch->interrupted(watch->context);
    if (stop)
        failure_note(&job->run->failure, FAILURE_EXCEPTION, "interrupted");
    job->looked = clock_now();
    return stop;
}

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- the loop ---- */

/* How a layout's elements come to a fold. */
enum way { IN_PLACE, GATHERED, CONVERTED };

struct loop {
    const struct layout *layout;
    enum way way;
    fold *fold_elements, *fold_partials;
    size_t size, width; /* of an element as it lies and of an accumulator, bytes */
    union scalar identity;
};

static struct loop loop_of(const struct plan *plan)
{
    const struct layout *layout = plan->layout;
    fold *const direct = fold_find(plan->op, layout->input, layout->type);
    fold *const partials = fold_of_accumulators(plan->op, plan->accumulator);
    return (struct loop){.layout = layout,
                         .way = !direct      ? CONVERTED
                                : plan->flat ? IN_PLACE
                                             : GATHERED,
                         .fold_elements = direct ? direct : partials,
                         .fold_partials = partials,
                         .size = element_size(layout->input),
                         .width = element_size(plan->accumulator),
                         .identity = op_identity(plan->op, plan->accumulator)};
}

/* Folds the elements that the mask lets through to one partial. */
static void fold_gathered(const struct loop *loop, uint64_t start, uint64_t n, void *partial)
{
    _Alignas(64) char elements[CHUNK * sizeof(union scalar)];
    const uint64_t kept = loop->way == CONVERTED
                              ? gather(loop->layout, start, n, elements)
                              : gather_unconverted(loop->layout, start, n, elements);
    if (kept)
        loop->fold_elements(elements, kept, partial);
    else
        memcpy(partial, &loop->identity, loop->width);
}

static void fold_chunk(const struct loop *loop, uint64_t start, uint64_t n, void *partial)
{
    if (loop->way == IN_PLACE)
        loop->fold_elements((const char *)loop->layout->data + start * loop->size, n, partial);
    else
        fold_gathered(loop, start, n, partial);
}

static uint64_t chunks_of(uint64_t n)
{
    return (n + CHUNK - 1) / CHUNK;
}

static void fold_chunks(const struct loop *loop, uint64_t start, uint64_t n, bool parallel,
                        char *partials)
{
    const int64_t chunks = (int64_t)chunks_of(n);
#pragma omp parallel for schedule(static) if (parallel && n > SERIAL_BELOW)
    for (int64_t c = 0; c < chunks; c++) {
        const uint64_t at = (uint64_t)c * CHUNK;
        fold_chunk(loop, start + at, least(n - at, CHUNK), partials + (size_t)c * loop->width);
    }
}

/* Folds partials in their place, chunk by chunk, until the first is all. */
static void fold_partials(const struct loop *loop, char *partials, uint64_t n)
{
    for (; n > 1; n = chunks_of(n))
        for (uint64_t c = 0; c < chunks_of(n); c++)
            loop->fold_partials(partials + c * CHUNK * loop->width, least(n - c * CHUNK, CHUNK),
                                partials + c * loop->width);
}

/* Folds a stretch's elements; the result is the first of the partials. */
static bool fold_stretch(struct job *job, const struct loop *loop, uint64_t start, uint64_t n,
                         char *partials)
{
    const uint64_t piece = loop->way == IN_PLACE ? STRETCH : PIECE;
    for (uint64_t at = 0; at < n; at += piece) {
        if ((start || at) && interrupted(job))
            return false;
        fold_chunks(loop, start + at, least(n - at, piece), job->parallel,
                    partials + at / CHUNK * loop->width);
    }
    fold_partials(loop, partials, chunks_of(n));
    return true;
}

/* Stretches, and then the partials that they leave. */
static bool fold_all(struct job *job)
{
    const struct loop loop = loop_of(job->plan);
    const uint64_t n = job->plan->n, stretches = (n + STRETCH - 1) / STRETCH;
    const uint64_t chunks = chunks_of(least(n, STRETCH));
    char *partials = malloc((stretches + chunks) * loop.width);
    if (!partials) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    char *const of_chunks = partials + stretches * loop.width;
    bool folded = true;
    for (uint64_t s = 0; folded && s < stretches; s++) {
        const uint64_t start = s * STRETCH;
        folded = fold_stretch(job, &loop, start, least(n - start, STRETCH), of_chunks);
        memcpy(partials + s * loop.width, of_chunks, loop.width);
    }
    if (folded) {
        fold_partials(&loop, partials, stretches);
        memcpy(&job->run->result, partials, loop.width);
    }
    free(partials);
    return folded;
}

/* ---- the recursion ---- */

/* The elements that take part, as accumulators, for the recursion to work on. */
struct copy {
    char *values; /* NULL: the method needs none */
    uint64_t n;
};

static bool make_copy(const struct plan *plan, struct copy *copy, struct failure *failure)
{
    size_t bytes;
    if (!__builtin_mul_overflow(plan->n, element_size(plan->accumulator), &bytes))
        copy->values = malloc(bytes);
    if (!copy->values)
        failure_note(failure, FAILURE_MEMORY, "out of memory for a working copy of %llu elements",
                     (unsigned long long)plan->n);
    return copy->values;
}

static bool fill_copy(struct job *job, struct copy *copy)
{
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    copy->n = 0;
    for (uint64_t at = 0; copy->values && at < plan->n; at += PIECE) {
        if (at && interrupted(job))
            return false;
        copy->n +=
            gather(plan->layout, at, least(plan->n - at, PIECE), copy->values + copy->n * width);
    }
    return true;
}

/* Folds the upper half onto the lower, and then the lower in the same way. */
static bool recurse(struct job *job, fold_pairs *fold_upper, size_t width, char *values, uint64_t n)
{
    if (n <= 1)
        return true;
    const uint64_t half = n - n / 2;
    for (uint64_t at = 0; at < n / 2; at += PIECE) {
        if (at && interrupted(job))
            return false;
        fold_upper(values + at * width, values + (half + at) * width, least(n / 2 - at, PIECE));
    }
    return recurse(job, fold_upper, width, values, half);
}

static bool fold_copy(struct job *job, const struct copy *copy)
{
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    fold_pairs *const fold_upper = fold_pairs_find(plan->op, plan->accumulator);
    if (!recurse(job, fold_upper, width, copy->values, copy->n))
        return false;
    job->run->result = op_identity(plan->op, plan->accumulator);
    if (copy->n)
        memcpy(&job->run->result, copy->values, width);
    return true;
}

/* ---- runs ---- */

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

static bool run_once(struct job *job, const struct copy *copy)
{
    return copy->values ? fold_copy(job, copy) : fold_all(job);
}

/* One run, timed from where the working copy is as new and the caches are as asked for. */
static bool sample(struct job *job, struct copy *copy, struct scratch scratch, double *seconds)
{
    if (interrupted(job) || !fill_copy(job, copy))
        return false;
    flush(scratch);
    const double began = clock_now();
    const bool ran = run_once(job, copy);
    *seconds = clock_now() - began;
    return ran;
}

static bool measure(struct job *job, struct copy *copy)
{
    struct timing *timing = job->run->timing;
    const struct scratch scratch = scratch_new(timing->cold);
    bool ran = !timing->cold || scratch.memory;
    if (!ran)
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory to flush the caches with");
    for (unsigned s = 0; ran && s < timing->warmup + timing->samples; s++) {
        double seconds;
        ran = sample(job, copy, scratch, &seconds);
        if (ran && s >= timing->warmup)
            timing->seconds[s - timing->warmup] = timing->first_pass[s - timing->warmup] = seconds;
    }
    timing->passes = 1;
    timing->grid = timing->block = 0;
    free(scratch.memory);
    return ran;
}

/* A mean is divided by what the mask lets through. */
static bool count_selected(struct job *job)
{
    const struct plan *plan = job->plan;
    if (!plan->finish.mean || !plan->layout->mask)
        return true;
    for (uint64_t at = 0; at < plan->n; at += STRETCH) {
        if (interrupted(job))
            return false;
        job->run->count += gather_count(plan->layout, at, least(plan->n - at, STRETCH));
    }
    return true;
}

static bool run(void *opaque, const struct plan *plan, struct run *run)
{
    const struct state *state = opaque;
    struct job job = {.plan = plan, .run = run, .parallel = getpid() == state->maker};
    struct copy copy = {0};
    if (plan->method && !make_copy(plan, &copy, &run->failure))
        return false;
    const bool ran = run->timing
                         ? measure(&job, &copy)
                         : fill_copy(&job, &copy) && run_once(&job, &copy) && count_selected(&job);
    free(copy.values);
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
    struct job job = {.run = run, .parallel = getpid() == state->maker};
    struct timing *timing = run->timing;
    uint64_t *words = malloc(bytes);
    const struct scratch scratch = scratch_new(true);
    if (!words || !scratch.memory) {
        failure_note(&run->failure, FAILURE_MEMORY, "out of memory to read");
        free(words);
        free(scratch.memory);
        return false;
    }
    clock_random(words, bytes);
    volatile uint64_t sink;
    bool read = true;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        if (interrupted(&job)) {
            read = false;
            break;
        }
        flush(scratch);
        const double began = clock_now();
        sink = read_words(words, (int64_t)(bytes / sizeof *words), job.parallel);
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = clock_now() - began;
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

static int count(void *state, struct failure *failure)
{
    (void)state;
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
    .platform = {.name = "host", .place = METHOD_ON_HOST, .automatic = METHODS, .count = count},
    .create = create,
    .destroy = free,
    .describe = describe,
    .run = run,
    .read = read_memory,
};
