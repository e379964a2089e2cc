/* Each result is folded in parts of nearly one length, 2^k of them, whose states merge as a tree,
 * so that its bits depend on nothing but its own elements and how they lie, and of floats no state
 * takes part in many additions. Threads share the results; where those are few and long, the
 * elements of each, as of an array by itself.
 *
 * Columns that lie side by side are folded side by side, where a state is a value: rows onto rows.
 */
#include "host/along.h"

#include "common/arithmetic.h"
#include "host/columns.h"
#include "host/folding.h"
#include "plan/axes.h"
#include "run/gather.h"
#include "run/result.h"
#include "run/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = LOOP_MOST, /* elements that one loop folds, at most */
    GRAIN = 64,        /* of which its length is a multiple, for the memory's sake */
    ROWS = 16,         /* folded one onto the other, at most */
    LANES = 16,        /* results abreast, at most */
    LEVELS = 34,       /* of states that wait for their like */
    TILE_BYTES = 4096, /* of the states of columns that are folded side by side, at most */
    FEW = 16,          /* results that threads do not share */
    LONG = 1 << 18,    /* elements of each of those, at least */
    STRETCH = 1 << 26, /* elements between two thoughts of the watch */
    ELEMENTS_A_PIECE = 1 << 16
};

enum way { IN_PLACE, GATHERED, CONVERTED };

/* 2^shift of them, which begin at multiples of a power of two; `count` is 0 of no elements. */
struct parts {
    uint64_t n, count, grain;
    unsigned shift;
};

/* Neighbouring columns: `columns` of them in each of a row's `tiles`. */
struct tiles {
    uint64_t columns, tiles;
};

struct along {
    const struct job *job;
    const struct plan *plan;
    const struct axes *axes;
    enum way way;
    bool indexed, by_position; /* positions matter; and there is a mask */
    size_t size, width;        /* of an element as a loop takes it and of a state, bytes */
    size_t result_size;
    fold_values *fold;
    merge_states *merge;
    is_settled *settled; /* NULL: all chunks matter */
    fold_pairs *fold_rows;
    struct parts parts; /* of a result's elements */
    struct tiles tiles; /* of no columns: results are folded one after the other */
    uint64_t start;     /* the first piece of this stretch */
    uint64_t results_a_piece;
    unsigned abreast; /* of which so many are folded side by side */
    char *benches;
    size_t elements, shown, states, bench_bytes; /* where each begins on a bench */
    _Atomic unsigned findings;
};

/* Of no more than `most` elements each. */
static struct parts parts_of(uint64_t n, uint64_t most, uint64_t grain)
{
    struct parts parts = {n, n > 0, grain, 0};
    while (n > most && (n >> parts.shift) + grain > most)
        parts.count = (uint64_t)1 << ++parts.shift;
    return parts;
}

static uint64_t part_start(struct parts parts, uint64_t part)
{
    return part == parts.count ? parts.n : (parts.n * part >> parts.shift) & ~(parts.grain - 1);
}

/* What one thread works with. */
struct bench {
    char *elements, *states;
    unsigned char *shown;
    struct layout layout, mask; /* of the result that it is at */
    struct findings findings;
};

/* One of the results that are folded abreast. */
struct lane {
    int64_t offset, mask_offset, place; /* of its elements, of their mask, and among the results */
    char *states;                       /* that wait for their like */
    uint64_t depth;                     /* how many do */
    bool settled;
};

/* ---- one result's elements ---- */

static struct bench bench_of(const struct along *self, unsigned thread)
{
    char *const memory = self->benches + thread * self->bench_bytes;
    struct bench bench = {.elements = memory + self->elements,
                          .states = memory + self->states,
                          .shown = (unsigned char *)memory + self->shown,
                          .layout = self->axes->reduced};
    if (self->by_position) {
        bench.mask = layout_of_its_mask(&bench.layout);
        bench.layout.mask = NULL;
    }
    return bench;
}

static void move_to(const struct along *self, struct bench *bench, const struct lane *lane)
{
    const struct layout *first = &self->axes->reduced;
    bench->layout.data = (const char *)first->data + lane->offset;
    if (self->by_position)
        bench->mask.data = first->mask + lane->mask_offset;
    else if (first->mask)
        bench->layout.mask = first->mask + lane->mask_offset;
}

static uint64_t bring_together(const struct along *self, struct bench *bench, uint64_t start,
                               uint64_t n)
{
    const enum instructions instructions = self->job->instructions;
    return self->way == CONVERTED
               ? gather(instructions, &bench->layout, start, n, bench->elements)
               : gather_unconverted(instructions, &bench->layout, start, n, bench->elements);
}

