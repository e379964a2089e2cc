/* A layout is folded in chunks of fixed length and the chunks' states in turn, so a sum's bits do
 * not depend on the number of threads, and rounding errors grow with the chunk's length and not
 * with the array's. */
#include "host/folding.h"

#include "common/arithmetic.h"
#include "host/chunk.h"
#include "host/sharing.h"
#include "run/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    STRETCH = 1 << 26,         /* elements folded to one state, and between two thoughts of the
                                  watch */
    GATHERED_STRETCH = 1 << 24 /* the latter where elements are gathered first */
};

struct folding {
    struct chunks all;
    char *buffers;   /* one a thread, in an array */
    uint64_t hidden; /* elements that did not take part so far */
};

/* ---- many chunks ---- */

static struct sharing sharing_for(const struct plan *plan, enum way way, uint64_t n)
{
    return sharing_of(plan->fold, plan->layout->input,
                      way_gathers(way) ? BRINGS_ELEMENTS : BRINGS_NOTHING, n);
}

static uint64_t chunks_of(uint64_t n)
{
    return divide_up(n, CHUNK);
}

/* Elements that are folded without a thought of the watch. */
struct part {
    const struct folding *folding;
    uint64_t start, n, chunks; /* the last: in each of its pieces */
    char *states;
    _Atomic uint64_t matter; /* chunks; those after them make no difference any more */
    _Atomic uint64_t hidden; /* elements that did not take part */
};

/* The chunks up to this one are enough. */
static void note_enough(struct part *part, uint64_t chunk)
{
    uint64_t matter = atomic_load_explicit(&part->matter, memory_order_relaxed);
    while (chunk + 1 < matter && !atomic_compare_exchange_weak(&part->matter, &matter, chunk + 1))
        ;
}

static bool matters(struct part *part, uint64_t chunk)
{
    return chunk < atomic_load_explicit(&part->matter, memory_order_relaxed);
}

/* Where positions matter, what a piece has found goes from one chunk to the next. */
static void fold_piece(void *context, uint64_t index, unsigned thread)
{
    struct part *part = context;
    const struct folding *self = part->folding;
    char *const buffer = self->buffers + thread * self->all.buffer;
    const uint64_t first = index * part->chunks, end = first + part->chunks;
    char *state = part->states + first * self->all.width;
    uint64_t hidden = 0;
    if (self->all.indexed)
        state_identity(self->all.fold, self->all.accumulator, state);
    for (uint64_t chunk = first; chunk < end && matters(part, chunk);
         chunk++, state += self->all.width) {
        const uint64_t at = chunk * CHUNK, n = least(part->n - at, CHUNK);
        if (self->all.indexed && chunk > first)
            memcpy(state, state - self->all.width, self->all.width);
        hidden += n - chunk_fold(&self->all, buffer, part->start + at, n, state);
        if (self->all.settled && self->all.settled(state, n))
            note_enough(part, chunk);
    }
    if (hidden) /* else threads would wait for one another */
        atomic_fetch_add_explicit(&part->hidden, hidden, memory_order_relaxed);
}

static uint64_t part_length(enum way way)
{
    return way_gathers(way) ? GATHERED_STRETCH : STRETCH;
}

/* Folds a stretch's elements; the result is the first of the states. *over: what lies after makes
 * no difference. */
static bool fold_stretch(struct job *job, struct folding *self, uint64_t start, uint64_t n,
                         char *states, bool *over)
{
    uint64_t chunks = 0;
    *over = false;
    for (uint64_t at = 0; at < n && !*over; at += part_length(self->all.way)) {
        if ((start || at) && watch_interrupted_lately(job->run, &job->asked))
            return false;
        const uint64_t length = least(n - at, part_length(self->all.way));
        const struct sharing sharing = sharing_for(job->plan, self->all.way, length);
        struct part part = {.folding = self,
                            .start = start + at,
                            .n = length,
                            .chunks = sharing.chunks,
                            .states = states + at / CHUNK * self->all.width,
                            .matter = chunks_of(length)};
        threads_run(&job->threads, sharing.pieces, sharing.brief, fold_piece, &part);
        self->hidden += part.hidden;
        chunks = at / CHUNK + part.matter;
        *over = part.matter < chunks_of(length);
    }
    self->all.merge(states, chunks);
    return true;
}

