/* Folds a layout to a state, in chunks of fixed length whose states are then merged. So a sum's
 * bits do not depend on the number of threads, and rounding errors grow with the chunk's length
 * instead of the array's. */
#include "arrays/operands.h"
#include "common/arithmetic.h"
#include "cpu/chunk.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "run/explanation.h"

#include <stdatomic.h>
#include <string.h>

enum {
    STRETCH = 1 << 26,         /* elements per merged state, and between polls of the watch */
    GATHERED_STRETCH = 1 << 24 /* the latter if elements are gathered first */
};

struct folding {
    struct chunks all;
    struct tiles tiles; /* workspaces are gather buffers; the common memory holds states */

    /* What is folded between two polls of the watch. */
    uint64_t start, n;
    char *states;
    _Atomic uint64_t needed; /* chunks needed; later ones cannot change the result */
    _Atomic uint64_t masked; /* masked elements so far */
};

/* ---- many chunks ---- */

static struct sharing sharing_for(const struct plan *plan, enum load_mode mode, uint64_t n)
{
    return sharing_of(plan->fold, plan->layout->input,
                      mode_gathers(mode) ? GATHERS_ELEMENTS : GATHERS_NOTHING, false, n, 0);
}

static uint64_t needed_now(struct folding *self)
{
    return atomic_load_explicit(&self->needed, memory_order_relaxed);
}

/* With positions, a state is passed from chunk to chunk of a piece. */
static unsigned fold_piece(void *context, uint64_t index, void *buffer)
{
    struct folding *self = context;
    const uint64_t first = index * self->tiles.sharing.chunks,
                   end = first + self->tiles.sharing.chunks;
    char *state = self->states + first * self->all.width;
    uint64_t masked = 0, needed;
    if (self->all.indexed)
        state_identity(self->all.plan->fold, self->all.plan->accumulator, state);
    for (uint64_t chunk = first; chunk < end && chunk < needed_now(self);
         chunk++, state += self->all.width) {
        const uint64_t at = chunk * CHUNK_MAX, n = min_u64(self->n - at, CHUNK_MAX);
        if (self->all.indexed && chunk > first)
            memcpy(state, state - self->all.width, self->all.width);
        masked += n - chunk_fold(&self->all, buffer, self->start + at, n, state);
        if (self->all.settled && self->all.settled(state, n)) /* later chunks are not needed */
            for (needed = needed_now(self);
                 chunk + 1 < needed &&
                 !atomic_compare_exchange_weak(&self->needed, &needed, chunk + 1);)
                ;
    }
    if (masked) /* avoids contention */
        atomic_fetch_add_explicit(&self->masked, masked, memory_order_relaxed);
    return 0;
}

static uint64_t part_length(enum load_mode mode)
{
    return mode_gathers(mode) ? GATHERED_STRETCH : STRETCH;
}

/* Collects the chunks' states until a stretch is complete, and then merges them to one of
 * `stretches`, which are merged to the result, the first of them. */
static bool fold_parts(struct job *job, struct folding *self, char *stretches, char *states)
{
    const size_t width = self->all.width;
    uint64_t n = job->plan->n, chunks = 0, count = 0;
    for (uint64_t end; self->start < n; self->start = end) {
        if (self->start && run_check_interrupt(job->run))
            return false;
        self->n = min_u64(n - self->start, part_length(self->all.mode));
        self->tiles.sharing = sharing_for(job->plan, self->all.mode, self->n);
        self->states = states + chunks * width;
        self->needed = ceil_div(self->n, CHUNK_MAX);
        tiles_run(&self->tiles, self->tiles.sharing.pieces, fold_piece, self);
        chunks += self->needed;
        end = self->start + self->n;
        if (self->needed < ceil_div(self->n, CHUNK_MAX)) /* later elements are not needed */
            n = end;
        if (end == n || end % STRETCH == 0) {
            self->all.merge(states, chunks);
            memcpy(stretches + count++ * width, states, width);
            chunks = 0;
        }
    }
    self->all.merge(stretches, count);
    return true;
}

/* ---- memory ---- */

/* Allocates the states of all stretches and of a stretch's chunks, and a buffer per thread. On the
 * heap, since a user's thread may have a stack of any size. */