/* Where positions matter, elements between two hidden ones are folded by themselves. */
static void fold_shown(const struct along *self, struct bench *bench, uint64_t start, uint64_t n,
                       void *state)
{
    gather_unconverted(self->job->instructions, &bench->mask, start, n, bench->shown);
    for (uint64_t at = 0, end; at < n; at = end + 1) {
        for (end = at; end < n && bench->shown[end]; end++)
            ;
        if (end > at)
            self->fold(bench->elements + at * self->size, end - at, start + at, state);
    }
}

static void fold_chunk(const struct along *self, struct bench *bench, uint64_t start, uint64_t n,
                       void *state)
{
    if (self->way == IN_PLACE) {
        self->fold((const char *)bench->layout.data + start * self->size, n, start, state);
        return;
    }
    const uint64_t kept = bring_together(self, bench, start, n);
    if (self->by_position)
        fold_shown(self, bench, start, n, state);
    else if (kept)
        self->fold(bench->elements, kept, start, state);
    else if (!self->indexed)
        state_identity(self->plan->fold, self->plan->accumulator, state);
}

/* Chunks' states merge as soon as there are two of as many chunks; where positions matter, what has
 * been found goes from one chunk to the next. */
static void fold_next_chunk(const struct along *self, struct bench *bench, struct lane *lane,
                            uint64_t chunk)
{
    const uint64_t start = part_start(self->parts, chunk),
                   n = part_start(self->parts, chunk + 1) - start;
    char *const state = lane->states + (self->indexed ? 0 : lane->depth * self->width);
    move_to(self, bench, lane);
    fold_chunk(self, bench, start, n, state);
    lane->settled = self->settled && self->settled(state, n);
    if (self->indexed)
        return;
    lane->depth++;
    for (uint64_t done = chunk; done & 1; done >>= 1)
        self->merge(lane->states + (--lane->depth - 1) * self->width, 2);
}

/* ---- results ---- */

/* Rounded to the result's type first, and then as the results hold it. */
static void store(const struct plan *plan, const struct scalar_wide *value, char *at)
{
    const enum element type = plan->finish.result, held = plan->results.type;
    const union scalar result = scalar_narrow(*value, type);
    scalar_store(at, type == held ? result : scalar_convert(result, type, held), held);
}

static void finish(const struct along *self, struct findings *findings, const void *state,
                   uint64_t count, int64_t place)
{
    const struct plan *plan = self->plan;
    const struct results *results = &plan->results;
    struct answer answer;
    if (count == plan->finish.count) {
        state_finish(plan->reduction, &plan->finish, state, &answer);
    } else {
        struct finish how = plan->finish;
        how.count = count;
        state_finish(plan->reduction, &how, state, &answer);
    }
    findings_add(findings, plan, &answer, count);
    for (unsigned k = 0; k < results->values; k++)
        store(plan, &answer.values[k],
              (char *)results->at[k] + (uint64_t)place * self->result_size);
}

static uint64_t count_shown(const struct along *self, const struct bench *bench)
{
    const struct plan *plan = self->plan;
    return plan->counts && bench->layout.mask ? gather_count(&bench->layout, 0, plan->n) : plan->n;
}

static void finish_lane(const struct along *self, struct bench *bench, struct lane *lane)
{
    for (; lane->depth > 1; lane->depth--)
        self->merge(lane->states + (lane->depth - 2) * self->width, 2);
    move_to(self, bench, lane);
    finish(self, &bench->findings, lane->states, count_shown(self, bench), lane->place);
}

/* Neighbours a chunk at a time, so that what lies between one's elements serves the next. */
static void fold_abreast(const struct along *self, struct bench *bench, struct lane *lanes,
                         unsigned count)
{
    for (unsigned k = 0; k < count; k++)
        if (self->indexed || self->plan->n == 0)
            state_identity(self->plan->fold, self->plan->accumulator, lanes[k].states);
    for (uint64_t chunk = 0; chunk < self->parts.count; chunk++)
        for (unsigned k = 0; k < count; k++)
            if (!lanes[k].settled)
                fold_next_chunk(self, bench, &lanes[k], chunk);
    for (unsigned k = 0; k < count; k++)
        finish_lane(self, bench, &lanes[k]);
}

static void note(struct along *self, const struct findings *found)
{
    const unsigned all = found->of_nothing | found->not_enough << 1 | found->all_nan << 2;
    if (all)
        atomic_fetch_or(&self->findings, all);
}

static struct findings findings_of(const struct along *self)
{
    const unsigned all = self->findings;
    return (struct findings){
        .of_nothing = all & 1, .not_enough = all >> 1 & 1, .all_nan = all >> 2 & 1};
}

