/* Results that are folded one by one, a chunk of elements at a time, in parts of nearly one length,
 * 2^k of them, whose states merge as a tree, so that a result's bits depend on nothing but its own
 * elements and how they lie, and of floats no state takes part in many additions. Threads share the
 * results; where those are few, the branches of each one's tree, too; and of a single one, or of
 * huge ones, the elements, as of an array by itself. */
#include "cpu/along.h"

#include "common/arithmetic.h"
#include "cpu/finalize.h"
#include "run/explanation.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_APART = 4,     /* elements between two of a result */
    TRANSPOSED = 128,  /* elements of a result that are transposed with its neighbours', at most */
    STRETCH = 1 << 26, /* elements between two thoughts of the watch */
    ELEMENTS_A_TILE = 1 << 16
};

static struct parts parts_of(uint64_t n)
{
    struct parts parts = {n, n > 0, 0};
    while (n > CHUNK && (n >> parts.shift) + ALONG_GRAIN > CHUNK)
        parts.count = (uint64_t)1 << ++parts.shift;
    return parts;
}

/* ---- all of them ---- */

/* What brings the elements of a single part together, those of several results at a time: then a
 * row begins at no cost but for a loop's own. */
static void describe_moves(struct along *self)
{
    const struct cpu_kernels *kernels = cpu_kernels(self->tiles.job->instructions);
    const struct layout *reduced = &self->axes->reduced;
    /* A cache line holds no more than a few results' elements. */
    const bool moves = self->chunks.way == GATHERED && reduced->dimensions == 1 &&
                       reduced->strides[0] > 0 &&
                       reduced->strides[0] <= FEW_APART * (int64_t)self->chunks.size;
    const size_t part = reduced->swapped ? element_size(element_real_part(reduced->input)) : 1;
    const bool transposes = self->chunks.way == GATHERED && !moves && self->plan->n <= TRANSPOSED &&
                            reduced->dimensions == 1 && !reduced->swapped;
    self->at_once = self->parts.count == 1 && !self->plan->layout->mask &&
                    (moves || transposes || self->chunks.way == IN_PLACE);
    self->transpose = transposes ? kernels->transpose(self->chunks.size) : NULL;
    self->move = moves ? kernels->move(self->chunks.size, part, false) : NULL;
}

static enum bringing bringing_of(const struct along *self)
{
    if (self->move || self->transpose)
        return BRINGS_TILES;
    return way_gathers(self->chunks.way) ? BRINGS_ELEMENTS : BRINGS_NOTHING;
}

/* Tiles have so many elements that to take one costs little beside them, as any part has; one
 * thread by itself takes all as one tile. */
static void share_out(struct along *self)
{
    const uint64_t results = self->axes->results, pieces = self->tiles.pieces,
                   fair = divide_up(results, pieces),
                   most = ELEMENTS_A_TILE / (least(self->plan->n, ELEMENTS_A_TILE) + 1),
                   some = self->parts.count > 1 ? least(most, fair) : most;
    self->results_a_tile = pieces == 1 ? results : some;
    if (self->results_a_tile < self->lanes)
        self->results_a_tile = self->lanes;
    self->groups = divide_up(results, self->results_a_tile);
    self->runs = 1;
    if (self->results_a_tile == self->lanes)
        while (self->groups * self->runs < pieces && self->runs < self->parts.count)
            self->runs *= 2;
}

/* Room for what is gathered, for states that wait for their like, and for those that are done; and,
 * of results whose runs are shared, for the states of all runs, those of a result together. */
static void describe(struct along *self, const struct job *job)
{
    enum { LEAST_TILES = 64 };
    const struct plan *plan = self->plan = job->plan;
    const struct axes *axes = self->axes = plan->axes;
    self->tiles.job = (struct job *)job;
    chunks_describe(&self->chunks, job);
    self->parts = parts_of(plan->n);
    self->lanes = axes->kind == AXES_ROWS ? 1 : ALONG_LANES;
    describe_moves(self);
    state_identity(plan->fold, plan->accumulator, self->identity);
    const struct sharing sharing = sharing_along(plan->fold, plan->layout->input, bringing_of(self),
                                                 plan->n * axes->results + 1, axes->results);
    self->tiles.pieces = sharing.pieces;
    self->tiles.brief = sharing.brief;
    share_out(self);
    const size_t width = self->chunks.width;
    self->states = self->chunks.buffer;
    self->done = self->states + tiles_aligned(ALONG_LEVELS * self->lanes * width);
    self->chunks_at = self->done + tiles_aligned(ALONG_DONE * width);
    self->tiles.workspace = self->chunks_at + sizeof self->chunks;
    self->tiles.common = self->runs > 1 ? axes->results * self->runs * width : 0;
    self->tiles.stretch =
        LEAST_TILES + STRETCH / (self->results_a_tile * (plan->n + 1) / self->runs);
}

static bool fold_all(struct along *self)
{
    struct tiles *tiles = &self->tiles;
    if (self->runs == 1)
        return tiles_run(tiles, self->groups, along_fold_results, self);
    if (!tiles_run(tiles, self->groups * self->runs, along_fold_run, self))
        return false;
    tiles->brief = true;
    return tiles_run(tiles, self->groups, along_finish_group, self);
}

static bool share_results(struct job *job)
{
    struct along *self = calloc(1, sizeof *self); /* threads' stacks may be small */
    if (!self) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    describe(self, job);
    bool folded = tiles_open(&self->tiles, self->groups * self->runs, "partials");
    for (unsigned k = 0; folded && k < self->tiles.threads; k++)
        memcpy(tiles_workspace(&self->tiles, k) + self->chunks_at, &self->chunks,
               sizeof self->chunks);
    folded = folded && fold_all(self);
    job->run->findings |= self->findings;
    tiles_close(&self->tiles);
    free(self);
    return folded;
}

/* ---- a single one, and huge ones ---- */

/* One after the other, each like an array by itself. */
static bool share_elements(struct job *job)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct axes *axes = job->plan->axes;
    struct layout layout = axes->reduced;
    struct plan one = *job->plan;
    struct job part = *job;
    struct walk_of_results walk;
    one.layout = &layout;
    part.plan = &one;
    results_start(&walk, axes, 0);
    for (uint64_t k = 0; k < axes->results; k++, results_next(&walk)) {
        uint64_t count;
        results_move(&walk, &layout);
        if (!folding_run(&part, state, &count))
            return false;
        const struct finalize one_result = {
            .states = state, .n = 1, .count = count, .place = walk.place};
        job->run->findings |= finalize_run(job->plan, &one_result);
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
    return shares_elements(job->plan) ? share_elements(job) : share_results(job);
}

static void explain_sharing(const struct job *job, struct loops *loops)
{
    struct along self = {.runs = 1};
    describe(&self, job);
    const uint64_t tiles = self.tiles.pieces > 1 ? self.groups * self.runs : 1;
    *loops = (struct loops){.way = chunk_way_name(self.chunks.way),
                            .chunk = CHUNK,
                            .threads = threads_for(&job->threads, tiles),
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