static bool fold_with_buffers(struct job *job, struct folding *self, void *state)
{
    const uint64_t n = job->plan->n;
    const size_t of_stretches = tiles_aligned(ceil_div(n, STRETCH) * self->all.width);
    self->tiles = (struct tiles){.job = job,
                                 .workspace = self->all.buffer,
                                 .common = of_stretches + ceil_div(min_u64(n, STRETCH), CHUNK_MAX) *
                                                              self->all.width};
    const uint64_t pieces =
        sharing_for(job->plan, self->all.mode, min_u64(n, part_length(self->all.mode))).pieces;
    if (!tiles_open(&self->tiles, pieces, "partials"))
        return false;
    char *const states = tiles_common(&self->tiles);
    const bool folded = fold_parts(job, self, states, states + of_stretches);
    if (folded)
        memcpy(state, states, self->all.width);
    tiles_close(&self->tiles);
    return folded;
}

/* A single chunk that is ready needs no memory. */
static bool fold_single_chunk(const struct job *job, void *state)
{
    const struct plan *plan = job->plan;
    fold_values *const fold = plan->elements.flat && plan->n <= CHUNK_MAX ? chunk_loop(job) : NULL;
    if (!fold)
        return false;
    if (fold_is_indexed(plan->fold))
        state_identity(plan->fold, plan->accumulator, state);
    fold(plan->layout->data, plan->n, plan->elements.position, state);
    return true;
}

/* Nor do a few chunks for a single thread. */
static bool fold_few(const struct plan *plan, struct folding *self, void *state)
{
    enum { FEW = 16 };
    _Alignas(STATE_ALIGNMENT) char states[FEW * STATE_BYTES_MAX];
    const uint64_t n = plan->n, chunks = ceil_div(n, CHUNK_MAX);
    if (chunks > FEW || self->all.mode != IN_PLACE || sharing_for(plan, IN_PLACE, n).pieces > 1)
        return false;
    self->n = n;
    self->tiles.sharing.chunks = chunks;
    self->needed = chunks;
    self->states = states;
    fold_piece(self, 0, NULL);
    self->all.merge(states, self->needed);
    memcpy(state, states, self->all.width);
    return true;
}

/* Whether the first chunk settles the result; if so, no thread is woken. */
static bool fold_first(const struct chunks *all, uint64_t n, void *state)
{
    const uint64_t first = min_u64(n, CHUNK_MAX);
    if (!all->settled || all->mode != IN_PLACE)
        return false;
    if (all->indexed)
        state_identity(all->plan->fold, all->plan->accumulator, state);
    chunk_fold(all, NULL, 0, first, state);
    return all->settled(state, first);
}

bool folding_run(struct job *job, void *state, uint64_t *count)
{
    const struct plan *plan = job->plan;
    *count = plan->n;
    if (plan->elements.list)
        return list_fold(job, state);
    if (plan->n == 0) {
        state_identity(plan->fold, plan->accumulator, state);
        return true;
    }
    if (fold_single_chunk(job, state))
        return true;
    struct folding self;
    chunks_describe(&self.all, job);
    self.start = 0;
    self.masked = 0;
    const bool folded = fold_few(plan, &self, state) || fold_first(&self.all, plan->n, state) ||
                        fold_with_buffers(job, &self, state);
    *count -= self.masked;
    return folded;
}

bool folding_run_each(struct job *job)
{
    if (job->run->explanation) {
        job->run->explanation->at_once = 1;
        folding_explain(job);
        job->run->explanation->loops.results = RESULTS_SEQUENTIAL;
        return true;
    }
    struct layout layout = job->plan->axes->reduced;
    struct plan one = *job->plan;
    struct job part = *job;
    struct result_iterator walk;
    one.layout = &layout;
    part.plan = &one;
    results_seek(&walk, job->plan->axes, 0);
    for (uint64_t k = 0; k < job->plan->axes->results; k++, results_next(&walk)) {
        results_set_layout(&walk, &layout);
        if (one.means) {
            one.finish.has_mean = true;
            one.finish.mean = one.means->here[walk.place];
        }
        if ((k && run_check_interrupt(job->run)) || !run_and_store(&part, walk.place))
            return false;
    }
    return true;
}

bool folding_is_short(const struct plan *plan)
{
    /* all instruction sets have the same loops */
    return chunk_loop(&(struct job){.plan = plan, .instructions = INSTRUCTIONS_baseline}) &&
           sharing_for(plan, IN_PLACE, plan->n).pieces == 1;
}

bool folding_explain(const struct job *job)
{
    const struct plan *plan = job->plan;
    const enum load_mode mode = chunk_load_mode(job);
    const uint64_t n = plan->n ? min_u64(plan->n, part_length(mode)) : 1;
    if (plan->exact)
        return exact_explain(job);
    return tiles_explain(job, (struct loops){.way = load_mode_name(mode), .chunk = CHUNK_MAX},
                         sharing_for(plan, mode, n).pieces);
}