static void fold_results(void *context, uint64_t index, unsigned thread)
{
    struct along *self = context;
    struct bench bench = bench_of(self, thread);
    const uint64_t first = (self->start + index) * self->results_a_piece,
                   end = least(first + self->results_a_piece, self->axes->results);
    struct walk_of_results walk;
    struct lane lanes[LANES];
    results_start(&walk, self->axes, first);
    for (uint64_t result = first; result < end; result += self->abreast) {
        const unsigned count = (unsigned)least(self->abreast, end - result);
        for (unsigned k = 0; k < count; k++, results_next(&walk))
            lanes[k] = (struct lane){.offset = walk.offset,
                                     .mask_offset = walk.mask_offset,
                                     .place = walk.place,
                                     .states = bench.states + k * LEVELS * self->width};
        fold_abreast(self, &bench, lanes, count);
    }
    note(self, &bench.findings);
}

/* ---- columns ---- */

/* A row of a tile as accumulators: as it lies, or in the room that there is for it. */
static const void *row_of(const struct along *self, const char *at, uint64_t columns, void *room)
{
    const enum element input = self->axes->reduced.input;
    if (self->way == IN_PLACE)
        return at;
    const struct layout row = {.data = at,
                               .input = input,
                               .type = self->axes->reduced.type,
                               .swapped = self->axes->reduced.swapped,
                               .dimensions = 1,
                               .shape = {columns},
                               .strides = {(int64_t)element_size(input)}};
    gather(self->job->instructions, &row, 0, columns, room);
    return room;
}

/* The rows of one part, one onto the other. */
static void fold_part(const struct along *self, struct bench *bench, const char *at, uint64_t rows,
                      uint64_t columns, char *state)
{
    const int64_t stride = self->axes->reduced.strides[0];
    const void *const first = row_of(self, at, columns, state);
    if (first != state)
        memcpy(state, first, columns * self->width);
    for (uint64_t row = 1; row < rows; row++)
        self->fold_rows(state, row_of(self, at + (int64_t)row * stride, columns, bench->elements),
                        columns);
}

/* Parts' states merge as soon as there are two of as many parts. */
static void fold_tile(const struct along *self, struct bench *bench, const char *at,
                      uint64_t columns)
{
    const struct parts parts = self->parts;
    const int64_t stride = self->axes->reduced.strides[0];
    const size_t bytes = columns * self->width;
    char *state = bench->states;
    for (uint64_t part = 0; part < parts.count; part++, state += bytes) {
        const uint64_t start = part_start(parts, part), rows = part_start(parts, part + 1) - start;
        fold_part(self, bench, at + (int64_t)start * stride, rows, columns, state);
        for (uint64_t done = part; done & 1; done >>= 1, state -= bytes)
            self->fold_rows(state - bytes, state, columns);
    }
}

static void fold_columns(void *context, uint64_t index, unsigned thread)
{
    struct along *self = context;
    struct bench bench = bench_of(self, thread);
    const struct axes *axes = self->axes;
    const uint64_t piece = self->start + index, row = axes->shape[axes->kept - 1],
                   column = piece % self->tiles.tiles * self->tiles.columns,
                   columns = least(row - column, self->tiles.columns);
    struct walk_of_results walk;
    results_start(&walk, axes, piece / self->tiles.tiles * row + column);
    fold_tile(self, &bench, (const char *)axes->reduced.data + walk.offset, columns);
    for (uint64_t k = 0; k < columns; k++, results_next(&walk))
        finish(self, &bench.findings, bench.states + k * self->width, self->plan->n, walk.place);
    note(self, &bench.findings);
}

/* ---- all of them ---- */

static fold_values *direct_loop(const struct job *job)
{
    const struct plan *plan = job->plan;
    return loop_of_elements(job->instructions, plan->fold, plan->layout->input, plan->layout->type);
}

static bool takes_columns(const struct plan *plan)
{
    return plan->axes->kind == AXES_COLUMNS && !plan->layout->mask && plan->n > 1 &&
           plan->n <= UINT32_MAX && fold_is_on_ladder(plan->fold);
}

/* As wide as is good for memory, and so narrow that there are some for several threads. */
static struct tiles tiles_of(const struct along *self)
{
    enum { SHARES = 16, LEAST_BYTES = 256 };
    const uint64_t row = self->axes->shape[self->axes->kept - 1],
                   least_columns = LEAST_BYTES / self->width,
                   share = divide_up(row, SHARES * least_columns) * least_columns,
                   columns = least(share, TILE_BYTES / self->width);
    return (struct tiles){columns, divide_up(row, columns)};
}

static void describe_columns(struct along *self)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = plan->layout;
    const bool ready = layout->input == plan->accumulator && layout->type == plan->accumulator;
    self->fold_rows = loop_of_pairs(plan->fold, plan->accumulator);
    self->parts = parts_of(plan->n, ROWS, 1);
    self->tiles = tiles_of(self);
    self->way = ready && self->axes->aligned ? IN_PLACE : CONVERTED;
}

