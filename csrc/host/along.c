/* Results that are folded one by one, a chunk of elements at a time, in parts of nearly one length,
 * 2^k of them, whose states merge as a tree, so that a result's bits depend on nothing but its own
 * elements and how they lie, and of floats no state takes part in many additions. Threads share the
 * results; where those are few, the branches of each one's tree, too; and of a single one, or of
 * huge ones, the elements, as of an array by itself. */
#include "host/along.h"

#include "common/arithmetic.h"
#include "common/moves.h"
#include "common/slab.h"
#include "host/chunk.h"
#include "host/columns.h"
#include "host/finishing.h"
#include "host/folding.h"
#include "host/sharing.h"
#include "plan/axes.h"
#include "run/explanation.h"
#include "run/gather.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    GRAIN = 64,        /* elements of which a part's length is a multiple, for the memory's sake */
    LANES = 16,        /* results abreast, at most */
    LEVELS = 34,       /* of states that wait for their like */
    DONE = 64,         /* states that wait to be finished, at most */
    MOVED = 4 << 10,   /* bytes that are brought together at a time, about */
    FEW_APART = 4,     /* elements between two of a result */
    TURNED = 128,      /* elements of a result that are turned with its neighbours', at most */
    STRETCH = 1 << 26, /* elements between two thoughts of the watch */
    ELEMENTS_A_PIECE = 1 << 16,
    PIECES = 512 /* for threads, about, where results are few */
};

/* 2^shift of them, which begin at multiples of a power of two; `count` is 0 of no elements. */
struct parts {
    uint64_t n, count;
    unsigned shift;
};

struct along {
    const struct job *job;
    const struct plan *plan;
    const struct axes *axes;
    struct chunks chunks;             /* of the first result */
    struct parts parts;               /* of a result's elements */
    uint64_t start;                   /* the first piece of this stretch */
    uint64_t results_a_piece, groups; /* of so many results */
    uint64_t runs;    /* branches of a result's tree, each for one thread: a power of 2 */
    unsigned abreast; /* of which so many are folded side by side */
    bool at_once;     /* each is, in one go */
    move_tile *move;  /* what brings its elements together first, or NULL */
    turn_rows *turn;  /* the same where those of several results lie side by side */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
    char *benches, *branches; /* the latter: states of all runs, those of a result together */
    size_t states, done, bench_bytes; /* where states begin on a bench, and those that wait */
    _Atomic unsigned findings;
};

static struct parts parts_of(uint64_t n)
{
    struct parts parts = {n, n > 0, 0};
    while (n > CHUNK && (n >> parts.shift) + GRAIN > CHUNK)
        parts.count = (uint64_t)1 << ++parts.shift;
    return parts;
}

static uint64_t part_start(struct parts parts, uint64_t part)
{
    return part == parts.count ? parts.n : (parts.n * part >> parts.shift) & ~((uint64_t)GRAIN - 1);
}

/* What one thread works with. */
struct bench {
    char *buffer, *states, *done;
    struct chunks chunks; /* of the result that it is at */
    struct finishing waiting;
    unsigned findings;
};

/* One of the results that are folded abreast. */
struct lane {
    int64_t offset, mask_offset, place; /* of its elements, of their mask, and among the results */
    char *states;                       /* that wait for their like */
    uint64_t depth;                     /* how many do */
    bool settled;
};

/* ---- one result's elements ---- */

static void move_to(const struct along *self, struct bench *bench, const struct lane *lane)
{
    const struct layout *first = &self->axes->reduced;
    chunks_move(&bench->chunks, (const char *)first->data + lane->offset,
                first->mask ? first->mask + lane->mask_offset : NULL);
}

/* Chunks' states merge as soon as there are two of as many chunks; where positions matter, what has
 * been found goes from one chunk to the next. `done`: chunks that were folded before. */
