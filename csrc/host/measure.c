#define _GNU_SOURCE

#include "host/measure.h"

#include "common/arithmetic.h"
#include "common/process.h"
#include "common/processor.h"
#include "run/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- caches ---- */

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

/* ---- a plan's work ---- */

/* One run, timed from where the working copy is as new and the caches are as asked for. */
static bool sample(struct work *work, struct scratch scratch, double *seconds)
{
    if (watch_interrupted_lately(work->job.run, &work->job.asked) || !work_prepare(work))
        return false;
    flush(scratch);
    const double began = clock_now();
    const bool ran = work_fold(work);
    *seconds = clock_now() - began;
    return ran;
}

bool measure_work(struct work *work)
{
    struct run *run = work->job.run;
    struct timing *timing = run->timing;
    const struct scratch scratch = scratch_new(timing->cold);
    bool ran = !timing->cold || scratch.memory;
    if (!ran)
        failure_note(&run->failure, FAILURE_MEMORY, "out of memory to flush the caches with");
    for (unsigned s = 0; ran && s < timing->warmup + timing->samples; s++) {
        double seconds;
        ran = sample(work, scratch, &seconds);
        if (ran && s >= timing->warmup)
            timing->seconds[s - timing->warmup] = timing->first_pass[s - timing->warmup] = seconds;
    }
    timing->passes = 1;
    timing->grid = timing->block = 0;
    free(scratch.memory);
    return ran;
}

/* ---- the read limit ---- */

/* Words; of a cache's line, of all lanes together, and how far ahead is asked for. */
enum { WORDS_A_PIECE = 1 << 16, LINE = 8, LANES = 2 * LINE, AHEAD = 128 };

/* Words that are read and combined, so that no compiler leaves a load out. */
struct reading {
    const uint64_t *words;
    uint64_t n;
    _Atomic uint64_t folded;
};

static void read_piece(void *context, uint64_t index, unsigned thread)
{
    struct reading *reading = context;
    const uint64_t first = index * WORDS_A_PIECE, end = least(first + WORDS_A_PIECE, reading->n);
    uint64_t lanes[LANES] = {0}, i = first;
    (void)thread;
    for (; i + LANES <= end; i += LANES) {
        for (unsigned line = 0; line < LANES; line += LINE)
            __builtin_prefetch(reading->words + i + AHEAD + line);
        for (unsigned k = 0; k < LANES; k++)
            lanes[k] ^= reading->words[i + k];
    }
    for (; i < end; i++)
        lanes[0] ^= reading->words[i];
    for (unsigned k = 1; k < LANES; k++)
        lanes[0] ^= lanes[k];
    atomic_fetch_xor_explicit(&reading->folded, lanes[0], memory_order_relaxed);
}

static bool read_often(struct job *job, struct reading *reading, struct scratch scratch)
{
    struct timing *timing = job->run->timing;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        if (watch_interrupted_lately(job->run, &job->asked))
            return false;
        flush(scratch);
        const double began = clock_now();
        threads_run(&job->threads, divide_up(reading->n, WORDS_A_PIECE), false, read_piece,
                    reading);
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = clock_now() - began;
    }
    return true;
}

/* As NumPy's arrays have them, where the system lends such. */
static void *memory_of_large_pages(size_t bytes)
{
    enum { LARGE_PAGE = 2 << 20 };
    const size_t whole = divide_up(bytes, LARGE_PAGE) * LARGE_PAGE;
    void *memory = aligned_alloc(LARGE_PAGE, whole);
    if (memory)
        madvise(memory, whole, MADV_HUGEPAGE);
    return memory;
}

bool measure_reading(struct job *job, size_t bytes)
{
    uint64_t *words = memory_of_large_pages(bytes);
    const bool cold = job->run->timing->cold;
    const struct scratch scratch = scratch_new(cold);
    bool read = words && (!cold || scratch.memory);
    if (read) {
        clock_random(words, bytes);
        struct reading reading = {.words = words, .n = bytes / sizeof *words};
        read = read_often(job, &reading, scratch);
    } else {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory to read");
    }
    free(words);
    free(scratch.memory);
    return read;
}
