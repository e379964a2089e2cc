/* Results along axes, each rounded once. Threads share the results; where those are few and long,
 * the elements of each, as of an array by itself. Where a result's elements lie apart and its
 * neighbours' between them, several are gathered at a time, so that a cache line serves
 * them all. No order makes a difference to exact sums, and so none of this does. */
#include "host/exact_along.h"

#include "common/arithmetic.h"
#include "common/slab.h"
#include "host/exact.h"
#include "host/exact_adder.h"
#include "host/exact_answer.h"
#include "host/exact_plain.h"
#include "host/sharing.h"
#include "plan/axes.h"
#include "run/explanation.h"
#include "run/gather.h"
#include "run/result.h"
#include "run/watch.h"

#include <assert.h>
#include <fenv.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = LOOP_MOST,         /* elements at a time */
    BUFFER = 64 << 10,         /* bytes that are gathered at a time: CHUNK of any type */
    LANES = UNROUNDED_COLUMNS, /* results that are, at most */
    ROWS = 512,                /* of columns that are just added, */
    ROWS_MOST = 2048,          /* or all of them: in more something would be rounded */
    ADDED_AT_ONCE = 1 << 12,   /* elements of those, but for the fewest columns */
    SHORT = 128,               /* elements of rows that become columns */
    FEW = 16,                  /* results that threads do not share */
    LONG = 1 << 18,            /* elements of each of those, at least */
    STRETCH = 1 << 24,         /* elements between two thoughts of the watch */
    ELEMENTS_A_PIECE = 1 << 16
};

struct along {
    const struct job *job;
    const struct plan *plan;
    const struct axes *axes;
    struct exact_ways ways; /* to begin with */
    turn_rows *turn;        /* what brings neighbours together, or NULL */
    turn_rows *across;      /* what makes columns of short rows that are just added, or NULL */
    bool adjacent;          /* whether neighbours lie one after the other, and are just added: */
    uint64_t columns;       /* so many at once, or rows of as many as there are lanes */
    const char *end;        /* of all elements, for its sake */
    uint64_t start;         /* the first piece of this stretch */
    uint64_t results_a_piece;
    struct bench *benches;
    atomic_uint findings;
    atomic_bool failed;
};

/* One of the results that a thread makes side by side. */
struct lane {
    struct exact_adder adder;
    enum { FRESH, ADDED, ROUNDED } state;
    struct scalar_wide value; /* where it is rounded already, */
    uint64_t count;           /* and of so many elements */
};

/* What one thread works with, in cache lines of its own. */
struct bench {
    _Alignas(64) char elements[BUFFER];
    struct lane lanes[LANES];
    double sums[UNROUNDED_COLUMNS_MOST][2]; /* of neighbours */
    struct unrounded_floats unrounded;      /* what adds these */
    struct run run;                         /* of one result */
    struct layout layout;
    struct plan one;
};

/* ---- one result after the other ---- */

static void store(const struct plan *plan, const struct run *run, int64_t place)
{
    const struct results *results = &plan->results;
    run_store(run, plan, 0, (char *)results->at[0] + place * (int64_t)element_size(results->type));
}

/* Stores a number of a result's own type that nothing is to be said of, if it is one of those that
 * most results are. */
static bool store_float(const struct plan *plan, double value, int64_t place)
{
    const struct results *results = &plan->results;
    const float single = (float)value;
    if (results->type != plan->finish.result || !isfinite(value))
        return false;
    if (results->type == ELEMENT_FLOAT64)
        memcpy((char *)results->at[0] + place * (int64_t)sizeof value, &value, sizeof value);
    else if (results->type == ELEMENT_FLOAT32)
        memcpy((char *)results->at[0] + place * (int64_t)sizeof single, &single, sizeof single);
    else
        return false;
    return true;
}

static bool share_elements(struct job *job)
{
    const struct axes *axes = job->plan->axes;
    struct layout layout = axes->reduced;
    struct plan one = *job->plan;
    struct job part = *job;
    struct walk_of_results walk;
    one.layout = &layout;
    part.plan = &one;
    results_start(&walk, axes, 0);
    for (uint64_t k = 0; k < axes->results; k++, results_next(&walk)) {
        struct exact_sums sums;
        results_move(&walk, &layout);
        if ((k && watch_interrupted_lately(job->run, &part.asked)) || !exact_run(&part, &sums) ||
            !exact_finish(&part, &sums))
            return false;
        store(job->plan, job->run, walk.place);
    }
    return true;
}