static void fold_next_chunk(const struct along *self, struct bench *bench, struct lane *lane,
                            uint64_t chunk, uint64_t done)
{
    const struct chunks *chunks = &bench->chunks;
    const uint64_t start = part_start(self->parts, chunk),
                   n = part_start(self->parts, chunk + 1) - start;
    char *const state = lane->states + (chunks->indexed ? 0 : lane->depth * chunks->width);
    move_to(self, bench, lane);
    chunk_fold(chunks, bench->buffer, start, n, state);
    lane->settled = chunks->settled && chunks->settled(state, n);
    if (chunks->indexed)
        return;
    lane->depth++;
    for (; done & 1; done >>= 1)
        chunks->merge(lane->states + (--lane->depth - 1) * chunks->width, 2);
}

/* ---- results ---- */

static void finish_waiting(const struct along *self, struct bench *bench)
{
    if (bench->waiting.n)
        bench->findings |= finishing_run(self->plan, &bench->waiting);
    bench->waiting.n = 0;
}

/* Whether more may: results from `place` on at that distance. */
static bool may_wait(const struct finishing *waiting, int64_t place, int64_t step, uint64_t count)
{
    return waiting->n < DONE && waiting->count == count && waiting->step == step &&
           place == waiting->place + (int64_t)waiting->n * step;
}

/* Where states of neighbouring results wait for others of as many elements: of *n of them, or of as
 * many as there is room for. */
static char *let_wait(const struct along *self, struct bench *bench, int64_t place, uint64_t count,
                      uint64_t *n)
{
    const int64_t step = self->axes->places[self->axes->kept - 1];
    struct finishing *const waiting = &bench->waiting;
    if (waiting->n && !may_wait(waiting, place, step, count))
        finish_waiting(self, bench);
    if (waiting->n == 0)
        *waiting =
            (struct finishing){.states = bench->done, .count = count, .place = place, .step = step};
    char *const state = bench->done + waiting->n * self->chunks.width;
    *n = least(*n, DONE - waiting->n);
    waiting->n += *n;
    return state;
}

static uint64_t count_shown(const struct along *self, const struct bench *bench)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = &bench->chunks.layout;
    return plan->counts && layout->mask ? gather_count(layout, 0, plan->n) : plan->n;
}

/* Finishes the result that is at hand, or lets it wait for that. */
static void finish_result(const struct along *self, struct bench *bench, const struct lane *lane,
                          const char *state)
{
    uint64_t one = 1;
    move_to(self, bench, lane);
    memcpy(let_wait(self, bench, lane->place, count_shown(self, bench), &one), state,
           self->chunks.width);
}

/* Where so many neighbouring results begin. */
static void find_lanes(const struct along *self, const struct bench *bench, uint64_t first,
                       unsigned count, struct lane *lanes)
{
    struct walk_of_results walk;
    results_start(&walk, self->axes, first);
    for (unsigned k = 0; k < count; k++, results_next(&walk))
        lanes[k] = (struct lane){.offset = walk.offset,
                                 .mask_offset = walk.mask_offset,
                                 .place = walk.place,
                                 .states = bench->states + k * LEVELS * self->chunks.width};
}

/* Folds chunks of neighbours, one's and the next one's by turns, so that what lies between one's
 * elements serves the next. Each one's state is its first then. */
static void fold_abreast(const struct along *self, struct bench *bench, struct lane *lanes,
                         unsigned count, uint64_t first, uint64_t end)
{
    const size_t width = self->chunks.width;
    for (unsigned k = 0; k < count; k++)
        if (self->chunks.indexed || self->plan->n == 0)
            memcpy(lanes[k].states, self->identity, width);
    for (uint64_t chunk = first; chunk < end; chunk++)
        for (unsigned k = 0; k < count; k++)
            if (!lanes[k].settled)
                fold_next_chunk(self, bench, &lanes[k], chunk, chunk - first);
    for (unsigned k = 0; k < count; k++)
        for (; lanes[k].depth > 1; lanes[k].depth--)
            self->chunks.merge(lanes[k].states + (lanes[k].depth - 2) * width, 2);
}

