/* A segment is folded in chunks whose states merge as a tree, so that its bits depend on nothing
 * but its own elements. Threads share the segments, and of a long one the elements. */
#include "host/segments.h"

#include "common/arithmetic.h"
#include "common/segments.h"
#include "host/folding.h"
#include "run/gather.h"
#include "run/result.h"
#include "run/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = LOOP_MOST, /* elements that one loop folds, at most */
    LONG = 1 << 18,    /* elements of a segment whose elements threads share */
    LEVELS = 24,       /* of states that wait for their like, in one that is not */
    FEW = 24,          /* elements for which a vector loop's beginning is too much */
    FEW_WITH_NAN = 8,  /* the same where each is asked whether it is NaN */
    ELEMENTS_A_PIECE = 1 << 16,
    PIECES_A_STRETCH = 1 << 12 /* between two thoughts of the watch */
};

struct work {
    struct job *job;
    const struct plan *plan;
    const struct segments *segments;
    bool in_place, converts;
    bool stored;  /* a state is the result */
    uint64_t few; /* elements, at most, that are states themselves and merge as such */
    size_t size, width, result_size;
    fold_values *fold;
    merge_states *merge;
    uint64_t segments_a_piece, start; /* the first piece of this stretch */
    atomic_bool has_long;             /* segments that are left for later */
    union scalar of_none;             /* as results hold it */
    char *benches;                    /* a thread's elements and states */
    size_t states, bench_bytes;       /* where states begin on one, and all of it */
};

/* ---- one segment ---- */

static void fold_chunk(const struct work *self, char *bench, uint64_t start, uint64_t n,
                       void *state)
{
    const struct layout *layout = self->plan->layout;
    const enum instructions instructions = self->job->instructions;
    if (self->in_place) {
        self->fold((const char *)layout->data + start * self->size, n, start, state);
        return;
    }
    if (self->converts)
        gather(instructions, layout, start, n, bench);
    else
        gather_unconverted(instructions, layout, start, n, bench);
    self->fold(bench, n, start, state);
}

static void fold_chunks(const struct work *self, char *bench, char *states, struct segment segment)
{
    const uint64_t chunks = divide_up(segment.n, CHUNK);
    uint64_t depth = 0;
    for (uint64_t chunk = 0; chunk < chunks; chunk++) {
        const uint64_t first = chunk * CHUNK;
        fold_chunk(self, bench, segment.start + first, least(segment.n - first, CHUNK),
                   states + depth++ * self->width);
        for (uint64_t done = chunk; done & 1; done >>= 1)
            self->merge(states + (--depth - 1) * self->width, 2);
    }
    for (; depth > 1; depth--)
        self->merge(states + (depth - 2) * self->width, 2);
}

static void fold_few(const struct work *self, char *states, struct segment segment)
{
    const char *const values = self->plan->layout->data;
    memcpy(states, values + segment.start * self->size, segment.n * self->size);
    self->merge(states, segment.n);
}

/* Leaves the state of all at `states`. */
static void fold_segment(const struct work *self, char *bench, char *states, struct segment segment)
{
    if (segment.n == 0)
        return;
    if (segment.n <= self->few)
        fold_few(self, states, segment);
    else
        fold_chunks(self, bench, states, segment);
}

/* As results hold it. */
static union scalar value_of(const struct plan *plan, const void *state, uint64_t n)
{
    const enum element type = plan->finish.result;
    struct finish how = plan->finish;
    struct answer answer;
    how.count = n;
    state_finish(plan->reduction, &how, state, &answer);
    return scalar_convert(scalar_narrow(answer.values[0], type), type, plan->results.type);
}

static void finish(const struct work *self, const void *state, uint64_t n, uint64_t k)
{
    const struct plan *plan = self->plan;
    char *const at = (char *)plan->results.at[0] + k * self->result_size;
    if (n == 0)
        scalar_store(at, self->of_none, plan->results.type);
    else if (self->stored)
        memcpy(at, state, self->result_size);
    else
        scalar_store(at, value_of(plan, state, n), plan->results.type);
}

/* ---- all of them ---- */

