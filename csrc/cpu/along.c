/* Results that are folded one by one, a chunk of elements at a time, in parts of nearly one length,
 * 2^k of them, whose states merge as a tree, so that a result's bits depend on nothing but its own
 * elements and how they lie, and of floats no state takes part in many additions. Threads share the
 * results; where those are few, the branches of each one's tree, too; and of a single one, or of
 * huge ones, the elements, as of an array by itself. */
#include "common/arithmetic.h"
#include "cpu/chunk.h"
#include "cpu/finalize.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

#include <string.h>

enum {
    LANES = 16,        /* results side by side, at most */
    LEVELS = 34,       /* of states that wait for their like */
    FEW_APART = 4,     /* elements between two of a result */
    TRANSPOSED = 128,  /* elements of a result that are transposed with its neighbours', at most */
    MOVED = 4 << 10,   /* bytes that are gathered at a time, about */
    PROBE = 128,       /* elements that often settle a result */
    WAITING_MOST = 64, /* results that are finished together */
    STRETCH = 1 << 26, /* elements between two thoughts of the watch */
    ELEMENTS_A_TILE = 1 << 16
};

struct along {
    const struct plan *plan;
    const struct axes *axes;
    struct chunks chunks; /* of the first result */
    uint64_t parts;       /* of a result's elements, of nearly one length: 2^shift, or none */
    unsigned shift;
    struct tiles tiles;
    uint64_t results_a_tile, groups; /* of so many results */
    uint64_t runs;  /* branches of a result's tree, each for one thread: a power of 2 */
    unsigned lanes; /* results that are folded side by side */
    bool at_once;   /* each is, in one go */
    bool brings;    /* its elements together first: */
    struct bringer bringer;
    size_t states, done; /* where states begin in a workspace, and those that wait */
    size_t chunks_at;    /* and what a thread makes of `chunks` */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
};

struct workspace {
    char *buffer, *states, *done;
    struct chunks *chunks;   /* of the result that it is at */
    struct finalize waiting; /* neighbouring results that are done, to be finished together */
    unsigned findings;       /* of those before */
};

/* One of the results that are folded side by side. */
struct lane {
    int64_t offset, mask_offset, place; /* of its elements, of their mask, and among the results */
    char *states;                       /* that wait for their like */
    uint64_t depth;                     /* how many do */
    bool settled;
};

/* ---- one result's elements ---- */

/* Parts begin at multiples of so many elements, for the memory's sake. */
enum { GRAIN = 64 };

static void cut_parts(struct along *self)
{
    const uint64_t n = self->plan->n;
    self->parts = n > 0;
    self->shift = 0;
    while (n > LOOP_MOST && (n >> self->shift) + GRAIN > LOOP_MOST)
        self->parts = (uint64_t)1 << ++self->shift;
}

static uint64_t part_start(const struct along *self, uint64_t part)
{
    const uint64_t n = self->plan->n;
    return part == self->parts ? n : (n * part >> self->shift) & ~((uint64_t)GRAIN - 1);
}

static void move_to(const struct along *self, struct workspace *own, const struct lane *lane)
{
    const struct layout *first = &self->axes->reduced;
    chunks_move(own->chunks, (const char *)first->data + lane->offset,
                first->mask ? first->mask + lane->mask_offset : NULL);
}

/* Chunks' states merge as soon as there are two of as many chunks; where positions matter, what has
 * been found goes from one chunk to the next. `done`: chunks that were folded before. */
static void fold_next_chunk(const struct along *self, struct workspace *own, struct lane *lane,
                            uint64_t chunk, uint64_t done)
{
    const struct chunks *chunks = own->chunks;
    const uint64_t start = part_start(self, chunk), n = part_start(self, chunk + 1) - start;
    char *const state = lane->states + (chunks->indexed ? 0 : lane->depth * chunks->width);
    move_to(self, own, lane);
    if (done == 0 && n > PROBE && chunks->settled) {
        chunk_fold(chunks, own->buffer, start, PROBE, state);
        lane->settled = chunks->settled(state, PROBE);
    }
    if (!lane->settled) {
        chunk_fold(chunks, own->buffer, start, n, state);
        lane->settled = chunks->settled && chunks->settled(state, n);
    }
    if (chunks->indexed)
        return;
    lane->depth++;
    for (; done & 1; done >>= 1)
        chunks->merge(lane->states + (--lane->depth - 1) * chunks->width, 2);
}