/* Elements of neighbouring results, up to a chunk of them: where they lie, or on the bench.
 * *distance: from one result's to the next one's, bytes. */
static const char *ready(const struct along *self, const struct bench *bench, const char *at,
                         uint64_t results, int64_t *distance)
{
    const uint64_t n = self->plan->n;
    if (!self->move && !self->turn)
        return at;
    if (self->turn) {
        const struct turning columns = {.at = at,
                                        .rows = n,
                                        .n = results,
                                        .row_stride = self->axes->reduced.strides[0],
                                        .stride = *distance,
                                        .end = axes_end(self->axes)};
        self->turn(&columns, n, bench->buffer);
        *distance = (int64_t)(n * self->chunks.size);
        return bench->buffer;
    }
    const struct tile rows = {.at = at,
                              .rows = results,
                              .columns = n,
                              .row_stride = *distance,
                              .column_stride = self->axes->reduced.strides[0]};
    self->move(&rows, bench->buffer);
    *distance = (int64_t)(n * self->chunks.size);
    return bench->buffer;
}

/* Neighbouring results of a single part each. */
static void fold_neighbours(const struct along *self, struct bench *bench, const char *at,
                            int64_t distance, uint64_t results, char *states)
{
    const uint64_t n = self->plan->n;
    const size_t width = self->chunks.width;
    fold_values *const fold = self->chunks.fold_elements;
    at = ready(self, bench, at, results, &distance);
    for (uint64_t k = 0; k < results; k++, at += distance, states += width) {
        if (self->chunks.indexed)
            memcpy(states, self->identity, width);
        fold(at, n, 0, states);
    }
}

static void fold_at_once(const struct along *self, struct bench *bench, uint64_t first,
                         uint64_t end)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->kept - 1;
    const uint64_t fitting = MOVED / (self->plan->n * self->chunks.size) + 1,
                   brought = self->turn ? DONE : fitting,
                   most = self->move || self->turn ? least(brought, CHUNK / self->plan->n) : DONE;
    uint64_t results;
    for (uint64_t result = first; result < end; result += results) {
        struct walk_of_results walk;
        results_start(&walk, axes, result);
        results = least(least(end - result, axes->shape[inner] - walk.index[inner]), most);
        char *const states = let_wait(self, bench, walk.place, self->plan->n, &results);
        fold_neighbours(self, bench, (const char *)axes->reduced.data + walk.offset,
                        axes->strides[inner], results, states);
    }
}

static struct bench bench_of(const struct along *self, unsigned thread)
{
    char *const memory = self->benches + thread * self->bench_bytes;
    return (struct bench){.buffer = memory,
                          .states = memory + self->states,
                          .done = memory + self->done,
                          .chunks = self->chunks};
}

static void finish_bench(struct along *self, struct bench *bench)
{
    finish_waiting(self, bench);
    if (bench->findings)
        atomic_fetch_or(&self->findings, bench->findings);
}

static void fold_results(void *context, uint64_t index, unsigned thread)
{
    struct along *self = context;
    struct bench bench = bench_of(self, thread);
    const uint64_t first = (self->start + index) * self->results_a_piece,
                   end = least(first + self->results_a_piece, self->axes->results);
    struct lane lanes[LANES];
    if (self->at_once)
        fold_at_once(self, &bench, first, end);
    for (uint64_t result = first; result < end && !self->at_once; result += self->abreast) {
        const unsigned count = (unsigned)least(self->abreast, end - result);
        find_lanes(self, &bench, result, count, lanes);
        fold_abreast(self, &bench, lanes, count, 0, self->parts.count);
        for (unsigned k = 0; k < count; k++)
            finish_result(self, &bench, &lanes[k], lanes[k].states);
    }
    finish_bench(self, &bench);
}

/* ---- few results, in runs of parts ---- */

static char *branches_of(const struct along *self, uint64_t result)
{
    return self->branches + result * self->runs * self->chunks.width;
}