/* Stretches, and then the states that they leave. */
static bool fold_stretches(struct job *job, struct folding *self, char *states, char *of_chunks)
{
    const uint64_t n = job->plan->n;
    uint64_t stretches = 0;
    bool over = false;
    for (uint64_t start = 0; start < n && !over; start += STRETCH) {
        if (!fold_stretch(job, self, start, least(n - start, STRETCH), of_chunks, &over))
            return false;
        memcpy(states + stretches++ * self->all.width, of_chunks, self->all.width);
    }
    self->all.merge(states, stretches);
    return true;
}

/* ---- memory ---- */

/* Room for the states of all stretches, for those of a stretch's chunks, and for a buffer a thread:
 * from the heap, since a thread of the user's may have a stack of any size. */
static bool fold_in_memory(struct job *job, struct folding *self, void *state)
{
    const uint64_t n = job->plan->n, stretches = divide_up(n, STRETCH);
    const struct sharing sharing =
        sharing_for(job->plan, self->all.way, least(n, part_length(self->all.way)));
    const unsigned threads = threads_for(&job->threads, sharing.pieces);
    const size_t of_stretches = chunk_aligned(stretches * self->all.width),
                 of_chunks = chunk_aligned(chunks_of(least(n, STRETCH)) * self->all.width);
    char *const memory =
        aligned_alloc(chunk_aligned(1), of_stretches + of_chunks + threads * self->all.buffer);
    if (!memory) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self->buffers = memory + of_stretches + of_chunks;
    const bool folded = fold_stretches(job, self, memory, memory + of_stretches);
    if (folded)
        memcpy(state, memory, self->all.width);
    free(memory);
    return folded;
}

/* One chunk that lies ready takes no memory. */
static bool fold_at_once(const struct job *job, void *state)
{
    const struct plan *plan = job->plan;
    fold_values *const fold = plan->flat && plan->n <= CHUNK ? chunk_loop(job) : NULL;
    if (!fold)
        return false;
    if (fold_is_indexed(plan->fold))
        state_identity(plan->fold, plan->accumulator, state);
    fold(plan->layout->data, plan->n, 0, state);
    return true;
}

/* Nor do a few of them, where no thread is to be woken for their sake. */
static bool fold_few(const struct job *job, void *state)
{
    enum { FEW = 16 };
    _Alignas(STATE_ALIGNMENT) char states[FEW * STATE_BYTES_MAX];
    const uint64_t n = job->plan->n, chunks = chunks_of(n);
    struct folding self;
    if (chunks > FEW || chunk_way(job) != IN_PLACE ||
        sharing_for(job->plan, IN_PLACE, n).pieces > 1)
        return false;
    chunks_describe(&self.all, job);
    self.buffers = states; /* none is needed */
    struct part part = {
        .folding = &self, .n = n, .chunks = chunks, .states = states, .matter = chunks};
    fold_piece(&part, 0, 0);
    self.all.merge(states, part.matter);
    memcpy(state, states, self.all.width);
    return true;
}

bool folding_run(struct job *job, void *state, uint64_t *count)
{
    const struct plan *plan = job->plan;
    *count = plan->n;
    if (plan->n == 0) {
        state_identity(plan->fold, plan->accumulator, state);
        return true;
    }
    if (fold_at_once(job, state) || fold_few(job, state))
        return true;
    struct folding *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    chunks_describe(&self->all, job);
    const bool folded = fold_in_memory(job, self, state);
    *count -= self->hidden;
    free(self);
    return folded;
}

bool folding_is_short(const struct plan *plan)
{
    /* Any instructions have the same loops. */
    return chunk_loop(&(struct job){.plan = plan, .instructions = INSTRUCTIONS_baseline}) &&
           sharing_for(plan, IN_PLACE, plan->n).pieces == 1;
}

void folding_explain(const struct job *job, struct loops *loops)
{
    const struct plan *plan = job->plan;
    const enum way way = chunk_way(job);
    const uint64_t n = plan->n ? least(plan->n, part_length(way)) : 1;
    *loops = (struct loops){.way = chunk_way_name(way),
                            .chunk = CHUNK,
                            .threads = threads_for(&job->threads, sharing_for(plan, way, n).pieces),
                            .instructions = instructions_name(job->instructions)};
}