/* ---- results of one thread ---- */

/* Elements from `at` on, which lie one after the other. */
static void add(struct lane *lane, const struct plan *plan, const char *elements, uint64_t at,
                uint64_t n)
{
    if (at == 0 && n == plan->n &&
        exact_adder_round(&lane->adder, plan, elements, &lane->value, &lane->count)) {
        lane->state = ROUNDED;
        return;
    }
    if (lane->state == FRESH)
        exact_adder_clear(&lane->adder);
    lane->state = ADDED;
    exact_adder_add(&lane->adder, plan, elements, n);
}

/* A result's answer. */
static bool finish_sums(const struct along *self, struct bench *bench, struct lane *lane)
{
    struct job part = {.plan = &bench->one,
                       .run = &bench->run,
                       .threads = self->job->threads,
                       .instructions = self->job->instructions};
    if (lane->state == FRESH)
        exact_adder_clear(&lane->adder);
    return exact_finish(&part, &lane->adder.sums);
}

/* Of the result that the walk is at. */
static void finish(struct along *self, struct bench *bench, struct lane *lane,
                   const struct walk_of_results *walk)
{
    results_move(walk, &bench->layout);
    if (lane->state == ROUNDED)
        run_answer_exact(&bench->run, &bench->one, NULL, lane->value, lane->count);
    else if (!finish_sums(self, bench, lane))
        atomic_store(&self->failed, true);
    store(&bench->one, &bench->run, walk->place);
    lane->state = FRESH;
}

static void add_result(struct along *self, struct bench *bench, const struct walk_of_results *walk)
{
    const struct plan *plan = self->plan;
    results_move(walk, &bench->layout);
    if (plan->flat)
        add(&bench->lanes[0], plan, bench->layout.data, 0, plan->n);
    for (uint64_t at = 0; at < plan->n && !plan->flat; at += CHUNK) {
        const uint64_t n = gather_unconverted(self->job->instructions, &bench->layout, at,
                                              least(plan->n - at, CHUNK), bench->elements);
        add(&bench->lanes[0], plan, bench->elements, at, n);
    }
    finish(self, bench, &bench->lanes[0], walk);
}

/* The sum of n elements, which nothing has rounded. */
static void add_pair(struct lane *lane, const double pair[2], uint64_t n)
{
    if (lane->state == FRESH)
        exact_adder_clear(&lane->adder);
    lane->state = ADDED;
    exact_adder_add_pair(&lane->adder, pair, n);
}

/* Rows of elements of as many neighbours as there are lanes, where nothing is rounded. */
static bool add_rows(struct bench *bench, const char *elements, int64_t stride, uint64_t rows)
{
    if (!unrounded_is_due(&bench->unrounded) ||
        !unrounded_add_columns(&bench->unrounded, elements, rows, stride, LANES, bench->sums))
        return false;
    for (unsigned k = 0; k < LANES; k++)
        add_pair(&bench->lanes[k], bench->sums[k], rows);
    return true;
}

/* So many neighbours, from where the walk is on, which goes past them. */
static void add_neighbours(struct along *self, struct bench *bench, struct walk_of_results *walk,
                           unsigned count)
{
    const struct plan *plan = self->plan;
    const struct axes *axes = self->axes;
    const size_t size = element_size(axes->reduced.input);
    const bool adds = self->adjacent && count == LANES && plan->n > ROWS_MOST;
    const uint64_t room = BUFFER / (count * size), most = adds ? least(room, ROWS) : room;
    const char *const data = (const char *)axes->reduced.data + walk->offset;
    struct turning turning = {.n = count,
                              .row_stride = axes->reduced.strides[0],
                              .stride = axes->strides[axes->kept - 1],
                              .end = self->end};
    for (uint64_t at = 0; at < plan->n; at += most) {
        turning.rows = least(plan->n - at, most);
        turning.at = data + (int64_t)at * turning.row_stride;
        if (adds && add_rows(bench, turning.at, turning.row_stride, turning.rows))
            continue;
        self->turn(&turning, turning.rows, bench->elements);
        for (unsigned k = 0; k < count; k++)
            add(&bench->lanes[k], plan, bench->elements + k * turning.rows * size, at,
                turning.rows);
    }
    for (unsigned k = 0; k < count; k++, results_next(walk))
        finish(self, bench, &bench->lanes[k], walk);
}

