/* Floats go through windows, a chunk at a time, and what does not fit there is added one by one.
 * Each thread adds to sums of its own, which are merged in the end: no order makes a difference. */
#include "host/exact.h"

#include "common/arithmetic.h"
#include "host/one_by_one.h"
#include "host/products.h"
#include "host/windows.h"
#include "run/gather.h"
#include "run/watch.h"

#include <fenv.h>
#include <stdlib.h>

enum {
    CHUNK = LOOP_MOST, /* elements at a time */
    STRETCH = 1 << 24, /* elements between two thoughts of the watch */
    CACHE_LINE = 64,
    WIDEST_ELEMENT = 16 /* bytes */
};

/* What one thread works with, in cache lines of its own. */
struct own {
    _Alignas(CACHE_LINE) struct exact_sums sums;
    struct windows windows;
};

/* Where a thread brings elements together that do not lie ready. */
struct buffer {
    _Alignas(CACHE_LINE) char elements[CHUNK * WIDEST_ELEMENT];
};

static void merge(struct exact_sums *sums, const struct exact_sums *others)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_merge(&sums->parts[part], &others->parts[part]);
}

/* ---- a chunk ---- */

/* How many parts of an element are added. */
static unsigned parts_of(const struct layout *layout)
{
    return element_is_complex(layout->input) && element_is_complex(layout->type) ? 2 : 1;
}

static bool leaves_out(const struct plan *plan)
{
    return plan->fold == FOLD_nansum;
}

/* Whether it is the square of each part that is added. */
static bool is_squared(const struct plan *plan)
{
    return plan->fold == FOLD_norm2;
}

/* Whether elements are floats, one after the other, of which each is left out by itself. */
static bool fits_windows(const struct plan *plan)
{
    const enum element input = plan->layout->input;
    return !element_is_integer(input) &&
           element_is_complex(input) == (parts_of(plan->layout) > 1) &&
           !(leaves_out(plan) && element_is_complex(input));
}

static void start(struct own *own, const struct job *job)
{
    const struct plan *plan = job->plan;
    const enum element type = element_real_part(plan->layout->input);
    exact_sums_clear(&own->sums);
    if (is_squared(plan))
        windows_start_products(&own->windows, job->instructions, type);
    else
        windows_start(&own->windows, job->instructions, type, leaves_out(plan));
}

/* Adds floats of a complex type's parts in turn, or of a real type; squares of both are one sum. */
static bool add_floats(const struct plan *plan, const void *floats, size_t n, struct own *own,
                       uint64_t *numbers)
{
    struct exact *const sums = own->sums.parts;
    const bool apart = parts_of(plan->layout) > 1 && !is_squared(plan);
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums[part], WINDOWS_LOAD);
    return windows_add(&own->windows, floats, floats, n, &sums[EXACT_REAL],
                       &sums[apart ? EXACT_IMAGINARY : EXACT_REAL], numbers);
}

static uint64_t add_one_by_one(const struct plan *plan, const void *elements, size_t n,
                               struct exact_sums *sums)
{
    const enum element input = plan->layout->input, part = element_real_part(input);
    const unsigned parts = parts_of(plan->layout);
    struct exact *const sum = &sums->parts[EXACT_REAL];
    if (!is_squared(plan))
        return one_by_one_add(elements, n, input, parts, leaves_out(plan), sums);
    products_add(elements, part, elements, part, n * parts, sum, sum);
    return n;
}

/* Adds elements that lie one after the other: no more than a loop takes floats. */
static void add_elements(const struct plan *plan, const void *elements, size_t n, struct own *own)
{
    const unsigned parts = parts_of(plan->layout);
    uint64_t added;
    if (n == 0)
        return;
    if (fits_windows(plan) && add_floats(plan, elements, n * parts, own, &added))
        added /= parts;
    else
        added = add_one_by_one(plan, elements, n, &own->sums);
    for (int part = 0; part < EXACT_PARTS; part++)
        own->sums.parts[part].counts[EXACT_COUNT] += (int64_t)added;
}

static void add_chunk(const struct plan *plan, const char *elements, size_t n, struct own *own)
{
    const size_t most = CHUNK / parts_of(plan->layout), size = element_size(plan->layout->input);
    for (size_t at = 0; at < n; at += most)
        add_elements(plan, elements + at * size, least(n - at, most), own);
}

/* ---- many chunks ---- */

/* Elements that are added without a thought of the watch. */
struct part {
    enum instructions instructions;
    const struct plan *plan;
    uint64_t start, n, piece; /* elements, the last: of a piece */
    struct own *own;
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
        add_chunk(plan, elements + at * element_size(plan->layout->input), n, &part->own[thread]);
    } else {
        char *const buffer = part->buffers[thread].elements;
        n = gather_unconverted(part->instructions, plan->layout, at, n, buffer);
        add_chunk(plan, buffer, n, &part->own[thread]);
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
    windows_forget(&part->own[thread].windows);
    for (uint64_t at = begin; at < end; at += CHUNK)
        add_at(part, part->start + at, least(end - at, CHUNK), thread);
    fesetenv(&callers);
}

static bool add_stretches(struct job *job, struct own *own, struct buffer *buffers)
{
    const struct plan *plan = job->plan;
    for (uint64_t start = 0; start < plan->n; start += STRETCH) {
        if (start && watch_interrupted_lately(job->run, &job->asked))
            return false;
        const uint64_t n = least(plan->n - start, STRETCH);
        struct part part = {job->instructions, plan, start, n, piece_of(n), own, buffers};
        threads_run(job->threads, divide_up(n, part.piece), false, add_piece, &part);
    }
    return true;
}

static unsigned threads_of(const struct job *job)
{
    const uint64_t n = least(job->plan->n, STRETCH);
    return threads_for(job->threads, divide_up(n, piece_of(n)));
}

/* What takes one thread, and lies ready, takes no memory. */
static bool add_alone(struct job *job, struct exact_sums *sums)
{
    struct own own;
    start(&own, job);
    const bool added = add_stretches(job, &own, NULL);
    *sums = own.sums;
    return added;
}

static bool add_together(struct job *job, struct own *own, struct buffer *buffers,
                         struct exact_sums *sums)
{
    const unsigned threads = threads_of(job);
    for (unsigned thread = 0; thread < threads; thread++)
        start(&own[thread], job);
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
    struct own *const own = aligned_alloc(CACHE_LINE, threads * sizeof *own);
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
    *loops = (struct loops){.way = job->plan->flat ? "as it lies" : "gathered first",
                            .chunk = CHUNK,
                            .threads = threads_of(job),
                            .instructions = instructions_name(job->instructions)};
}
