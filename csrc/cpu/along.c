/* Reductions along axes, one result at a time. A result's elements are divided into 2^k parts of
 * nearly equal length, whose states merge as a tree. So a result's bits depend only on its own
 * elements and strides, and float errors stay small. Threads share the results; if there are few,
 * also the branches of each tree; and for a single result or huge ones, the elements. */
#include "common/arithmetic.h"
#include "cpu/chunk.h"
#include "cpu/finalize.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

#include <string.h>

enum {
    LANES = 16,              /* most results folded together */
    LEVELS = 34,             /* of states that wait to be merged */
    NEAR_STRIDE = 4,         /* element stride up to which elements count as close */
    TRANSPOSE_MAX = 128,     /* longest results that are transposed with their neighbors */
    GATHER_BYTES = 4 << 10,  /* bytes gathered at a time, approximately */
    PROBE = 128,             /* elements that often settle a result */
    PENDING_MAX = 64,        /* results that are finished together */
    POLL_INTERVAL = 1 << 26, /* elements between polls of the watch */
    TILE_ELEMENTS = 1 << 16
};

struct along {
    const struct plan *plan;
    const struct axes *axes;
    struct chunks chunks; /* for the first result */
    uint64_t parts;       /* of a result: 2^shift of nearly equal length, or 0 */
    unsigned shift;
    struct tiles tiles;
    uint64_t tile_results, groups; /* groups of results */
    uint64_t runs;                 /* branches of a result's tree, one per thread: a power of 2 */
    unsigned lanes;                /* results that are folded together */
    bool single_chunk;             /* each result is folded in one go */
    bool gather;                   /* after its elements are gathered */
    struct tile_writer tile_writer;
    size_t states, pending; /* offsets in a workspace: states, pending results */
    size_t chunks_at;       /* and the thread's copy of `chunks` */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
};

struct workspace {
    char *buffer, *states, *pending_states;
    struct chunks *chunks;   /* of the current result */
    struct finalize pending; /* adjacent results, to be finished together */
    unsigned findings;       /* so far */
};

/* One of the results that are folded together. */
struct lane {
    int64_t offset, mask_offset, place; /* of its elements, its mask and its output */
    char *states;                       /* states that wait to be merged */
    uint64_t depth;                     /* number of states */
    bool settled;
};

/* ---- one result's elements ---- */

/* Parts begin at multiples of this many elements, for alignment. */
enum { GRAIN = 64 };

static void divide_parts(struct along *self)
{
    const uint64_t n = self->plan->n;
    self->parts = n > 0;
    self->shift = 0;
    while (n > CHUNK_MAX && (n >> self->shift) + GRAIN > CHUNK_MAX)
        self->parts = (uint64_t)1 << ++self->shift;
}

static uint64_t part_start(const struct along *self, uint64_t part)
{
    const uint64_t n = self->plan->n;
    return part == self->parts ? n : (n * part >> self->shift) & ~((uint64_t)GRAIN - 1);
}

static void move_to_lane(const struct along *self, struct workspace *ws, const struct lane *lane)
{
    const struct layout *first = &self->axes->reduced;
    chunks_move(ws->chunks, (const char *)first->data + lane->offset,
                first->mask ? first->mask + lane->mask_offset : NULL);
}

/* Two states of equally many chunks merge as soon as they exist; with positions, one state is
 * passed from chunk to chunk. `done`: chunks folded before. */
static void fold_next_chunk(const struct along *self, struct workspace *ws, struct lane *lane,
                            uint64_t chunk, uint64_t done)
{
    const struct chunks *chunks = ws->chunks;
    const uint64_t start = part_start(self, chunk), n = part_start(self, chunk + 1) - start;
    char *const state = lane->states + (chunks->indexed ? 0 : lane->depth * chunks->width);
    move_to_lane(self, ws, lane);
    if (done == 0 && n > PROBE && chunks->settled) {
        chunk_fold(chunks, ws->buffer, start, PROBE, state);
        lane->settled = chunks->settled(state, PROBE);
    }
    if (!lane->settled) {
        chunk_fold(chunks, ws->buffer, start, n, state);
        lane->settled = chunks->settled && chunks->settled(state, n);
    }
    if (chunks->indexed)
        return;
    lane->depth++;
    for (; done & 1; done >>= 1)
        chunks->merge(lane->states + (--lane->depth - 1) * chunks->width, 2);
}

/* ---- results ---- */

