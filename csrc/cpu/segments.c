/* Segments are folded in chunks whose states merge as a tree, so that a result's bits depend only
 * on its own elements. Threads share the segments and, of long ones, the elements; for exact sums,
 * which are rounded only once, only the segments. */
#include "common/segments.h"
#include "common/arithmetic.h"
#include "cpu/by_key.h"
#include "cpu/chunk.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "run/result.h"

#include <stdatomic.h>
#include <string.h>

enum {
    LONG = 1 << 18,            /* elements of a segment from which threads share them */
    FEW = 8,                   /* elements up to which a vector loop's overhead is too large */
    STATES = LONG / CHUNK_MAX, /* most states per segment */
    TILE_ELEMENTS = 1 << 16,
    POLL_TILES = 1 << 12,     /* between polls of the watch */
    EXACT_POLL_TILES = 1 << 8 /* the same for exact sums */
};

struct segmented {
    struct job *job;
    const struct plan *plan;
    struct chunks chunks;
    bool stored;         /* states are results */
    uint64_t merged_max; /* most elements that are merged as states */
    size_t result_size;
    uint64_t tile_segments;
    atomic_bool has_long;      /* long segments were skipped, to be folded later */
    union scalar empty_result; /* result of an empty segment */
    size_t states;             /* offset in a workspace */
};

/* Leaves the segment's state in the first of `states`. */
static void fold_segment(const struct segmented *self, char *buffer, char *states,
                         struct segment segment)
{
    const struct chunks *chunks = &self->chunks;
    const uint64_t count = ceil_div(segment.n, CHUNK_MAX);
    if (segment.n == 0)
        return;
    if (segment.n <= self->merged_max) {
        const char *const values = self->plan->layout->data;
        memcpy(states, values + segment.start * chunks->size, segment.n * chunks->size);
        chunks->merge(states, segment.n);
        return;
    }
    if (chunks->indexed)
        state_identity(self->plan->fold, self->plan->accumulator, states);
    for (uint64_t chunk = 0, at = 0; chunk < count; chunk++, at += CHUNK_MAX)
        chunk_fold(chunks, buffer, segment.start + at, min_u64(segment.n - at, CHUNK_MAX),
                   states + (chunks->indexed ? 0 : chunk * chunks->width));
    if (count > 1 && !chunks->indexed)
        chunks->merge(states, count);
}

/* The result of a state, in its type. Positions are relative to `first`, the segment's. */
static union scalar value_of(const struct plan *plan, const void *state, uint64_t n, uint64_t first)
{
    const enum element type = plan->finish.result;
    struct finish how = plan->finish;
    struct answer answer;
    how.count = n;
    state_finish(plan->reduction, &how, state, &answer);
    if (fold_is_indexed(plan->fold))
        answer.values[0].integer -= (int64_t)first;
    return scalar_convert(scalar_narrow(answer.values[0], type), type, plan->results.type);
}

static char *result_at(const struct segmented *self, uint64_t k)
{
    return (char *)self->plan->results.at[0] + k * self->result_size;
}

static void finish(const struct segmented *self, const void *state, uint64_t n, uint64_t first,
                   uint64_t k)
{
    const struct plan *plan = self->plan;
    char *const at = result_at(self, k);
    if (n == 0)
        scalar_store(at, self->empty_result, plan->results.type);
    else if (self->stored)
        memcpy(at, state, self->result_size);
    else
        scalar_store(at, value_of(plan, state, n, first), plan->results.type);
}

/* ---- running ---- */

/* `reducer` is for exact sums, else NULL. False if out of memory. */
static bool process_segment(struct segmented *self, struct exact_reducer *reducer, char *workspace,
                            struct segment segment, uint64_t k)
{
    if (reducer && segment.n > 0)
        return exact_reduce(reducer, self->plan->layout, segment.start, segment.n,
                            result_at(self, k));
    if (segment.n >= LONG) {
        atomic_store(&self->has_long, true);
    } else {
        fold_segment(self, workspace, workspace + self->states, segment);
        finish(self, workspace + self->states, segment.n, segment.start, k);
    }
    return true;
}

static unsigned process_tile(void *context, uint64_t tile, void *workspace)
{
    struct segmented *self = context;
    struct exact_reducer *const reducer = self->plan->exact ? workspace : NULL;
    const uint64_t first = tile * self->tile_segments,
                   end = min_u64(first + self->tile_segments, self->plan->segments.of->count);
    if (reducer)
        exact_reducer_start(reducer, self->job);
    for (uint64_t k = first; k < end; k++)
        if (!process_segment(self, reducer, workspace, segment_at(self->plan->segments.of, k), k))
            return TILE_OUT_OF_MEMORY;
    return reducer ? reducer->run.findings : 0;
}

/* Folds a long segment like a whole array. */
static bool fold_long(const struct segmented *self, struct segment segment, uint64_t k)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    struct layout layout = *self->plan->layout;
    struct plan one = *self->plan;
    struct job part = *self->job;
    uint64_t count;
    layout.data = (const char *)layout.data + (int64_t)segment.start * layout.strides[0];
    layout.shape[0] = segment.n;
    plan_retarget(&one, &layout, segment.n, one.elements.flat);
    part.plan = &one;
    if (!folding_run(&part, state, &count))
        return false;
    finish(self, state, segment.n, 0, k);
    return true;
}

static void describe(struct segmented *self, struct job *job)
{
    const struct plan *plan = job->plan;
    const struct segments *segments = plan->segments.of;
    self->job = job;
    self->plan = plan;
    chunks_describe(&self->chunks, job);
    /* Merging elements as states is faster than starting a vector loop, except where float extremes
     * check for NaN. */
    const bool are_states = self->chunks.mode == IN_PLACE && fold_is_on_ladder(plan->fold) &&
                            plan->layout->input == plan->accumulator,
               extremes = plan->fold == FOLD_min || plan->fold == FOLD_max;
    self->merged_max = are_states && (!extremes || element_is_integer(plan->accumulator)) ? FEW : 0;
    self->stored = reduction_is_stored(plan->reduction) &&
                   !reduction_row(plan->reduction)->counts &&
                   plan->results.type == plan->accumulator;
    self->result_size = element_size(plan->results.type);
    self->tile_segments = 1 + TILE_ELEMENTS / (segments->elements / (segments->count + 1) + 1);
    self->empty_result = run_empty_value(plan);
    self->states = self->chunks.buffer;
    atomic_init(&self->has_long, false);
}

bool segments_run(struct job *job)
{
    struct segmented self;
    bool ok;
    if (job->plan->segments.keys)
        return keyed_has_table(job->plan)                      ? keyed_fold(job)
               : job->plan->exact && exact_fold_keys(job, &ok) ? ok
                                                               : keyed_sort(job);
    describe(&self, job);
    const bool exact = job->plan->exact;
    const uint64_t count = ceil_div(self.plan->segments.of->count, self.tile_segments);
    struct tiles tiles = {.job = job,
                          .sharing.pieces = count,
                          .default_fenv = exact,
                          .poll_interval = exact ? EXACT_POLL_TILES : POLL_TILES,
                          .workspace = exact ? sizeof(struct exact_reducer)
                                             : self.states + STATES * self.chunks.width};
    bool done = tiles_process(&tiles, count, 1, exact ? "exact sums" : "partials", process_tile,
                              NULL, NULL, &self);
    for (uint64_t k = 0; done && self.has_long && k < self.plan->segments.of->count; k++) {
        const struct segment segment = segment_at(self.plan->segments.of, k);
        done = segment.n < LONG || fold_long(&self, segment, k);
    }
    return done;
}
