/* Exact sums along axes, each rounded once. Threads share the results or, if these are few and
 * long, the elements of each, as for a whole array. If a result's elements are strided and its
 * neighbors' are in between, several results are gathered together, so that a cache line serves all
 * of them. The order of additions is irrelevant to exact sums. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "run/explanation.h"
#include "threads/gather.h"

#include <assert.h>
#include <string.h>

enum {
    BUFFER = 64 << 10,         /* bytes gathered at a time: LOOP_MOST of any type */
    GROUP = UNROUNDED_COLUMNS, /* most results gathered together */
    LANES = 4 * GROUP,         /* most results added together */
    ROWS = 512,                /* of columns that are added plainly */
    ROWS_MOST = 4096,          /* the same for all rows; more would round */
    ADDED_AT_ONCE = 1 << 12,   /* elements of rows that become columns, per load */
    SHORT = 128,               /* longest rows that become columns */
    FEW = 16,                  /* results up to which threads share the elements */
    LONG = 1 << 18,            /* least elements of each of those */
    STRETCH = 1 << 24,         /* elements between polls of the watch */
    ELEMENTS_A_TILE = 1 << 16
};

struct along {
    const struct plan *plan;
    const struct axes *axes;
    struct tile_writer tile_writer;
    bool neighbours;  /* results are gathered together, */
    bool across;      /* or short rows are transposed to columns, added plainly */
    bool rows;        /* elements are contiguous, added plainly */
    bool adjacent;    /* results are adjacent, added plainly */
    uint64_t columns; /* columns at a time, or coalesced rows; 0: none */
    struct tiles tiles;
    uint64_t results_a_tile, count; /* per tile; number of tiles */
};

/* A thread's workspace, in cache lines of its own. */
struct workspace {
    _Alignas(64) char elements[BUFFER];
    struct exact_adder lanes[LANES];   /* adjacent results */
    struct unrounded_sums sums;        /* of columns */
    struct unrounded_floats unrounded; /* adds these */
    struct exact_maker maker;          /* whose run records lack of memory */
    struct layout layout;
    struct walk_of_results walk; /* at the next result */
};

static char *result_at(const struct plan *plan, int64_t place)
{
    return (char *)plan->results.at[0] + place * (int64_t)element_size(plan->results.type);
}

/* Stores the next result: of sums, of contiguous elements, or, if both are NULL, in place. */
static void finish(const struct along *self, struct workspace *own, struct exact_sums *sums,
                   const char *elements)
{
    char *const to = result_at(self->plan, own->walk.place);
    results_move(&own->walk, &own->layout);
    if (sums)
        exact_make_of_sums(&own->maker, sums, to);
    else if (elements)
        exact_make_of_elements(&own->maker, elements, self->plan->n, to);
    else
        exact_make(&own->maker, &own->layout, 0, self->plan->n, to);
    results_next(&own->walk);
}

/* The columns to add for `count` of them: rounded up with columns of other results or of the next
 * row, which are ignored. Rounded down if the last row would exceed the array's end. */
static uint64_t padded(const struct along *self, const char *elements, int64_t stride,
                       uint64_t rows, uint64_t count)
{
    const uint64_t whole = ceil_div(count, UNROUNDED_COLUMNS) * UNROUNDED_COLUMNS,
                   size = element_size(self->axes->reduced.input);
    const bool fits = stride >= 0 && (uint64_t)(self->tile_writer.end - elements) >=
                                         (rows - 1) * (uint64_t)stride + whole * size;
    return fits ? whole : count / UNROUNDED_COLUMNS * UNROUNDED_COLUMNS;
}

/* Adds rows of adjacent results' elements. False if an operation would round. */
static bool add_rows(const struct along *self, struct workspace *own, const char *elements,
                     int64_t stride, uint64_t rows, unsigned count)
{
    if (padded(self, elements, stride, rows, count) < count || !unrounded_is_due(&own->unrounded) ||
        !unrounded_add_columns(&own->unrounded, elements, rows, stride,
                               ceil_div(count, UNROUNDED_COLUMNS) * UNROUNDED_COLUMNS, &own->sums))
        return false;
    for (unsigned k = 0; k < count; k++)
        exact_adder_add_pair(&own->lanes[k], own->sums.heads[k], own->sums.tails[k], rows);
    return true;
}

/* Gathers and adds n elements each of adjacent results, `rows` being those of the workspace's
 * first. Stores the results if these are all of their elements. */
static void add_group(const struct along *self, struct workspace *own, const char *rows,
                      unsigned first, unsigned count, uint64_t n)
{
    const struct axes *axes = self->axes;
    const int64_t stride = axes->strides[axes->outer - 1];
    const struct tile tile = {.at = rows + (int64_t)first * stride,
                              .rows = count,
                              .columns = n,
                              .row_stride = stride,
                              .column_stride = axes->reduced.strides[0]};
    const char *elements = own->elements;
    tile_writer_write(&self->tile_writer, &tile, own->elements);
    for (unsigned k = 0; k < count; k++, elements += n * element_size(axes->reduced.input))
        if (n == self->plan->n)
            finish(self, own, NULL, elements);
        else
            exact_adder_add(&own->lanes[first + k], self->plan, elements, n);
}

