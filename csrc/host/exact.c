/* Each thread adds a chunk at a time to sums of its own, which are merged in the end: no order
 * makes a difference. */
#include "host/exact.h"

#include "common/arithmetic.h"
#include "host/exact_adder.h"
#include "run/gather.h"
#include "run/watch.h"

#include <fenv.h>
#include <stdlib.h>

enum {
    CHUNK = LOOP_MOST, /* elements at a time */
    STRETCH = 1 << 24, /* elements of each thread between two thoughts of the watch */
    CACHE_LINE = 64,
    WIDEST_ELEMENT = 16 /* bytes */
};

/* Where a thread gathers elements that do not lie ready. */
struct buffer {
    _Alignas(CACHE_LINE) char elements[CHUNK * WIDEST_ELEMENT];
};

static void merge(struct exact_sums *sums, const struct exact_sums *others)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_merge(&sums->parts[part], &others->parts[part]);
}

/* Elements that are added without a thought of the watch. */
struct part {
    enum instructions instructions;
    const struct plan *plan;
    uint64_t start, n, piece; /* elements, the last: of a piece */
    struct exact_adder *own;
    struct buffer *buffers;
};

static uint64_t chunks_of(uint64_t n)
{
    return divide_up(n, CHUNK);
}

/* Pieces are so large that taking one costs little, and so many that threads end together; a few
 * chunks are not worth waking other threads for. */
static uint64_t piece_of(uint64_t n)
{
    enum { SERIAL = 16, LEAST = 4, PIECES = 256 };
    const uint64_t shared = divide_up(chunks_of(n), PIECES);
    return (chunks_of(n) <= SERIAL ? SERIAL : shared > LEAST ? shared : LEAST) * CHUNK;
}

static void add_at(const struct part *part, uint64_t at, uint64_t n, unsigned thread)
{
    const struct plan *plan = part->plan;
    const char *elements = plan->layout->data;
    if (plan->flat) {
        exact_adder_add(&part->own[thread], plan, elements + at * element_size(plan->layout->input),
                        n);
    } else {
        char *const buffer = part->buffers[thread].elements;
        n = gather_unconverted(part->instructions, plan->layout, at, n, buffer);
        exact_adder_add(&part->own[thread], plan, buffer, n);
    }
}

/* In plain arithmetic, whatever the caller has set. */
static void add_piece(void *context, uint64_t index, unsigned thread)
{
    const struct part *part = context;
    const uint64_t begin = index * part->piece, end = least(begin + part->piece, part->n);
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    windows_forget(&part->own[thread].ways.windows);
    for (uint64_t at = begin; at < end; at += CHUNK)
        add_at(part, part->start + at, least(end - at, CHUNK), thread);
    fesetenv(&callers);
}

/* Were it as short for all of them, they would wait for the last of them as long as they add: 16
 * threads are through with 2^24 elements in a quarter of a millisecond. */
static uint64_t stretch_of(const struct job *job)
{
    return (uint64_t)threads_for(&job->threads, UINT64_MAX) * STRETCH;
}

static bool add_stretches(struct job *job, struct exact_adder *own, struct buffer *buffers)
{
    const struct plan *plan = job->plan;
    const uint64_t stretch = stretch_of(job);
    for (uint64_t start = 0; start < plan->n; start += stretch) {
        if (start && watch_interrupted_lately(job->run, &job->asked))
            return false;
        const uint64_t n = least(plan->n - start, stretch);
        struct part part = {job->instructions, plan, start, n, piece_of(n), own, buffers};
        threads_run(&job->threads, divide_up(n, part.piece), false, add_piece, &part);
    }
    return true;
}

static unsigned threads_of(const struct job *job)
{
    const uint64_t n = least(job->plan->n, stretch_of(job));
    return threads_for(&job->threads, divide_up(n, piece_of(n)));
}

/* What takes one thread, and lies ready, takes no memory. */
static bool add_alone(struct job *job, struct exact_sums *sums)
{
    struct exact_adder own;
    exact_adder_start(&own, job);
    const bool added = add_stretches(job, &own, NULL);
    *sums = own.sums;
    return added;
}

static bool add_together(struct job *job, struct exact_adder *own, struct buffer *buffers,
                         struct exact_sums *sums)
{
    const unsigned threads = threads_of(job);
    for (unsigned thread = 0; thread < threads; thread++)
        exact_adder_start(&own[thread], job);
    if (!add_stretches(job, own, buffers))
        return false;
    exact_sums_clear(sums);
    for (unsigned thread = 0; thread < threads; thread++)
        merge(sums, &own[thread].sums);
    return true;
}

bool exact_run(struct job *job, struct exact_sums *sums)
{
    const unsigned threads = threads_of(job);
    if (threads == 1 && job->plan->flat)
        return add_alone(job, sums);
    struct exact_adder *const own = aligned_alloc(CACHE_LINE, threads * sizeof *own);
    struct buffer *const buffers =
        job->plan->flat ? NULL : aligned_alloc(CACHE_LINE, threads * sizeof *buffers);
    const bool room = own && (buffers || job->plan->flat);
    const bool added = room && add_together(job, own, buffers, sums);
    if (!room)
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for exact sums");
    free(buffers);
    free(own);
    return added;
}

void exact_explain(const struct job *job, struct loops *loops)
{
    static const char *const ways[][2] = {{"gathered first", "gathered first, just added"},
                                          {"as it lies", "as it lies, just added"}};
    *loops = (struct loops){.way = ways[job->plan->flat][exact_adder_just_adds(job)],
                            .chunk = CHUNK,
                            .threads = threads_of(job),
                            .instructions = instructions_name(job->instructions)};
}