/* Finishes the pending states, and returns all findings so far. */
static unsigned finalize_pending(const struct along *self, struct workspace *ws)
{
    if (ws->pending.n)
        ws->findings |= finalize_run(self->plan, &ws->pending);
    ws->pending.n = 0;
    return ws->findings;
}

/* Reserves states for *n results of `count` elements each from `place` on; may lower *n. */
static char *reserve_pending(const struct along *self, struct workspace *ws, int64_t place,
                             uint64_t count, uint64_t *n)
{
    const struct axes *axes = self->axes;
    struct finalize *const states = &ws->pending;
    const int64_t step = axes->outer ? axes->places[axes->outer - 1] : 0;
    if (states->n == PENDING_MAX || states->count != count ||
        place != states->place + (int64_t)states->n * step)
        finalize_pending(self, ws);
    if (states->n == 0)
        *states = (struct finalize){
            .states = ws->pending_states, .count = count, .place = place, .step = step};
    char *const room = ws->pending_states + states->n * self->chunks.width;
    *n = min_u64(*n, PENDING_MAX - states->n);
    states->n += *n;
    return room;
}

/* Queues the current result to be finished. */
static void finish_result(const struct along *self, struct workspace *ws, const struct lane *lane,
                          const char *state)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = &ws->chunks->layout;
    uint64_t one = 1;
    move_to_lane(self, ws, lane);
    const uint64_t count =
        plan->counts && layout->mask ? gather_count(layout, 0, plan->n) : plan->n;
    memcpy(reserve_pending(self, ws, lane->place, count, &one), state, self->chunks.width);
}

static void find_lanes(const struct along *self, const struct workspace *ws, uint64_t first,
                       unsigned count, struct lane *lanes)
{
    struct result_iterator walk;
    results_seek(&walk, self->axes, first);
    for (unsigned k = 0; k < count; k++, results_next(&walk))
        lanes[k] = (struct lane){.offset = walk.offset,
                                 .mask_offset = walk.mask_offset,
                                 .place = walk.place,
                                 .states = ws->states + k * LEVELS * self->chunks.width};
}

/* Folds chunks of adjacent results in turn, since a cache line with one result's elements has
 * elements of the next. Leaves the state of each in its first. */
static void fold_lanes(const struct along *self, struct workspace *ws, struct lane *lanes,
                       unsigned count, uint64_t first, uint64_t end)
{
    const size_t width = self->chunks.width;
    for (unsigned k = 0; k < count; k++)
        if (self->chunks.indexed || self->plan->n == 0)
            memcpy(lanes[k].states, self->identity, width);
    unsigned left = count;
    for (uint64_t chunk = first; left > 0 && chunk < end; chunk++)
        for (unsigned k = 0; k < count; k++)
            if (!lanes[k].settled) {
                fold_next_chunk(self, ws, &lanes[k], chunk, chunk - first);
                left -= lanes[k].settled;
            }
    for (unsigned k = 0; k < count; k++)
        for (; lanes[k].depth > 1; lanes[k].depth--)
            self->chunks.merge(lanes[k].states + (lanes[k].depth - 2) * width, 2);
}

/* Whether the first of a result's contiguous elements settle it; if so, `state` is final. */
static bool is_settled_early(const struct along *self, const char *at, char *state)
{
    if (!self->chunks.settled || self->plan->n <= PROBE)
        return false;
    self->chunks.fold_elements(at, PROBE, 0, state);
    return self->chunks.settled(state, PROBE);
}

/* Folds adjacent results of a single part each, `distance` bytes apart: in place, or gathered, up
 * to a chunk of them. */
static void fold_adjacent(const struct along *self, struct workspace *ws, const char *at,
                          int64_t distance, uint64_t results, char *states)
{
    const uint64_t n = self->plan->n;
    const size_t width = self->chunks.width;
    fold_values *const fold = self->chunks.fold_elements;
    if (self->gather) {
        const struct tile tile = {.at = at,
                                  .rows = results,
                                  .columns = n,
                                  .row_stride = distance,
                                  .column_stride = self->axes->reduced.strides[0]};
        tile_writer_write(&self->tile_writer, &tile, ws->buffer);
        distance = (int64_t)(n * self->chunks.size);
        at = ws->buffer;
    }
    for (uint64_t k = 0; k < results; k++, at += distance, states += width) {
        if (self->chunks.indexed)
            memcpy(states, self->identity, width);
        if (!is_settled_early(self, at, states))
            fold(at, n, 0, states);
    }
}

