/* The host backend: plain loops on several cores; and the recursion that the ladder starts from, on
 * one core and a working copy, for folds on the ladder. */
#define _GNU_SOURCE

#include "common/arithmetic.h"
#include "common/processor.h"
#include "cpu/exact/exact.h"
#include "run/explanation.h"
#include "run/result.h"
#include "threads/gather.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

struct host {
    struct threads *threads;
    enum instructions instructions;
    bool reports_rounding; /* the inexact flag works */
};

struct job host_job(void *state)
{
    const struct host *self = state;
    return (struct job){.threads = threads_team(self->threads),
                        .instructions = self->instructions,
                        .reports_rounding = self->reports_rounding};
}

struct work {
    struct job *job;
    char *copy;     /* the recursion's: unmasked elements as accumulators */
    uint64_t count; /* elements folded last, or in the copy */
    union {
        _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
        struct exact_sums exact;
    } folded;
};

/* ---- the recursion ---- */

enum { PIECE = 1 << 24 }; /* elements between polls of the watch */

static bool alloc_copy(struct work *self)
{
    const struct plan *plan = self->job->plan;
    size_t bytes;
    if (!__builtin_mul_overflow(plan->n, element_size(plan->accumulator), &bytes))
        self->copy = malloc(bytes ? bytes : 1);
    return self->copy || failure_record(&self->job->run->failure, FAILURE_MEMORY,
                                        "out of memory for a working copy of %llu elements",
                                        (unsigned long long)plan->n);
}

/* Fills the working copy anew; not measured. */
static bool fill_copy(void *context)
{
    struct work *self = context;
    struct job *job = self->job;
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    self->count = 0;
    for (uint64_t at = 0; self->copy && at < plan->n; at += PIECE) {
        if (at && run_check_interrupt(job->run))
            return false;
        self->count += gather(job->instructions, plan->layout, at, min_u64(plan->n - at, PIECE),
                              self->copy + self->count * width);
    }
    return true;
}

/* Folds the upper half onto the lower until one value is left: the state. Destroys the copy. */
static bool recurse(struct work *self)
{
    struct job *job = self->job;
    const struct plan *plan = job->plan;
    const size_t width = element_size(plan->accumulator);
    merge_pairs *const fold_upper = merge_pairs_loop(plan->fold, plan->accumulator);
    for (uint64_t n = self->count; n > 1; n -= n / 2)
        for (uint64_t at = 0, half = n - n / 2; at < n / 2; at += PIECE) {
            if (at && run_check_interrupt(job->run))
                return false;
            fold_upper(self->copy + at * width, self->copy + (half + at) * width,
                       min_u64(n / 2 - at, PIECE));
        }
    if (self->count)
        memcpy(self->folded.state, self->copy, width);
    else
        state_identity(plan->fold, plan->accumulator, self->folded.state);
    return true;
}

/* ---- one run ---- */

static bool fold(void *context)
{
    struct work *self = context;
    if (self->job->plan->exact)
        return exact_run(self->job, &self->folded.exact);
    return self->copy ? recurse(self) : folding_run(self->job, self->folded.state, &self->count);
}

/* ---- measurements ---- */

/* Runs `timed` as often as the run's timing says, with warm or cold caches, which are flushed by
 * writing more memory than they hold. `before` runs outside the measured time. */
static bool measure(struct job *job, bool (*before)(void *), bool (*timed)(void *), void *context)
{
    enum { FLUSH_FACTOR = 2, CACHE_DEFAULT = 32 << 20 };
    struct timing *timing = job->run->timing;
    const uint64_t cache = processor_last_level_cache();
    const size_t bytes = timing->cold ? FLUSH_FACTOR * (size_t)(cache ? cache : CACHE_DEFAULT) : 0;
    char *const memory = bytes ? malloc(bytes) : NULL;
    bool ran = !bytes || memory ||
               failure_record(&job->run->failure, FAILURE_MEMORY,
                              "out of memory to flush the caches with");
    for (unsigned s = 0; ran && s < timing->warmup + timing->samples; s++) {
        ran = !run_check_interrupt(job->run) && (!before || before(context));
        if (!ran)
            break;
        if (memory)
            memset(memory, 0x5a, bytes);
        const double began = clock_now();
        ran = timed(context);
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = clock_now() - began;
    }
    free(memory);
    return ran;
}

/* Computes one answer, once or as often as the run's timing says. */
static bool work_run(struct job *job)
{
    const struct plan *plan = job->plan;
    struct timing *const timing = job->run->timing;
    struct work self;
    self.job = job;
    self.copy = NULL;
    bool ran = !plan->method || alloc_copy(&self); /* recursive is the host's only named method */
    if (ran && timing) {
        timing->passes = 1;
        timing->grid = timing->block = 0;
        ran = measure(job, fill_copy, fold, &self);
        memcpy(timing->first_pass, timing->seconds, timing->samples * sizeof *timing->seconds);
    } else if (ran) {
        ran = fill_copy(&self) && fold(&self);
    }
    if (ran && plan->exact)
        ran = exact_finish(job, &self.folded.exact);
    else if (ran)
        run_finish(job->run, plan, plan->accumulator, self.folded.state, self.count);
    free(self.copy);
    return ran;
}