/* One run of results abreast. */
static void fold_run(void *context, uint64_t index, unsigned thread)
{
    const struct along *self = context;
    struct bench bench = bench_of(self, thread);
    const uint64_t piece = self->start + index, run = piece / self->groups,
                   first = piece % self->groups * self->abreast,
                   parts = self->parts.count / self->runs;
    const unsigned count = (unsigned)least(self->abreast, self->axes->results - first);
    const size_t width = self->chunks.width;
    struct lane lanes[LANES];
    find_lanes(self, &bench, first, count, lanes);
    fold_abreast(self, &bench, lanes, count, run * parts, (run + 1) * parts);
    for (unsigned k = 0; k < count; k++)
        memcpy(branches_of(self, first + k) + run * width, lanes[k].states, width);
}

static void finish_group(void *context, uint64_t group, unsigned thread)
{
    struct along *self = context;
    struct bench bench = bench_of(self, thread);
    const uint64_t first = group * self->abreast;
    const unsigned count = (unsigned)least(self->abreast, self->axes->results - first);
    struct lane lanes[LANES];
    find_lanes(self, &bench, first, count, lanes);
    for (unsigned k = 0; k < count; k++) {
        char *const states = branches_of(self, first + k);
        self->chunks.merge(states, self->runs);
        finish_result(self, &bench, &lanes[k], states);
    }
    finish_bench(self, &bench);
}

/* ---- all of them ---- */

/* Rows that begin at no cost but for a loop's own. */
static void describe_moves(struct along *self)
{
#define MOVERS(name)  MOVER(name),
#define TURNERS(name) TURNER(name),
    static move_tile *(*const movers[])(size_t, size_t, bool) = {INSTRUCTION_SETS(MOVERS)};
    static turn_rows *(*const turners[])(size_t) = {INSTRUCTION_SETS(TURNERS)};
#undef MOVERS
#undef TURNERS
    const struct layout *reduced = &self->axes->reduced;
    /* A cache line holds no more than a few results' elements. */
    const bool moves = self->chunks.way == GATHERED && reduced->dimensions == 1 &&
                       reduced->strides[0] > 0 &&
                       reduced->strides[0] <= FEW_APART * (int64_t)self->chunks.size;
    const size_t part = reduced->swapped ? element_size(element_real_part(reduced->input)) : 1;
    const bool turns = self->chunks.way == GATHERED && !moves && self->plan->n <= TURNED &&
                       reduced->dimensions == 1 && !reduced->swapped;
    self->at_once = self->parts.count == 1 && !self->plan->layout->mask &&
                    (moves || turns || self->chunks.way == IN_PLACE);
    self->turn = turns ? turners[self->job->instructions](self->chunks.size) : NULL;
    self->move = moves ? movers[self->job->instructions](self->chunks.size, part, false) : NULL;
}

/* Pieces have so many elements that to take one costs little beside them, as any part has. */
static void share_out(struct along *self)
{
    const uint64_t results = self->axes->results, fair = divide_up(results, PIECES),
                   most = ELEMENTS_A_PIECE / (least(self->plan->n, ELEMENTS_A_PIECE) + 1);
    self->results_a_piece = self->parts.count > 1 ? least(most, fair) : most;
    if (self->results_a_piece < self->abreast)
        self->results_a_piece = self->abreast;
    self->groups = divide_up(results, self->results_a_piece);
    self->runs = 1;
    if (self->results_a_piece == self->abreast)
        while (self->groups * self->runs < PIECES && self->runs < self->parts.count)
            self->runs *= 2;
}

/* Room for what is gathered, for states that wait for their like, and for those that are done. */
static void describe_along(struct along *self)
{
    const uint64_t n = self->plan->n;
    chunks_describe(&self->chunks, self->job);
    self->parts = parts_of(n);
    self->abreast = self->axes->kind == AXES_ROWS ? 1 : LANES;
    describe_moves(self);
    state_identity(self->plan->fold, self->plan->accumulator, self->identity);
    share_out(self);
    self->states = self->chunks.buffer;
    self->done = self->states + chunk_aligned(LEVELS * self->abreast * self->chunks.width);
    self->bench_bytes = self->done + chunk_aligned(DONE * self->chunks.width);
}

