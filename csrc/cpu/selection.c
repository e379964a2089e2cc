/* Order statistics. Threads share the results or, if these are few and long, the parts of each. */
#include "common/arithmetic.h"
#include "cpu/tiles.h"

#include <string.h>

/* In elements: a result long enough that threads share it, if there are fewer than LONG_PER_THREAD
 * such results per thread; a call not worth a second thread; and those per result up to which the
 * elements of a result are sorted ("sorted" in benchmarks/tuning/host.json). */
enum { LONG = 1 << 16, LONG_PER_THREAD = 4, SERIAL_MAX = 1 << 13, SORT_RATIO = 24 };

struct selecting {
    const struct selection *all;
    uint64_t results;
    size_t size;        /* bytes per element */
    sort_columns *sort; /* of few elements, for tile_results results at a time */
    uint64_t tile_results;
    struct selected one;
    struct tiles *tiles; /* parts of one result */
    const uint64_t *bracket;
    struct selection_part *parts;
    char *kept; /* of each part, at the index of its first element */
};

/* Bytes of `results` times n elements; false if that is too much for each of many threads. */
static bool buffer_bytes(uint64_t n, uint64_t results, size_t size, size_t *bytes)
{
    const size_t most = SIZE_MAX >> 16;
    return !__builtin_mul_overflow(n, results * size, bytes) && *bytes <= most;
}

/* ---- many results ---- */

/* Runs tiles of results for all shapes. */
static bool share_results(struct job *job, struct selecting *self, uint64_t tiles, size_t workspace,
                          tile_function *work)
{
    struct tiles shared = {.job = job,
                           .sharing = {.pieces = self->all->n * self->results > SERIAL_MAX ? 2 : 1},
                           .workspace = workspace};
    return tiles_process(&shared, tiles, 1, "order statistics", work, NULL, NULL, self);
}

static unsigned select_result(void *context, uint64_t result, void *workspace)
{
    const struct selecting *self = context;
    select_quantiles(self->all, result, workspace);
    return 0;
}

static bool select_each(struct job *job, struct selecting *self)
{
    const struct selection *all = self->all;
    size_t bytes;
    return buffer_bytes(all->of.sorted ? 0 : all->n, 2, self->size, &bytes) &&
           share_results(job, self, self->results, bytes + 2 * all->of.count * self->size,
                         select_result);
}

/* ---- results of few elements, sorted in lanes ---- */

static unsigned select_sorted(void *context, uint64_t tile, void *workspace)
{
    const struct selecting *self = context;
    const uint64_t most = SORTED_ROW / self->size,
                   end = min_u64((tile + 1) * self->tile_results, self->results);
    for (uint64_t first = tile * self->tile_results; first < end; first += most)
        select_quantiles_few(self->all, self->sort, first, min_u64(most, end - first), workspace);
    return 0;
}

static bool select_by_sorting(struct job *job, struct selecting *self)
{
    const uint64_t n = self->all->n;
    self->sort = cpu_kernels(job->instructions)->sort(self->size);
    self->tile_results = (SERIAL_MAX / n / SORTED_ROW + 1) * (SORTED_ROW / self->size);
    return share_results(job, self, ceil_div(self->results, self->tile_results), n * SORTED_ROW,
                         select_sorted);
}

/* ---- parts of one result ---- */

static unsigned filter_part(void *context, uint64_t part, void *workspace)
{
    struct selecting *self = context;
    self->parts[part] =
        selection_filter(self->all, &self->one, part, self->bracket,
                         self->kept + part * SELECTION_PART * self->size, workspace);
    return 0;
}

/* Filters all parts, and joins the keys that they keep. */
static struct selection_part filter_all_parts(void *context, const uint64_t bracket[2])
{
    struct selecting *self = context;
    const uint64_t parts = ceil_div(self->all->n, SELECTION_PART);
    const size_t size = self->size;
    struct selection_part all = {0, 0, 0};
    self->bracket = bracket;
    tiles_run(self->tiles, parts, filter_part, self);
    for (uint64_t part = 0; part < parts; part++) {
        memmove(self->kept + all.kept * size, self->kept + part * SELECTION_PART * size,
                self->parts[part].kept * size);
        all.kept += self->parts[part].kept;
        all.less += self->parts[part].less;
        all.nans += self->parts[part].nans;
    }
    return all;
}

static bool select_in_parts(struct job *job, struct selecting *self)
{
    const struct selection *all = self->all;
    const uint64_t parts = ceil_div(all->n, SELECTION_PART);
    const size_t size = self->size, of_parts = parts * sizeof *self->parts;
    size_t bytes;
    if (!buffer_bytes(parts, SELECTION_PART, size, &bytes))
        return false;
    struct tiles shared = {.job = job,
                           .sharing = {.pieces = 2},
                           .workspace = SELECTION_PART * size,
                           .common = bytes + of_parts + 2 * all->of.count * size};
    if (!tiles_open(&shared, parts, "order statistics"))
        return false;
    self->tiles = &shared;
    self->kept = tiles_common(&shared);
    self->parts = (struct selection_part *)(void *)(self->kept + bytes);
    self->one.keys = self->kept + bytes + of_parts;
    for (self->one.result = 0; self->one.result < self->results; self->one.result++)
        select_quantiles_long(all, &self->one, self->kept, filter_all_parts, self);
    tiles_close(&shared);
    return true;
}

bool selection_run(struct job *job, const struct selection *all)
{
    struct selecting self = {
        .all = all, .results = all->outer * all->inner, .size = element_size(all->of.input)};
    const uint64_t few = (uint64_t)threads_for(&job->threads, UINT32_MAX) * LONG_PER_THREAD;
    const bool is_long = all->n >= LONG && !all->of.sorted && self.results < few;
    if (all->n <= SORTED_MAX && all->n <= self.results * SORT_RATIO && !all->of.sorted)
        return select_by_sorting(job, &self);
    return is_long ? select_in_parts(job, &self) : select_each(job, &self);
}