static void fold_single_chunks(const struct along *self, struct workspace *ws, uint64_t first,
                               uint64_t end)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    const uint64_t fitting = GATHER_BYTES / (self->plan->n * self->chunks.size) + 1,
                   most = !self->gather
                              ? PENDING_MAX
                              : min_u64(self->tile_writer.transpose ? PENDING_MAX : fitting,
                                        CHUNK_MAX / self->plan->n);
    uint64_t results;
    for (uint64_t result = first; result < end; result += results) {
        struct result_iterator walk;
        results_seek(&walk, axes, result);
        results = min_u64(min_u64(end - result, axes->shape[inner] - walk.index[inner]), most);
        char *const states = reserve_pending(self, ws, walk.place, self->plan->n, &results);
        fold_adjacent(self, ws, (const char *)axes->reduced.data + walk.offset,
                      axes->strides[inner], results, states);
    }
}

static struct workspace workspace_at(const struct along *self, char *memory)
{
    if (!self->single_chunk)
        memcpy(memory + self->chunks_at, &self->chunks, sizeof self->chunks);
    return (struct workspace){.buffer = memory,
                              .states = memory + self->states,
                              .pending_states = memory + self->pending,
                              .chunks = (struct chunks *)(void *)(memory + self->chunks_at)};
}

/* A tile of several results, each in one run. */
static unsigned fold_results(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace ws = workspace_at(self, memory);
    const uint64_t first = tile * self->tile_results,
                   end = min_u64(first + self->tile_results, self->axes->results);
    struct lane lanes[LANES];
    if (self->single_chunk)
        fold_single_chunks(self, &ws, first, end);
    for (uint64_t result = first; result < end && !self->single_chunk; result += self->lanes) {
        const unsigned count = (unsigned)min_u64(self->lanes, end - result);
        find_lanes(self, &ws, result, count, lanes);
        fold_lanes(self, &ws, lanes, count, 0, self->parts);
        for (unsigned k = 0; k < count; k++)
            finish_result(self, &ws, &lanes[k], lanes[k].states);
    }
    return finalize_pending(self, &ws);
}

/* ---- few results, in runs of parts ---- */

static char *branches_of(const struct along *self, uint64_t result)
{
    return tiles_common(&self->tiles) + result * self->runs * self->chunks.width;
}

/* One run of a group of results that are folded together. */
static unsigned fold_run(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace ws = workspace_at(self, memory);
    const uint64_t run = tile / self->groups, first = tile % self->groups * self->lanes,
                   parts = self->parts / self->runs;
    const unsigned count = (unsigned)min_u64(self->lanes, self->axes->results - first);
    const size_t width = self->chunks.width;
    struct lane lanes[LANES];
    find_lanes(self, &ws, first, count, lanes);
    fold_lanes(self, &ws, lanes, count, run * parts, (run + 1) * parts);
    for (unsigned k = 0; k < count; k++)
        memcpy(branches_of(self, first + k) + run * width, lanes[k].states, width);
    return 0;
}

/* Merges the runs of a group and finishes its results. */
static unsigned finish_group(void *context, uint64_t group, void *memory)
{
    const struct along *self = context;
    struct workspace ws = workspace_at(self, memory);
    const uint64_t first = group * self->lanes;
    const unsigned count = (unsigned)min_u64(self->lanes, self->axes->results - first);
    struct lane lanes[LANES];
    find_lanes(self, &ws, first, count, lanes);
    for (unsigned k = 0; k < count; k++) {
        char *const states = branches_of(self, first + k);
        self->chunks.merge(states, self->runs);
        finish_result(self, &ws, &lanes[k], states);
    }
    return finalize_pending(self, &ws);
}

/* ---- all of them ---- */

/* How single parts of several results are gathered together: a row costs only its loop. */
static void describe_gather(struct along *self)
{
    const enum instructions instructions = self->tiles.job->instructions;
    const struct layout *reduced = &self->axes->reduced;
    /* a cache line holds elements of few results only */
    const bool moves = self->chunks.mode == GATHERED && reduced->dimensions == 1 &&
                       reduced->strides[0] > 0 &&
                       reduced->strides[0] <= NEAR_STRIDE * (int64_t)self->chunks.size;
    const bool transposes = self->chunks.mode == GATHERED && !moves && reduced->dimensions == 1 &&
                            !reduced->swapped && !reduced->mask && self->plan->n <= TRANSPOSE_MAX;
    self->single_chunk = self->parts == 1 && !self->plan->layout->mask && self->axes->outer &&
                         (moves || transposes || self->chunks.mode == IN_PLACE);
    self->gather = moves || transposes;
    if (self->gather)
        self->tile_writer = (struct tile_writer){
            .move = gather_mover(instructions, reduced, false),
            .transpose =
                transposes ? cpu_kernels(instructions)->transpose(self->chunks.size) : NULL,
            .end = axes_data_end(self->axes)};
}