/* Computes the next results, which are adjacent. */
static void add_neighbours(const struct along *self, struct workspace *own, unsigned count)
{
    const struct plan *plan = self->plan;
    const struct axes *axes = self->axes;
    const size_t size = element_size(axes->reduced.input);
    const bool adds = self->adjacent && plan->n > ROWS_MOST;
    const uint64_t room = BUFFER / (min_u64(count, GROUP) * size),
                   most = adds ? min_u64(room, ROWS) : room;
    const int64_t stride = axes->reduced.strides[0];
    const char *rows = (const char *)axes->reduced.data + own->walk.offset;
    for (unsigned k = 0; plan->n > most && k < count; k++)
        exact_adder_clear(&own->lanes[k]);
    for (uint64_t at = 0, n; at < plan->n; at += n, rows += (int64_t)n * stride) {
        n = min_u64(plan->n - at, most);
        if (!adds || !add_rows(self, own, rows, stride, n, count))
            for (unsigned first = 0; first < count; first += GROUP)
                add_group(self, own, rows, first, (unsigned)min_u64(count - first, GROUP), n);
    }
    for (unsigned k = 0; plan->n > most && k < count; k++)
        finish(self, own, &own->lanes[k].sums, NULL);
}

/* Stores the next results, from the workspace's sums of columns. */
static void finish_sums(const struct along *self, struct workspace *own, uint64_t count)
{
    struct walk_of_results *const walk = &own->walk;
    const struct results *results = &self->plan->results;
    const size_t size = element_size(results->type);
    const int64_t step = (int64_t)size * self->axes->places[self->axes->outer - 1];
    char *to = (char *)results->at[0] + walk->place * (int64_t)size;
    if (results->type != self->plan->finish.result ||
        !exact_round_sums(self->plan, &own->sums, self->axes->reduced.input == ELEMENT_FLOAT64,
                          count, own->elements)) {
        for (uint64_t k = 0; k < count; k++, results_next(walk))
            exact_make_of_pair(&own->maker, own->sums.heads[k], own->sums.tails[k], self->plan->n,
                               result_at(self->plan, walk->place));
        return;
    }
    if (step == (int64_t)size)
        memcpy(to, own->elements, count * size);
    for (uint64_t k = 0; k < count && step != (int64_t)size; k++, to += step)
        memcpy(to, own->elements + k * size, size);
    results_skip(walk, count);
}

/* Adds as many of the next results plainly as possible, and returns their number; may be 0. */
static uint64_t add_columns(const struct along *self, struct workspace *own, uint64_t count)
{
    const struct axes *axes = self->axes;
    const struct layout *reduced = &axes->reduced;
    const char *elements = (const char *)reduced->data + own->walk.offset;
    int64_t stride = reduced->strides[0];
    if (self->columns == 0 || !unrounded_is_due(&own->unrounded))
        return 0;
    count = min_u64(count, self->columns);
    const uint64_t columns = self->across ? count / UNROUNDED_COLUMNS * UNROUNDED_COLUMNS
                                          : padded(self, elements, stride, self->plan->n, count);
    count = min_u64(count, columns);
    if (count == 0)
        return 0;
    if (self->across) {
        const struct tile tile = {.at = elements,
                                  .rows = self->plan->n,
                                  .columns = count,
                                  .row_stride = stride,
                                  .column_stride = axes->strides[axes->outer - 1]};
        tile_writer_write(&self->tile_writer, &tile, own->elements);
        elements = own->elements;
        stride = (int64_t)(count * element_size(reduced->input));
    }
    if (!unrounded_add_columns(&own->unrounded, elements, self->plan->n, stride, columns,
                               &own->sums))
        return 0;
    finish_sums(self, own, count);
    return count;
}

/* The same for results with contiguous elements. */
static uint64_t sum_rows(const struct along *self, struct workspace *own, uint64_t count)
{
    const struct axes *axes = self->axes;
    const char *row = (const char *)axes->reduced.data + own->walk.offset;
    const uint64_t most = min_u64(count, UNROUNDED_COLUMNS_MOST);
    uint64_t k = 0;
    for (; k < most && unrounded_add_row(&own->unrounded, row, self->plan->n, &own->sums.heads[k],
                                         &own->sums.tails[k]);
         k++)
        row += axes->strides[axes->outer - 1];
    if (k > 0)
        finish_sums(self, own, k);
    return k;
}

