/* Results that are folded one by one, a chunk of elements at a time, in parts of nearly one length,
 * 2^k of them, whose states merge as a tree, so that a result's bits depend on nothing but its own
 * elements and how they lie, and of floats no state takes part in many additions. Threads share the
 * results; where those are few, the branches of each one's tree, too; and of a single one, or of
 * huge ones, the elements, as of an array by itself. */
#include "host/along.h"

#include "common/arithmetic.h"
#include "host/along_pieces.h"
#include "host/columns.h"
#include "host/finishing.h"
#include "host/folding.h"
#include "host/sharing.h"
#include "run/explanation.h"

#include <stdlib.h>
#include <string.h>

enum {
    FEW_APART = 4,     /* elements between two of a result */
    TURNED = 128,      /* elements of a result that are turned with its neighbours', at most */
    STRETCH = 1 << 26, /* elements between two thoughts of the watch */
    ELEMENTS_A_PIECE = 1 << 16
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

/* Pieces have so many elements that to take one costs little beside them, as any part has; one
 * thread by itself takes all as one piece. */
static void share_out(struct along *self)
{
    const uint64_t results = self->axes->results, pieces = sharing_of_all(self).pieces,
                   fair = divide_up(results, pieces),
                   most = ELEMENTS_A_PIECE / (least(self->plan->n, ELEMENTS_A_PIECE) + 1),
                   some = self->parts.count > 1 ? least(most, fair) : most;
    self->results_a_piece = pieces == 1 ? results : some;
    if (self->results_a_piece < self->abreast)
        self->results_a_piece = self->abreast;
    self->groups = divide_up(results, self->results_a_piece);
    self->runs = 1;
    if (self->results_a_piece == self->abreast)
        while (self->groups * self->runs < pieces && self->runs < self->parts.count)
            self->runs *= 2;
}

/* Room for what is gathered, for states that wait for their like, and for those that are done. */
static void describe_along(struct along *self)
{
    const uint64_t n = self->plan->n;
    chunks_describe(&self->chunks, self->job);
    self->parts = parts_of(n);
    self->abreast = self->axes->kind == AXES_ROWS ? 1 : ALONG_LANES;
    describe_moves(self);
    state_identity(self->plan->fold, self->plan->accumulator, self->identity);
    share_out(self);
    self->states = self->chunks.buffer;
    self->done = self->states + chunk_aligned(ALONG_LEVELS * self->abreast * self->chunks.width);
    self->chunks_at = self->done + chunk_aligned(ALONG_DONE * self->chunks.width);
    self->bench_bytes = self->chunks_at + chunk_aligned(sizeof self->chunks);
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
        return fold_pieces(job, self, along_fold_results);
    if (!fold_pieces(job, self, along_fold_run))
        return false;
    threads_run(&job->threads, self->groups, true, along_finish_group, self);
    return true;
}

static bool share_results(struct job *job, struct along *self)
{
    describe_along(self);
    const unsigned threads = threads_for(&job->threads, pieces_of(self));
    const size_t benches = threads * self->bench_bytes,
                 branches = self->axes->results * self->runs * self->chunks.width;
    self->benches =
        aligned_alloc(chunk_aligned(1), benches + (self->runs > 1 ? chunk_aligned(branches) : 0));
    if (!self->benches) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self->branches = self->benches + benches;
    for (unsigned k = 0; k < threads; k++)
        memcpy(self->benches + k * self->bench_bytes + self->chunks_at, &self->chunks,
               sizeof self->chunks);
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
    struct along *self = calloc(1, sizeof *self); /* threads' stacks may be small */
    if (!self) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self->job = job;
    self->plan = job->plan;
    self->axes = job->plan->axes;
    const bool ran =
        shares_elements(job->plan) ? share_elements(job, self) : share_results(job, self);
    free(self);
    return ran;
}

static void explain_sharing(const struct job *job, struct loops *loops)
{
    struct along self = {.job = job, .plan = job->plan, .axes = job->plan->axes};
    describe_along(&self);
    const uint64_t pieces = sharing_of_all(&self).pieces > 1 ? pieces_of(&self) : 1;
    *loops = (struct loops){.way = chunk_way_name(self.chunks.way),
                            .chunk = CHUNK,
                            .threads = threads_for(&job->threads, pieces),
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