static enum bringing bringing_of(const struct along *self)
{
    if (self->move || self->turn)
        return BRINGS_TILES;
    return way_gathers(self->chunks.way) ? BRINGS_ELEMENTS : BRINGS_NOTHING;
}

static struct sharing sharing_of_all(const struct along *self)
{
    const struct plan *plan = self->plan;
    const uint64_t results = self->axes->results;
    return sharing_along(plan->fold, plan->layout->input, bringing_of(self), plan->n * results + 1,
                         results);
}

static uint64_t pieces_of(const struct along *self)
{
    return self->groups * self->runs;
}

static bool fold_pieces(struct job *job, struct along *self, threads_piece *piece)
{
    enum { LEAST_PIECES = 64 };
    const uint64_t each = self->results_a_piece * (self->plan->n + 1) / self->runs;
    return sharing_run(sharing_of_all(self), job, pieces_of(self), LEAST_PIECES + STRETCH / each,
                       &self->start, piece, self);
}

static bool fold_all(struct job *job, struct along *self)
{
    if (self->runs == 1)
        return fold_pieces(job, self, fold_results);
    if (!fold_pieces(job, self, fold_run))
        return false;
    threads_run(job->threads, self->groups, true, finish_group, self);
    return true;
}

static bool share_results(struct job *job, struct along *self)
{
    describe_along(self);
    const size_t benches = threads_for(job->threads, pieces_of(self)) * self->bench_bytes,
                 branches = self->axes->results * self->runs * self->chunks.width;
    self->benches =
        aligned_alloc(chunk_aligned(1), benches + (self->runs > 1 ? chunk_aligned(branches) : 0));
    if (!self->benches) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self->branches = self->benches + benches;
    const bool folded = fold_all(job, self);
    job->run->findings |= self->findings;
    free(self->benches);
    return folded;
}

/* ---- a single one, and huge ones ---- */

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
        results_move(&walk, &layout);
        uint64_t count;
        if (!folding_run(&part, state, &count))
            return false;
        const struct finishing one_result = {
            .states = state, .n = 1, .count = count, .place = walk.place};
        job->run->findings |= finishing_run(self->plan, &one_result);
    }
    return true;
}

/* ---- the whole ---- */

static bool shares_elements(const struct plan *plan)
{
    return plan->axes->results == 1 || plan->n >= STRETCH;
}

bool along_run(struct job *job)
{
    if (columns_suit(job))
        return columns_run(job);
    struct along self = {.job = job, .plan = job->plan, .axes = job->plan->axes};
    return shares_elements(job->plan) ? share_elements(job, &self) : share_results(job, &self);
}

static void explain_sharing(const struct job *job, struct loops *loops)
{
    struct along self = {.job = job, .plan = job->plan, .axes = job->plan->axes};
    describe_along(&self);
    const uint64_t pieces = sharing_of_all(&self).pieces > 1 ? pieces_of(&self) : 1;
    *loops = (struct loops){.way = chunk_way_name(self.chunks.way),
                            .chunk = CHUNK,
                            .threads = threads_for(job->threads, pieces),
                            .instructions = instructions_name(job->instructions)};
}

void along_explain(const struct job *job)
{
    struct explanation *explanation = job->run->explanation;
    struct loops *loops = &explanation->loops;
    if (columns_suit(job)) {
        columns_explain(job, loops);
        loops->results = RESULTS_SIDE_BY_SIDE;
        return;
    }
    if (shares_elements(job->plan)) {
        explanation->at_once = 1;
        folding_explain(job, loops);
    } else
        explain_sharing(job, loops);
    loops->results = RESULTS_IN_TURN;
}
