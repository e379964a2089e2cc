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
    BUFFER = 64 << 10,         /* bytes gathered at a time: CHUNK_MAX of any type */
    GROUP = UNROUNDED_COLUMNS, /* most results gathered together */
    LANES = 4 * GROUP,         /* most results added together */
    ROWS = 512,                /* of columns that are added plainly */
    ROWS_MAX = 4096,           /* the same for all rows; more would round */
    BATCH_ELEMENTS = 1 << 12,  /* elements of rows that become columns, per load */
    SHORT = 128,               /* longest rows that become columns */
    FEW = 16,                  /* results up to which threads share the elements */
    LONG = 1 << 18,            /* least elements of each of those */
    POLL_INTERVAL = 1 << 24,   /* elements between polls of the watch */
    TILE_ELEMENTS = 1 << 16
};

struct along {
    const struct plan *plan;
    const struct axes *axes;
    struct tile_writer tile_writer;
    bool groups;      /* results are gathered together, */
    bool transposes;  /* or short rows are transposed to columns, added plainly */
    bool rows;        /* elements are contiguous, added plainly */
    bool adjacent;    /* results are adjacent, added plainly */
    uint64_t columns; /* columns at a time, or coalesced rows; 0: none */
    struct tiles tiles;
    uint64_t tile_results, count; /* per tile; number of tiles */
};

/* A thread's workspace, in cache lines of its own. */
struct workspace {
    _Alignas(64) char elements[BUFFER];
    struct exact_adder lanes[LANES];   /* adjacent results */
    struct unrounded_sums sums;        /* of columns */
    struct unrounded_floats unrounded; /* adds these */
    struct exact_reducer reducer;      /* whose run records lack of memory */
    struct layout layout;
    struct result_iterator walk; /* at the next result */
};

static char *result_at(const struct plan *plan, int64_t place)
{
    return (char *)plan->results.at[0] + place * (int64_t)element_size(plan->results.type);
}