static unsigned add_tile(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace *const own = memory;
    const struct axes *axes = self->axes;
    const uint64_t first = tile * self->results_a_tile,
                   end = min_u64(first + self->results_a_tile, axes->results);
    exact_maker_start(&own->maker, self->tiles.job);
    for (unsigned k = 0; k < LANES; k++)
        own->lanes[k].ways = own->maker.adder.ways;
    own->unrounded = own->maker.adder.ways.unrounded;
    memset(&own->sums, 0, sizeof own->sums);
    own->layout = self->axes->reduced;
    own->maker.plan.layout = &own->layout;
    results_start(&own->walk, axes, first);
    for (uint64_t at = first; at < end;) {
        const uint64_t row = axes->outer ? axes->shape[axes->outer - 1] : 1,
                       left = min_u64(end - at, row - at % row),
                       added =
                           self->rows ? sum_rows(self, own, left) : add_columns(self, own, left);
        const unsigned count = added ? 0 : self->neighbours ? (unsigned)min_u64(left, LANES) : 1;
        at += added;
        if (count > 1)
            add_neighbours(self, own, count);
        else if (count == 1)
            finish(self, own, NULL, NULL);
        at += count;
    }
    return own->maker.run.findings | (own->maker.run.failure.kind ? TILE_LACKS_MEMORY : 0);
}

/* ---- running ---- */

/* Whether a result's elements are farther apart than adjacent results. */
static bool lie_side_by_side(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    const struct layout *reduced = &axes->reduced;
    return !reduced->mask && !reduced->swapped && axes->outer > 0 && reduced->dimensions == 1 &&
           plan->n > 1 &&
           stride_magnitude(axes->strides[axes->outer - 1]) < stride_magnitude(reduced->strides[0]);
}

/* Whether threads share the elements of each result. Adjacent results are gathered by cache lines,
 * for all of which a thread takes as long as several threads do for one by one. */
static bool are_few_and_long(const struct job *job)
{
    const struct plan *plan = job->plan;
    const uint64_t threads = threads_for(&job->threads, UINT64_MAX);
    return plan->n >= STRETCH || (plan->n >= LONG && plan->axes->results <= FEW &&
                                  !(lie_side_by_side(plan) && plan->axes->results >= 2 * threads));
}

/* Per tile: as many as are added together, if there are enough for every thread. */
static uint64_t results_of_tile(const struct along *self)
{
    const uint64_t n = self->plan->n, few = ELEMENTS_A_TILE / (min_u64(n, ELEMENTS_A_TILE - 1) + 1),
                   lanes = self->columns ? UNROUNDED_COLUMNS_MOST : LANES,
                   threads = threads_for(&self->tiles.job->threads, UINT64_MAX),
                   shared = ceil_div(self->axes->results, threads * GROUP) * GROUP;
    return self->neighbours && few < lanes ? min_u64(lanes, shared) : few;
}

static_assert(SHORT * UNROUNDED_COLUMNS <= LOOP_MOST && (int)ADDED_AT_ONCE <= (int)LOOP_MOST,
              "no room for columns");
static_assert((int)LANES <= (int)UNROUNDED_COLUMNS_MOST, "no room for lanes");

static void describe(struct along *self, struct job *job)
{
    const struct plan *plan = job->plan;
    const struct axes *axes = plan->axes;
    const size_t size = element_size(axes->reduced.input);
    const uint64_t n = plan->n;
    /* whether adjacent results can be added plainly */
    const bool adds = exact_is_plain(plan) && plan->fold != FOLD_nansum && !axes->reduced.mask &&
                      !axes->reduced.swapped && axes->outer > 0 && axes->reduced.dimensions == 1;
    *self = (struct along){.plan = plan, .axes = axes, .tiles.job = job};
    self->tile_writer = (struct tile_writer){
        .transpose = cpu_kernels(job->instructions)->transpose(size), .end = axes_end(axes)};
    if (lie_side_by_side(plan)) {
        self->neighbours = true;
        self->adjacent = adds && axes->strides[axes->outer - 1] == (int64_t)size;
        self->columns = self->adjacent && n <= ROWS_MOST ? UNROUNDED_COLUMNS_MOST : 0;
    } else if (adds && n > 1 && n <= SHORT) {
        const uint64_t columns = min_u64(ADDED_AT_ONCE / n, UNROUNDED_COLUMNS_MOST);
        self->across = true;
        self->columns = columns < UNROUNDED_COLUMNS ? UNROUNDED_COLUMNS : columns;
    } else {
        self->rows = adds && plan->elements.flat && n <= LOOP_MOST;
    }
    self->results_a_tile = results_of_tile(self);
    self->count = ceil_div(axes->results, self->results_a_tile);
    self->tiles = (struct tiles){.job = job,
                                 .sharing.pieces = self->count,
                                 .plain = true,
                                 .stretch = STRETCH / (self->results_a_tile * n + 1) + 1,
                                 .workspace = sizeof(struct workspace)};
}

static bool share_results(struct job *job)
{
    struct along self;
    describe(&self, job);
    if (job->run->explanation) {
        struct loops *loops = &job->run->explanation->loops;
        exact_explain(job);
        loops->results = self.neighbours ? RESULTS_SIDE_BY_SIDE : RESULTS_IN_TURN;
        loops->threads = threads_for(&job->threads, self.count);
        return true;
    }
    return tiles_do(&self.tiles, self.count, 1, "exact sums",
                    &(struct tile_works){.whole = add_tile}, &self);
}

bool exact_along(struct job *job)
{
    return are_few_and_long(job) ? folding_one_by_one(job) : share_results(job);
}