/* Of a result whose elements' sum that is. */
static void finish_pair(struct along *self, struct bench *bench, const double pair[2],
                        const struct walk_of_results *walk)
{
    const struct plan *one = &bench->one;
    struct scalar_wide value;
    if (!exact_round_pair(one, pair, self->plan->n, &value)) {
        add_pair(&bench->lanes[0], pair, self->plan->n);
        finish(self, bench, &bench->lanes[0], walk);
    } else if (!store_float(one, value.real, walk->place)) {
        run_answer_exact(&bench->run, one, NULL, value, self->plan->n);
        store(one, &bench->run, walk->place);
    }
}

/* As many neighbours as can be just added, from where the walk is on, which goes past them, or
 * none.
 */
static uint64_t add_columns(struct along *self, struct bench *bench, struct walk_of_results *walk,
                            uint64_t count)
{
    const struct axes *axes = self->axes;
    const struct layout *reduced = &axes->reduced;
    const char *elements = (const char *)reduced->data + walk->offset;
    int64_t stride = reduced->strides[0];
    count = least(count, self->columns) / UNROUNDED_COLUMNS * UNROUNDED_COLUMNS;
    if (count == 0 || !unrounded_is_due(&bench->unrounded))
        return 0;
    if (self->across) {
        const struct turning turning = {.at = elements,
                                        .rows = count,
                                        .n = self->plan->n,
                                        .row_stride = axes->strides[axes->kept - 1],
                                        .stride = stride,
                                        .end = self->end};
        self->across(&turning, count, bench->elements);
        elements = bench->elements;
        stride = (int64_t)(count * element_size(reduced->input));
    }
    if (!unrounded_add_columns(&bench->unrounded, elements, self->plan->n, stride, count,
                               bench->sums))
        return 0;
    for (uint64_t k = 0; k < count; k++, results_next(walk))
        finish_pair(self, bench, bench->sums[k], walk);
    return count;
}

static void start_bench(const struct along *self, struct bench *bench)
{
    for (unsigned k = 0; k < LANES; k++) {
        bench->lanes[k].adder.ways = self->ways;
        bench->lanes[k].state = FRESH;
    }
    bench->unrounded = self->ways.unrounded;
    run_begin(&bench->run, 0);
    bench->layout = self->axes->reduced;
    bench->one = *self->plan;
    bench->one.layout = &bench->layout;
}

/* In plain arithmetic, whatever the caller has set. */
static void add_piece(void *context, uint64_t index, unsigned thread)
{
    struct along *self = context;
    struct bench *const bench = &self->benches[thread];
    const struct axes *axes = self->axes;
    const uint64_t first = (self->start + index) * self->results_a_piece,
                   end = least(first + self->results_a_piece, axes->results);
    struct walk_of_results walk;
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    start_bench(self, bench);
    results_start(&walk, axes, first);
    for (uint64_t at = first; at < end;) {
        const uint64_t row = self->turn || self->across ? axes->shape[axes->kept - 1] : 1,
                       left = least(end - at, row - at % row);
        const uint64_t added = add_columns(self, bench, &walk, left);
        const unsigned count = added ? 0 : self->turn ? (unsigned)least(left, LANES) : 1;
        at += added;
        if (count > 1) {
            add_neighbours(self, bench, &walk, count);
        } else if (count == 1) {
            add_result(self, bench, &walk);
            results_next(&walk);
        }
        at += count;
    }
    atomic_fetch_or(&self->findings, bench->run.findings);
    fesetenv(&callers);
}

/* ---- all of them ---- */

static bool are_few_and_long(const struct plan *plan)
{
    return plan->n >= STRETCH || (plan->n >= LONG && plan->axes->results <= FEW);
}