/* Stores the next result: of sums, of contiguous elements, or, if both are NULL, in place. */
static void finish(const struct along *self, struct workspace *ws, struct exact_sums *sums,
                   const char *elements)
{
    char *const to = result_at(self->plan, ws->walk.place);
    results_set_layout(&ws->walk, &ws->layout);
    if (sums)
        exact_store_sums(&ws->reducer, sums, to);
    else if (elements)
        exact_reduce_elements(&ws->reducer, elements, self->plan->n, to);
    else
        exact_reduce(&ws->reducer, &ws->layout, 0, self->plan->n, to);
    results_next(&ws->walk);
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
static bool add_rows(const struct along *self, struct workspace *ws, const char *elements,
                     int64_t stride, uint64_t rows, unsigned count)
{
    if (padded(self, elements, stride, rows, count) < count || !unrounded_is_due(&ws->unrounded) ||
        !unrounded_add_columns(&ws->unrounded, elements, rows, stride,
                               ceil_div(count, UNROUNDED_COLUMNS) * UNROUNDED_COLUMNS, &ws->sums))
        return false;
    for (unsigned k = 0; k < count; k++)
        exact_adder_add_pair(&ws->lanes[k], ws->sums.heads[k], ws->sums.tails[k], rows);
    return true;
}

/* Gathers and adds n elements each of adjacent results, `rows` being those of the workspace's
 * first. Stores the results if these are all of their elements. */
static void add_group(const struct along *self, struct workspace *ws, const char *rows,
                      unsigned first, unsigned count, uint64_t n)
{
    const struct axes *axes = self->axes;
    const int64_t stride = axes->strides[axes->outer - 1];
    const struct tile tile = {.at = rows + (int64_t)first * stride,
                              .rows = count,
                              .columns = n,
                              .row_stride = stride,
                              .column_stride = axes->reduced.strides[0]};
    const char *elements = ws->elements;
    tile_writer_write(&self->tile_writer, &tile, ws->elements);
    for (unsigned k = 0; k < count; k++, elements += n * element_size(axes->reduced.input))
        if (n == self->plan->n)
            finish(self, ws, NULL, elements);
        else
            exact_adder_add(&ws->lanes[first + k], self->plan, elements, n);
}

/* Computes the next results, which are adjacent. */
static void add_lanes(const struct along *self, struct workspace *ws, unsigned count)
{
    const struct plan *plan = self->plan;
    const struct axes *axes = self->axes;
    const size_t size = element_size(axes->reduced.input);
    const bool adds = self->adjacent && plan->n > ROWS_MAX;
    const uint64_t room = BUFFER / (min_u64(count, GROUP) * size),
                   most = adds ? min_u64(room, ROWS) : room;
    const int64_t stride = axes->reduced.strides[0];
    const char *rows = (const char *)axes->reduced.data + ws->walk.offset;
    for (unsigned k = 0; plan->n > most && k < count; k++)
        exact_adder_clear(&ws->lanes[k]);
    for (uint64_t at = 0, n; at < plan->n; at += n, rows += (int64_t)n * stride) {
        n = min_u64(plan->n - at, most);
        if (!adds || !add_rows(self, ws, rows, stride, n, count))
            for (unsigned first = 0; first < count; first += GROUP)
                add_group(self, ws, rows, first, (unsigned)min_u64(count - first, GROUP), n);
    }
    for (unsigned k = 0; plan->n > most && k < count; k++)
        finish(self, ws, &ws->lanes[k].sums, NULL);
}

/* Stores the next results, from the workspace's sums of columns. */
static void finish_sums(const struct along *self, struct workspace *ws, uint64_t count)
{
    struct result_iterator *const walk = &ws->walk;
    const struct results *results = &self->plan->results;
    const size_t size = element_size(results->type);
    const int64_t step = (int64_t)size * self->axes->places[self->axes->outer - 1];
    char *to = (char *)results->at[0] + walk->place * (int64_t)size;
    if (results->type != self->plan->finish.result ||
        !exact_round_sums(self->plan, &ws->sums, self->axes->reduced.input == ELEMENT_FLOAT64,
                          count, ws->elements)) {
        for (uint64_t k = 0; k < count; k++, results_next(walk))
            exact_store_pair(&ws->reducer, ws->sums.heads[k], ws->sums.tails[k], self->plan->n,
                             result_at(self->plan, walk->place));
        return;
    }
    if (step == (int64_t)size)
        memcpy(to, ws->elements, count * size);
    for (uint64_t k = 0; k < count && step != (int64_t)size; k++, to += step)
        memcpy(to, ws->elements + k * size, size);
    results_advance(walk, count);
}

/* Adds as many of the next results plainly as possible, and returns their number; may be 0. */
static uint64_t add_columns(const struct along *self, struct workspace *ws, uint64_t count)
{
    const struct axes *axes = self->axes;
    const struct layout *reduced = &axes->reduced;
    const char *elements = (const char *)reduced->data + ws->walk.offset;
    int64_t stride = reduced->strides[0];
    if (self->columns == 0 || !unrounded_is_due(&ws->unrounded))
        return 0;
    count = min_u64(count, self->columns);
    const uint64_t columns = self->transposes
                                 ? count / UNROUNDED_COLUMNS * UNROUNDED_COLUMNS
                                 : padded(self, elements, stride, self->plan->n, count);
    count = min_u64(count, columns);
    if (count == 0)
        return 0;
    if (self->transposes) {
        const struct tile tile = {.at = elements,
                                  .rows = self->plan->n,
                                  .columns = count,
                                  .row_stride = stride,
                                  .column_stride = axes->strides[axes->outer - 1]};
        tile_writer_write(&self->tile_writer, &tile, ws->elements);
        elements = ws->elements;
        stride = (int64_t)(count * element_size(reduced->input));
    }
    if (!unrounded_add_columns(&ws->unrounded, elements, self->plan->n, stride, columns, &ws->sums))
        return 0;
    finish_sums(self, ws, count);
    return count;
}

/* The same for results with contiguous elements. */
static uint64_t sum_rows(const struct along *self, struct workspace *ws, uint64_t count)
{
    const struct axes *axes = self->axes;
    const char *row = (const char *)axes->reduced.data + ws->walk.offset;
    const uint64_t most = min_u64(count, UNROUNDED_COLUMNS_MAX);
    uint64_t k = 0;
    for (; k < most && unrounded_add_row(&ws->unrounded, row, self->plan->n, &ws->sums.heads[k],
                                         &ws->sums.tails[k]);
         k++)
        row += axes->strides[axes->outer - 1];
    if (k > 0)
        finish_sums(self, ws, k);
    return k;
}

static unsigned add_tile(void *context, uint64_t tile, void *memory)
{
    const struct along *self = context;
    struct workspace *const ws = memory;
    const struct axes *axes = self->axes;
    const uint64_t first = tile * self->tile_results,
                   end = min_u64(first + self->tile_results, axes->results);
    exact_reducer_start(&ws->reducer, self->tiles.job);
    for (unsigned k = 0; k < LANES; k++)
        ws->lanes[k].floats = ws->reducer.adder.floats;
    ws->unrounded = ws->reducer.adder.floats.unrounded;
    memset(&ws->sums, 0, sizeof ws->sums);
    ws->layout = self->axes->reduced;
    ws->reducer.plan.layout = &ws->layout;
    results_seek(&ws->walk, axes, first);
    for (uint64_t at = first; at < end;) {
        const uint64_t row = axes->outer ? axes->shape[axes->outer - 1] : 1,
                       left = min_u64(end - at, row - at % row),
                       added = self->rows ? sum_rows(self, ws, left) : add_columns(self, ws, left);
        const unsigned count = added ? 0 : self->groups ? (unsigned)min_u64(left, LANES) : 1;
        at += added;
        if (count > 1)
            add_lanes(self, ws, count);
        else if (count == 1)
            finish(self, ws, NULL, NULL);
        at += count;
    }
    return ws->reducer.run.findings | (ws->reducer.run.failure.kind ? TILE_OUT_OF_MEMORY : 0);
}

/* ---- running ---- */

/* Whether a result's elements are farther apart than adjacent results. */
static bool are_interleaved(const struct plan *plan)
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
    return plan->n >= POLL_INTERVAL ||
           (plan->n >= LONG && plan->axes->results <= FEW &&
            !(are_interleaved(plan) && plan->axes->results >= 2 * threads));
}