/* Tiles and parts are long enough to make their overhead small. A single thread takes one tile. */
static void divide_results(struct along *self)
{
    const uint64_t results = self->axes->results, pieces = self->tiles.sharing.pieces,
                   fair = ceil_div(results, pieces),
                   most = TILE_ELEMENTS / (min_u64(self->plan->n, TILE_ELEMENTS) + 1),
                   some = self->parts > 1 ? min_u64(most, fair) : most;
    self->tile_results = pieces == 1 ? results : some;
    if (self->tile_results < self->lanes)
        self->tile_results = self->lanes;
    self->groups = ceil_div(results, self->tile_results);
    self->runs = 1;
    if (self->tile_results == self->lanes)
        while (self->groups * self->runs < pieces && self->runs < self->parts)
            self->runs *= 2;
}

/* Elements needed per result, judging by the first: results that settle early wake no thread. */
static uint64_t elements_needed(const struct along *self, const struct job *job)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct layout *first = &self->axes->reduced;
    const bool contiguous =
        self->chunks.mode == IN_PLACE ||
        (self->chunks.mode == IN_ROWS && first->shape[first->dimensions - 1] >= PROBE);
    memcpy(state, self->identity, self->chunks.width);
    return contiguous && !job->run->explanation && is_settled_early(self, first->data, state)
               ? PROBE
               : self->plan->n;
}

/* Lays out the workspace: gathered elements, states that wait to be merged, and pending results. If
 * runs are shared, the common memory has the states of all runs, grouped by result. */
static void describe(struct along *self, struct job *job)
{
    enum { LEAST_TILES = 64 };
    const struct plan *plan = self->plan = job->plan;
    const struct axes *axes = self->axes = plan->axes;
    self->tiles = (struct tiles){.job = job};
    chunks_describe(&self->chunks, job);
    divide_parts(self);
    /* in rows, no other result's elements are in between */
    self->lanes = axes->kind == AXES_ROWS || self->chunks.mode == IN_ROWS ? 1 : LANES;
    describe_gather(self);
    state_identity(plan->fold, plan->accumulator, self->identity);
    const enum gathering gathering = self->gather                      ? GATHERS_TILES
                                     : mode_gathers(self->chunks.mode) ? GATHERS_ELEMENTS
                                                                       : GATHERS_NOTHING;
    self->tiles.sharing = sharing_of(plan->fold, plan->layout->input, gathering, true,
                                     elements_needed(self, job) * axes->results + 1, axes->results);
    divide_results(self);
    const size_t width = self->chunks.width;
    self->states = self->chunks.buffer;
    self->pending = self->states + tiles_aligned(LEVELS * self->lanes * width);
    self->chunks_at = self->pending + tiles_aligned(PENDING_MAX * width);
    self->tiles.workspace = self->chunks_at + sizeof self->chunks;
    self->tiles.common = self->runs > 1 ? axes->results * self->runs * width : 0;
    self->tiles.poll_interval =
        LEAST_TILES + POLL_INTERVAL / (self->tile_results * (plan->n + 1) / self->runs);
}

static bool share_results(struct job *job)
{
    struct along self;
    describe(&self, job);
    const uint64_t tiles = self.tiles.sharing.pieces > 1 ? self.groups * self.runs : 1;
    const struct loops loops = {
        .results = RESULTS_SEQUENTIAL, .way = load_mode_name(self.chunks.mode), .chunk = CHUNK_MAX};
    return job->run->explanation ? tiles_explain(job, loops, tiles)
                                 : tiles_process(&self.tiles, self.groups, self.runs, "partials",
                                                 fold_results, fold_run, finish_group, &self);
}

/* ---- the whole ---- */

bool along_run(struct job *job)
{
    const struct plan *plan = job->plan;
    const bool one = plan->axes->results == 1 && !plan->launch.batch_invariant;
    if (plan_results_are_zero(plan) && !job->run->explanation) {
        memset(plan->results.at[0], 0, plan->axes->results * element_size(plan->results.types[0]));
        return true;
    }
    if (columns_preferred(job))
        return columns_run(job);
    return one || plan->n >= POLL_INTERVAL ? folding_run_each(job) : share_results(job);
}