/* ---- results ---- */

/* Fills the results whose states wait, and returns what is to be said of all so far. */
static unsigned finalize_waiting(const struct along *self, struct workspace *own)
{
    if (own->waiting.n)
        own->findings |= finalize_run(self->plan, &own->waiting);
    own->waiting.n = 0;
    return own->findings;
}

/* Where states of results from `place` on go, each of `count` elements: of *n of them, or of as
 * many as there is room for. */
static char *waiting_room(const struct along *self, struct workspace *own, int64_t place,
                          uint64_t count, uint64_t *n)
{
    const struct axes *axes = self->axes;
    struct finalize *const states = &own->waiting;
    const int64_t step = axes->outer ? axes->places[axes->outer - 1] : 0;
    if (states->n == WAITING_MOST || states->count != count ||
        place != states->place + (int64_t)states->n * step)
        finalize_waiting(self, own);
    if (states->n == 0)
        *states =
            (struct finalize){.states = own->done, .count = count, .place = place, .step = step};
    char *const room = own->done + states->n * self->chunks.width;
    *n = least(*n, WAITING_MOST - states->n);
    states->n += *n;
    return room;
}

/* Finishes the result that is at hand, or lets it wait for that. */
static void finish_result(const struct along *self, struct workspace *own, const struct lane *lane,
                          const char *state)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = &own->chunks->layout;
    uint64_t one = 1;
    move_to(self, own, lane);
    const uint64_t count =
        plan->counts && layout->mask ? gather_count(layout, 0, plan->n) : plan->n;
    memcpy(waiting_room(self, own, lane->place, count, &one), state, self->chunks.width);
}

static void find_lanes(const struct along *self, const struct workspace *own, uint64_t first,
                       unsigned count, struct lane *lanes)
{
    struct walk_of_results walk;
    results_start(&walk, self->axes, first);
    for (unsigned k = 0; k < count; k++, results_next(&walk))
        lanes[k] = (struct lane){.offset = walk.offset,
                                 .mask_offset = walk.mask_offset,
                                 .place = walk.place,
                                 .states = own->states + k * LEVELS * self->chunks.width};
}

/* Folds chunks of neighbours, one's and the next one's by turns, so that what lies between one's
 * elements serves the next. Each one's state is its first then. */
static void fold_side_by_side(const struct along *self, struct workspace *own, struct lane *lanes,
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
                fold_next_chunk(self, own, &lanes[k], chunk, chunk - first);
                left -= lanes[k].settled;
            }
    for (unsigned k = 0; k < count; k++)
        for (; lanes[k].depth > 1; lanes[k].depth--)
            self->chunks.merge(lanes[k].states + (lanes[k].depth - 2) * width, 2);
}

/* Whether the first of a result's elements, which lie one after the other, settle it: then its
 * state is made of those. */
static bool is_settled_early(const struct along *self, const char *at, char *state)
{
    if (!self->chunks.settled || self->plan->n <= PROBE)
        return false;
    self->chunks.fold_elements(at, PROBE, 0, state);
    return self->chunks.settled(state, PROBE);
}

/* Neighbouring results of a single part each, `distance` bytes apart: where their elements lie, or
 * brought together, up to a chunk of them. */
static void fold_neighbours(const struct along *self, struct workspace *own, const char *at,
                            int64_t distance, uint64_t results, char *states)
{
    const uint64_t n = self->plan->n;
    const size_t width = self->chunks.width;
    fold_values *const fold = self->chunks.fold_elements;
    if (self->brings) {
        const struct tile tile = {.at = at,
                                  .rows = results,
                                  .columns = n,
                                  .row_stride = distance,
                                  .column_stride = self->axes->reduced.strides[0]};
        bringer_bring(&self->bringer, &tile, own->buffer);
        distance = (int64_t)(n * self->chunks.size);
        at = own->buffer;
    }
    for (uint64_t k = 0; k < results; k++, at += distance, states += width) {
        if (self->chunks.indexed)
            memcpy(states, self->identity, width);
        if (!is_settled_early(self, at, states))
            fold(at, n, 0, states);
    }
}