/* Whether a result's elements lie further apart than its neighbour's first one. */
static bool lie_side_by_side(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    const struct layout *reduced = &axes->reduced;
    return !reduced->mask && !reduced->swapped && axes->kept > 0 && reduced->dimensions == 1 &&
           plan->n > 1 &&
           layout_distance(axes->strides[axes->kept - 1]) < layout_distance(reduced->strides[0]);
}

/* Whether neighbours can be just added, side by side. */
static bool adds_neighbours(const struct plan *plan)
{
    const struct layout *reduced = &plan->axes->reduced;
    return exact_is_plain(plan) && plan->fold != FOLD_nansum && !reduced->mask &&
           !reduced->swapped && plan->axes->kept > 0 && reduced->dimensions == 1;
}

/* How many columns of so many rows are added at once, if all rows are. */
static uint64_t columns_of(uint64_t rows)
{
    const uint64_t columns = ADDED_AT_ONCE / rows;
    return rows > ROWS_MOST              ? 0
           : columns < UNROUNDED_COLUMNS ? UNROUNDED_COLUMNS
                                         : least(columns, UNROUNDED_COLUMNS_MOST);
}

static_assert(SHORT * UNROUNDED_COLUMNS <= CHUNK && ADDED_AT_ONCE <= CHUNK, "no room for columns");

static void describe(struct along *self, const struct job *job)
{
#define TURNERS(name) TURNER(name),
    static turn_rows *(*const turners[])(size_t) = {INSTRUCTION_SETS(TURNERS)};
#undef TURNERS
    const uint64_t n = job->plan->n;
    struct exact_adder first;
    self->job = job;
    self->plan = job->plan;
    self->axes = job->plan->axes;
    turn_rows *const turn = turners[job->instructions](element_size(self->axes->reduced.input));
    const bool adds = adds_neighbours(job->plan);
    self->end = axes_end(self->axes);
    if (lie_side_by_side(job->plan)) {
        self->turn = turn;
        self->adjacent = adds && self->axes->strides[self->axes->kept - 1] ==
                                     (int64_t)element_size(self->axes->reduced.input);
        self->columns = self->adjacent ? columns_of(n) : 0;
    } else if (adds && n > 1 && n <= SHORT) {
        self->across = turn;
        self->columns = columns_of(n);
    }
    self->results_a_piece = ELEMENTS_A_PIECE / (least(n, ELEMENTS_A_PIECE - 1) + 1);
    if (self->turn && self->results_a_piece < LANES)
        self->results_a_piece = LANES;
    exact_adder_start(&first, job);
    self->ways = first.ways;
}

static uint64_t pieces_of(const struct along *self)
{
    return divide_up(self->axes->results, self->results_a_piece);
}

static bool add_stretches(struct job *job, struct along *self)
{
    const uint64_t pieces = pieces_of(self),
                   stretch = STRETCH / (self->results_a_piece * self->plan->n + 1) + 1;
    const struct sharing sharing = {.pieces = pieces};
    if (!sharing_run(sharing, job, pieces, stretch, &self->start, add_piece, self))
        return false;
    job->run->findings |= self->findings;
    return !self->failed;
}

static bool share_results(struct job *job)
{
    struct along self = {.start = 0};
    describe(&self, job);
    self.benches =
        aligned_alloc(_Alignof(struct bench),
                      threads_for(&job->threads, pieces_of(&self)) * sizeof *self.benches);
    const bool added = self.benches && add_stretches(job, &self);
    if (!self.benches || self.failed)
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for exact sums");
    free(self.benches);
    return added;
}

bool exact_along(struct job *job)
{
    return are_few_and_long(job->plan) ? share_elements(job) : share_results(job);
}

void exact_along_explain(const struct job *job)
{
    struct explanation *explanation = job->run->explanation;
    struct loops *loops = &explanation->loops;
    struct along self = {.start = 0};
    exact_explain(job, loops);
    loops->results = RESULTS_IN_TURN;
    if (are_few_and_long(job->plan)) {
        explanation->at_once = 1;
        return;
    }
    describe(&self, job);
    loops->threads = threads_for(&job->threads, pieces_of(&self));
    if (self.turn)
        loops->results = RESULTS_SIDE_BY_SIDE;
}