/* Per tile: as many as are added together, if there are enough for every thread. */
static uint64_t results_of_tile(const struct along *self)
{
    const uint64_t n = self->plan->n, few = TILE_ELEMENTS / (min_u64(n, TILE_ELEMENTS - 1) + 1),
                   lanes = self->columns ? UNROUNDED_COLUMNS_MAX : LANES,
                   threads = threads_for(&self->tiles.job->threads, UINT64_MAX),
                   shared = ceil_div(self->axes->results, threads * GROUP) * GROUP;
    return self->groups && few < lanes ? min_u64(lanes, shared) : few;
}

static_assert(SHORT * UNROUNDED_COLUMNS <= CHUNK_MAX && (int)BATCH_ELEMENTS <= (int)CHUNK_MAX,
              "no room for columns");
static_assert((int)LANES <= (int)UNROUNDED_COLUMNS_MAX, "no room for lanes");

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
        .transpose = cpu_kernels(job->instructions)->transpose(size), .end = axes_data_end(axes)};
    if (are_interleaved(plan)) {
        self->groups = true;
        self->adjacent = adds && axes->strides[axes->outer - 1] == (int64_t)size;
        self->columns = self->adjacent && n <= ROWS_MAX ? UNROUNDED_COLUMNS_MAX : 0;
    } else if (adds && n > 1 && n <= SHORT) {
        const uint64_t columns = min_u64(BATCH_ELEMENTS / n, UNROUNDED_COLUMNS_MAX);
        self->transposes = true;
        self->columns = columns < UNROUNDED_COLUMNS ? UNROUNDED_COLUMNS : columns;
    } else {
        self->rows = adds && plan->elements.flat && n <= CHUNK_MAX;
    }
    self->tile_results = results_of_tile(self);
    self->count = ceil_div(axes->results, self->tile_results);
    self->tiles = (struct tiles){.job = job,
                                 .sharing.pieces = self->count,
                                 .default_fenv = true,
                                 .poll_interval = POLL_INTERVAL / (self->tile_results * n + 1) + 1,
                                 .workspace = sizeof(struct workspace)};
}

static bool share_results(struct job *job)
{
    struct along self;
    describe(&self, job);
    if (job->run->explanation) {
        struct loops *loops = &job->run->explanation->loops;
        exact_explain(job);
        loops->results = self.groups ? RESULTS_INTERLEAVED : RESULTS_SEQUENTIAL;
        loops->threads = threads_for(&job->threads, self.count);
        return true;
    }
    return tiles_process(&self.tiles, self.count, 1, "exact sums", add_tile, NULL, NULL, &self);
}

bool exact_along(struct job *job)
{
    return are_few_and_long(job) ? folding_run_each(job) : share_results(job);
}