static void fold_at_once(const struct along *self, struct workspace *own, uint64_t first,
                         uint64_t end)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    const uint64_t fitting = MOVED / (self->plan->n * self->chunks.size) + 1,
                   most = !self->brings ? WAITING_MOST
                                        : least(self->bringer.transpose ? WAITING_MOST : fitting,
                                                LOOP_MOST / self->plan->n);
    uint64_t results;
    for (uint64_t result = first; result < end; result += results) {
        struct walk_of_results walk;
        results_start(&walk, axes, result);
        results = least(least(end - result, axes->shape[inner] - walk.index[inner]), most);
        char *const states = waiting_room(self, own, walk.place, self->plan->n, &results);
        fold_neighbours(self, own, (const char *)axes->reduced.data + walk.offset,
                        axes->strides[inner], results, states);
    }
}

static struct workspace workspace_at(const struct along *self, char *memory)
{
    if (!self->at_once)
        memcpy(memory + self->chunks_at, &self->chunks, sizeof self->chunks);
    return (struct workspace){.buffer = memory,
                              .states = memory + self->states,
                              .done = memory + self->done,
                              .chunks = (struct chunks *)(void *)(memory + self->chunks_at)};
}

/* Several results, in one run each. */
static unsigned fold_results(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t first = tile * self->results_a_tile,
                   end = least(first + self->results_a_tile, self->axes->results);
    struct lane lanes[LANES];
    if (self->at_once)
        fold_at_once(self, &own, first, end);
    for (uint64_t result = first; result < end && !self->at_once; result += self->lanes) {
        const unsigned count = (unsigned)least(self->lanes, end - result);
        find_lanes(self, &own, result, count, lanes);
        fold_side_by_side(self, &own, lanes, count, 0, self->parts);
        for (unsigned k = 0; k < count; k++)
            finish_result(self, &own, &lanes[k], lanes[k].states);
    }
    return finalize_waiting(self, &own);
}

/* ---- few results, in runs of parts ---- */

static char *branches_of(const struct along *self, uint64_t result)
{
    return tiles_common(&self->tiles) + result * self->runs * self->chunks.width;
}

/* One run of a group of results side by side. */
static unsigned fold_run(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t run = tile / self->groups, first = tile % self->groups * self->lanes,
                   parts = self->parts / self->runs;
    const unsigned count = (unsigned)least(self->lanes, self->axes->results - first);
    const size_t width = self->chunks.width;
    struct lane lanes[LANES];
    find_lanes(self, &own, first, count, lanes);
    fold_side_by_side(self, &own, lanes, count, run * parts, (run + 1) * parts);
    for (unsigned k = 0; k < count; k++)
        memcpy(branches_of(self, first + k) + run * width, lanes[k].states, width);
    return 0;
}

/* Of a group whose runs were shared: what becomes of it in the end. */
static unsigned finish_group(void *context, uint64_t group, void *memory)
{
    const struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t first = group * self->lanes;
    const unsigned count = (unsigned)least(self->lanes, self->axes->results - first);
    struct lane lanes[LANES];
    find_lanes(self, &own, first, count, lanes);
    for (unsigned k = 0; k < count; k++) {
        char *const states = branches_of(self, first + k);
        self->chunks.merge(states, self->runs);
        finish_result(self, &own, &lanes[k], states);
    }
    return finalize_waiting(self, &own);
}

/* ---- all of them ---- */

/* What brings the elements of a single part together, those of several results at a time: then a
 * row begins at no cost but for a loop's own. */
static void describe_moves(struct along *self)
{
    const enum instructions instructions = self->tiles.job->instructions;
    const struct layout *reduced = &self->axes->reduced;
    /* A cache line holds no more than a few results' elements. */
    const bool moves = self->chunks.way == GATHERED && reduced->dimensions == 1 &&
                       reduced->strides[0] > 0 &&
                       reduced->strides[0] <= FEW_APART * (int64_t)self->chunks.size;
    const bool transposes = self->chunks.way == GATHERED && !moves && reduced->dimensions == 1 &&
                            !reduced->swapped && !reduced->mask && self->plan->n <= TRANSPOSED;
    self->at_once = self->parts == 1 && !self->plan->layout->mask && self->axes->outer &&
                    (moves || transposes || self->chunks.way == IN_PLACE);
    self->brings = moves || transposes;
    if (self->brings)
        self->bringer = (struct bringer){
            .move = gather_mover(instructions, reduced, false),
            .transpose =
                transposes ? cpu_kernels(instructions)->transpose(self->chunks.size) : NULL,
            .end = axes_end(self->axes)};
}