static void fold_piece(void *context, uint64_t index, unsigned thread)
{
    struct work *self = context;
    char *const bench = self->benches + thread * self->bench_bytes, *const states =
                                                                        bench + self->states;
    const uint64_t first = (self->start + index) * self->segments_a_piece,
                   end = least(first + self->segments_a_piece, self->segments->count);
    for (uint64_t k = first; k < end; k++) {
        const struct segment segment = segment_at(self->segments, k);
        if (segment.n >= LONG) {
            self->has_long = true;
            continue;
        }
        fold_segment(self, bench, states, segment);
        finish(self, states, segment.n, k);
    }
}

/* Like an array by itself. */
static bool fold_long(const struct work *self, struct segment segment, uint64_t k)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    struct layout layout = *self->plan->layout;
    struct plan one = *self->plan;
    struct job part = *self->job;
    uint64_t count;
    layout.data = (const char *)layout.data + (int64_t)segment.start * layout.strides[0];
    layout.shape[0] = one.n = segment.n;
    one.layout = &layout;
    part.plan = &one;
    if (!folding_run(&part, state, &count))
        return false;
    finish(self, state, segment.n, k);
    return true;
}

static bool fold_long_ones(const struct work *self)
{
    for (uint64_t k = 0; k < self->segments->count; k++) {
        const struct segment segment = segment_at(self->segments, k);
        if (segment.n >= LONG && !fold_long(self, segment, k))
            return false;
    }
    return true;
}

static bool fold_pieces(struct work *self)
{
    struct job *job = self->job;
    const uint64_t pieces = divide_up(self->segments->count, self->segments_a_piece);
    for (; self->start < pieces; self->start += PIECES_A_STRETCH) {
        if (self->start && watch_interrupted_lately(job->run, &job->asked))
            return false;
        threads_run(&job->threads, least(pieces - self->start, PIECES_A_STRETCH), false, fold_piece,
                    self);
    }
    return true;
}

static uint64_t few_of(const struct plan *plan, bool direct)
{
    const bool are_states = direct && plan->flat && fold_is_on_ladder(plan->fold) &&
                            plan->layout->input == plan->accumulator,
               extremes = plan->fold == FOLD_min || plan->fold == FOLD_max;
    if (!are_states)
        return 0;
    return extremes && !element_is_integer(plan->accumulator) ? FEW_WITH_NAN : FEW;
}

static struct work describe(struct job *job)
{
    enum { CACHE_LINE = 64, WIDEST = 16 };
    const struct plan *plan = job->plan;
    const struct segments *segments = plan->segments;
    fold_values *const direct =
        loop_of_elements(job->instructions, plan->fold, plan->layout->input, plan->layout->type);
    struct work self = {
        .job = job,
        .plan = plan,
        .segments = segments,
        .in_place = direct && plan->flat,
        .few = few_of(plan, direct),
        .converts = !direct,
        .stored = reduction_is_stored(plan->reduction) && !reduction_row(plan->reduction)->counts &&
                  plan->results.type == plan->accumulator,
        .size = element_size(direct ? plan->layout->input : plan->accumulator),
        .width = state_bytes(plan->fold, plan->accumulator),
        .result_size = element_size(plan->results.type),
        .fold = direct ? direct : loop_of_values(job->instructions, plan->fold, plan->accumulator),
        .merge = loop_of_states(plan->fold, plan->accumulator),
        .segments_a_piece = 1 + ELEMENTS_A_PIECE / (segments->elements / (segments->count + 1) + 1),
        .of_none = run_value_of_none(plan),
        .states = (size_t)CHUNK * WIDEST};
    self.bench_bytes =
        self.states + divide_up(LEVELS * self.width, CACHE_LINE) * CACHE_LINE + CACHE_LINE;
    return self;
}

bool segments_run(struct job *job)
{
    enum { CACHE_LINE = 64 };
    struct work self = describe(job);
    const uint64_t pieces = divide_up(self.segments->count, self.segments_a_piece);
    self.benches = aligned_alloc(CACHE_LINE, threads_for(&job->threads, pieces) * self.bench_bytes);
    if (!self.benches) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    const bool folded = fold_pieces(&self) && (!self.has_long || fold_long_ones(&self));
    free(self.benches);
    return folded;
}