static void describe_results(struct along *self)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = plan->layout;
    fold_values *const direct = direct_loop(self->job);
    self->parts = parts_of(plan->n, CHUNK, GRAIN);
    self->way = !direct ? CONVERTED : plan->flat ? IN_PLACE : GATHERED;
    self->by_position = layout->mask && self->indexed;
    self->fold =
        direct ? direct : loop_of_values(self->job->instructions, plan->fold, plan->accumulator);
    self->merge = loop_of_states(plan->fold, plan->accumulator);
    self->settled = layout->mask ? NULL : settling_of(plan->reduction, layout->type);
    self->size = element_size(direct ? layout->input : plan->accumulator);
    self->abreast = self->axes->kind == AXES_ROWS ? 1 : LANES;
    self->results_a_piece = ELEMENTS_A_PIECE / (least(plan->n, ELEMENTS_A_PIECE - 1) + 1);
    if (self->results_a_piece < self->abreast)
        self->results_a_piece = self->abreast;
}

static size_t aligned(size_t bytes)
{
    enum { CACHE_LINE = 64 };
    return divide_up(bytes, CACHE_LINE) * CACHE_LINE;
}

/* Room for a chunk's elements, or a row's, for their mask and for states that wait. */
static void describe_bench(struct along *self)
{
    const uint64_t columns = self->tiles.columns ? self->tiles.columns : self->abreast;
    self->shown = self->elements + aligned(CHUNK * 16);
    self->states = self->shown + aligned(self->by_position ? CHUNK : 0);
    self->bench_bytes = self->states + aligned(LEVELS * columns * self->width);
}

static void describe_along(struct along *self)
{
    const struct plan *plan = self->plan;
    self->indexed = fold_is_indexed(plan->fold);
    self->width = state_bytes(plan->fold, plan->accumulator);
    if (takes_columns(plan))
        describe_columns(self);
    else
        describe_results(self);
    describe_bench(self);
}

static uint64_t pieces_of(const struct along *self)
{
    const struct axes *axes = self->axes;
    return self->tiles.columns ? axes->results / axes->shape[axes->kept - 1] * self->tiles.tiles
                               : divide_up(axes->results, self->results_a_piece);
}

/* Stretches, with a thought of the watch between them. */
static bool fold_pieces(struct job *job, struct along *self)
{
    enum { LEAST_PIECES = 64 };
    const uint64_t pieces = pieces_of(self),
                   results = self->tiles.columns ? self->tiles.columns : self->results_a_piece,
                   stretch = LEAST_PIECES + STRETCH / results / (self->plan->n + 1);
    for (; self->start < pieces; self->start += stretch) {
        if (self->start && watch_interrupted_lately(job->run, &job->asked))
            return false;
        threads_run(job->threads, least(pieces - self->start, stretch), false,
                    self->tiles.columns ? fold_columns : fold_results, self);
    }
    return true;
}

static bool out_of_memory(struct job *job)
{
    failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
    return false;
}

static bool share_results(struct job *job, struct along *self)
{
    describe_along(self);
    self->benches =
        aligned_alloc(aligned(1), threads_for(job->threads, pieces_of(self)) * self->bench_bytes);
    if (!self->benches)
        return out_of_memory(job);
    const bool folded = fold_pieces(job, self);
    job->run->findings = findings_of(self);
    free(self->benches);
    return folded;
}

/* ---- few and long ones ---- */

/* One after the other, each like an array by itself. */
static bool share_elements(struct job *job, const struct along *self)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    struct layout layout = self->axes->reduced;
    struct plan one = *self->plan;
    struct job part = *job;
    struct walk_of_results walk;
    one.layout = &layout;
    part.plan = &one;
    results_start(&walk, self->axes, 0);
    for (uint64_t k = 0; k < self->axes->results; k++, results_next(&walk)) {
        layout.data = (const char *)self->axes->reduced.data + walk.offset;
        if (layout.mask)
            layout.mask = self->axes->reduced.mask + walk.mask_offset;
        uint64_t count;
        if (!folding_run(&part, state, &count))
            return false;
        finish(self, &job->run->findings, state, count, walk.place);
    }
    return true;
}

bool along_run(struct job *job)
{
    if (columns_suit(job))
        return columns_run(job);
    const struct plan *plan = job->plan;
    const uint64_t results = plan->axes->results;
    const bool few =
        plan->n >= LONG && (results <= FEW || plan->n >= STRETCH) && !takes_columns(plan);
    struct along self = {.job = job,
                         .plan = plan,
                         .axes = plan->axes,
                         .result_size = element_size(plan->results.type)};
    return results == 1 || few ? share_elements(job, &self) : share_results(job, &self);
}