/* Tiles have so many elements that to take one costs little beside them, as any part has; one
 * thread by itself takes all as one tile. */
static void share_out(struct along *self)
{
    const uint64_t results = self->axes->results, pieces = self->tiles.sharing.pieces,
                   fair = divide_up(results, pieces),
                   most = ELEMENTS_A_TILE / (least(self->plan->n, ELEMENTS_A_TILE) + 1),
                   some = self->parts > 1 ? least(most, fair) : most;
    self->results_a_tile = pieces == 1 ? results : some;
    if (self->results_a_tile < self->lanes)
        self->results_a_tile = self->lanes;
    self->groups = divide_up(results, self->results_a_tile);
    self->runs = 1;
    if (self->results_a_tile == self->lanes)
        while (self->groups * self->runs < pieces && self->runs < self->parts)
            self->runs *= 2;
}

/* Of each result, as far as the first one tells: no thread is woken for what settles early. */
static uint64_t elements_wanted(const struct along *self, const struct job *job)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct layout *first = &self->axes->reduced;
    const bool lie_together =
        self->chunks.way == IN_PLACE ||
        (self->chunks.way == IN_ROWS && first->shape[first->dimensions - 1] >= PROBE);
    memcpy(state, self->identity, self->chunks.width);
    return lie_together && !job->run->explanation && is_settled_early(self, first->data, state)
               ? PROBE
               : self->plan->n;
}

/* Room for what is gathered, for states that wait for their like, and for those that are done; and,
 * of results whose runs are shared, for the states of all runs, those of a result together. */
static void describe(struct along *self, struct job *job)
{
    enum { LEAST_TILES = 64 };
    const struct plan *plan = self->plan = job->plan;
    const struct axes *axes = self->axes = plan->axes;
    self->tiles = (struct tiles){.job = job};
    chunks_describe(&self->chunks, job);
    cut_parts(self);
    /* What lies in rows has nothing of its neighbours' between its elements. */
    self->lanes = axes->kind == AXES_ROWS || self->chunks.way == IN_ROWS ? 1 : LANES;
    describe_moves(self);
    state_identity(plan->fold, plan->accumulator, self->identity);
    const enum bringing bringing = self->brings                    ? BRINGS_TILES
                                   : way_gathers(self->chunks.way) ? BRINGS_ELEMENTS
                                                                   : BRINGS_NOTHING;
    self->tiles.sharing = sharing_of(plan->fold, plan->layout->input, bringing, true,
                                     elements_wanted(self, job) * axes->results + 1, axes->results);
    share_out(self);
    const size_t width = self->chunks.width;
    self->states = self->chunks.buffer;
    self->done = self->states + tiles_aligned(LEVELS * self->lanes * width);
    self->chunks_at = self->done + tiles_aligned(WAITING_MOST * width);
    self->tiles.workspace = self->chunks_at + sizeof self->chunks;
    self->tiles.common = self->runs > 1 ? axes->results * self->runs * width : 0;
    self->tiles.stretch =
        LEAST_TILES + STRETCH / (self->results_a_tile * (plan->n + 1) / self->runs);
}

static bool share_results(struct job *job)
{
    static const struct tile_works works = {fold_results, fold_run, finish_group};
    struct along self;
    describe(&self, job);
    const uint64_t tiles = self.tiles.sharing.pieces > 1 ? self.groups * self.runs : 1;
    const struct loops loops = {
        .results = RESULTS_IN_TURN, .way = chunk_way_name(self.chunks.way), .chunk = LOOP_MOST};
    return job->run->explanation
               ? tiles_explain(job, loops, tiles)
               : tiles_do(&self.tiles, self.groups, self.runs, "partials", &works, &self);
}

/* ---- the whole ---- */

bool along_run(struct job *job)
{
    const struct plan *plan = job->plan;
    const bool one = plan->axes->results == 1 && !plan->launch.batch_invariant;
    if (plan_makes_zeros(plan) && !job->run->explanation) {
        memset(plan->results.at[0], 0, plan->axes->results * element_size(plan->results.types[0]));
        return true;
    }
    if (columns_suit(job))
        return columns_run(job);
    return one || plan->n >= STRETCH ? folding_one_by_one(job) : share_results(job);
}