bool run_and_store(struct job *job, int64_t place)
{
    const struct results *results = &job->plan->results;
    if (!work_run(job))
        return false;
    for (unsigned v = 0; v < results->values; v++)
        run_store(job->run, job->plan, v,
                  (char *)results->at[v] + place * (int64_t)element_size(results->types[v]));
    return true;
}

static bool work_explain(const struct job *job)
{
    const struct plan *plan = job->plan;
    if (!plan->method)
        return folding_explain(job);
    job->run->explanation->loops =
        (struct loops){.way = "copied, and its upper half added onto the lower",
                       .threads = 1,
                       .copied = plan->n * element_size(plan->accumulator)};
    return true;
}

/* ---- the read limit ---- */

/* In words: a piece of work, a cache line, the accumulators, and the prefetch distance. */
enum { PIECE_WORDS = 1 << 16, LINE = 8, LANES = 2 * LINE, PREFETCH_WORDS = 128 };

/* Words are combined so that the compiler cannot drop loads. */
struct reading {
    const struct thread_team *threads;
    const uint64_t *words;
    uint64_t n;
    _Atomic uint64_t sink;
};

static void read_piece(void *context, uint64_t index, unsigned thread)
{
    struct reading *reading = context;
    const uint64_t first = index * PIECE_WORDS, end = min_u64(first + PIECE_WORDS, reading->n);
    uint64_t lanes[LANES] = {0}, i = first;
    (void)thread;
    for (; i + LANES <= end; i += LANES) {
        for (unsigned line = 0; line < LANES; line += LINE)
            __builtin_prefetch(reading->words + i + PREFETCH_WORDS + line);
        for (unsigned k = 0; k < LANES; k++)
            lanes[k] ^= reading->words[i + k];
    }
    for (; i < end; i++)
        lanes[0] ^= reading->words[i];
    for (unsigned k = 1; k < LANES; k++)
        lanes[0] ^= lanes[k];
    atomic_fetch_xor_explicit(&reading->sink, lanes[0], memory_order_relaxed);
}

static bool read_all(void *context)
{
    struct reading *reading = context;
    threads_run(reading->threads, ceil_div(reading->n, PIECE_WORDS), false, read_piece, reading);
    return true;
}

/* Fills run->timing with the time to read memory, in huge pages if possible, as NumPy's arrays. */
static bool read_memory(struct job *job)
{
    enum { LARGE_PAGE = 2 << 20 };
    const size_t bytes = job->run->timing->bytes, whole = ceil_div(bytes, LARGE_PAGE) * LARGE_PAGE;
    uint64_t *words = aligned_alloc(LARGE_PAGE, whole);
    if (!words)
        return failure_record(&job->run->failure, FAILURE_MEMORY, "out of memory to read");
    madvise(words, whole, MADV_HUGEPAGE);
    random_fill(words, bytes);
    struct reading reading = {&job->threads, words, bytes / sizeof *words, 0};
    const bool read = measure(job, NULL, read_all, &reading);
    free(words);
    return read;
}

/* ---- the backend ---- */

static void *create(void)
{
    struct host *self = malloc(sizeof *self);
    struct threads *const threads = threads_create();
    if (!self || !threads) {
        free(self);
        threads_destroy(threads);
        return NULL;
    }
    const enum instructions instructions = instructions_available();
    *self = (struct host){.threads = threads,
                          .instructions = instructions,
                          .reports_rounding = inexact_flag_works(instructions)};
    return self;
}

static void destroy(void *state)
{
    struct host *self = state;
    if (self)
        threads_destroy(self->threads);
    free(self);
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

static unsigned threads(void *state, unsigned most)
{
    return threads_set_limit(((struct host *)state)->threads, most);
}

/* Calls of a few microseconds, rarely more than twenty: a single loop, folds that are not worth
 * another thread, and few elements along axes. */
static bool is_brief(const struct plan *plan)
{
    if (plan->method || plan->exact || plan->elements.list || plan->segments.of || plan->factors)
        return false;
    if (plan->axes)
        return plan->n <= CHUNK_MAX && plan->axes->results <= CHUNK_MAX / 4 &&
               plan->n * plan->axes->results <= CHUNK_MAX;
    return plan->elements.flat && (plan->n <= CHUNK_MAX || folding_is_short(plan));
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    struct job job = host_job(state);
    job.plan = plan;
    job.run = run;
    if (!plan)
        return read_memory(&job);
    if (plan->segments.of)
        return segments_run(&job);
    if (plan->elements.list && plan->axes)
        return list_run_each(&job);
    if (plan->factors)
        return plan->axes ? dots_run(&job) : dot_run(&job);
    if (plan->axes)
        return plan->exact ? exact_along(&job) : along_run(&job);
    return run->explanation ? work_explain(&job) : work_run(&job);
}

const struct backend backend_host = {
    .platform = {.name = "host", .place = METHOD_ON_HOST, .automatic = METHODS},
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .threads = threads,
    .is_brief = is_brief,
    .run = run,
};
