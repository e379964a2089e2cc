/* Dot products along axes, shared by threads. Factors are used in place, or gathered into rows or
 * columns first. Exact results are first computed with compensated sums and an error bound, which
 * nearly always determines the rounded result; otherwise a superaccumulator computes it. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

#include <math.h>
#include <string.h>

enum {
    STEPS = CHUNK_MAX / 2, /* added sequentially in a lane */
    RESULTS = DOT_COLUMNS, /* most results per slab */
    FEW = 8,               /* fewest columns per slab */
    TILE_ELEMENTS = 1 << 16,
    SERIAL_MAX = 1 << 14,   /* elements not worth a second thread */
    BRIEF_MAX = 1 << 17,    /* or a sleeping one */
    POLL_INTERVAL = 1 << 24 /* elements between polls of the watch */
};

/* One of the two factors. */
struct factor {
    struct layout group; /* results and elements, in the order to gather */
    int64_t outer;       /* byte stride between results */
    bool ready;
};

struct dots {
    const struct plan *plan;
    const struct axes *axes;
    enum instructions instructions;
    enum element type;
    struct factor a, b;
    add_dot_slab *loop; /* NULL: each result uses a superaccumulator */
    bool columns;
    uint64_t width, length; /* results and elements of each per slab */
    uint64_t tile_results, tiles;
};

struct workspace {
    _Alignas(64) char a[CHUNK_MAX * sizeof(double)], b[CHUNK_MAX * sizeof(double)];
    struct dot_sum sums[RESULTS];
    struct exact exact;
    struct layout layout; /* of the current gather */
};

/* ---- gathering ---- */

/* `count` adjacent results, the first of which is at `first`. */
static const struct layout *group_at(const struct dots *self, const struct factor *factor,
                                     const char *first, uint64_t count, struct workspace *ws)
{
    layout_copy(&factor->group, &ws->layout);
    ws->layout.data = first;
    ws->layout.shape[self->columns] = count;
    return &ws->layout;
}

/* Elements `at` to `at + n` of each result. */
static const char *gather_factor(const struct dots *self, const struct factor *factor,
                                 const char *first, uint64_t at, uint64_t n, uint64_t count,
                                 struct workspace *ws, char *buffer, int64_t *step)
{
    const size_t size = element_size(self->type);
    if (factor->ready) {
        const int64_t apart = self->columns ? factor->group.strides[0] : (int64_t)size;
        *step = self->columns ? apart : factor->outer;
        return first + (int64_t)at * apart;
    }
    gather(self->instructions, group_at(self, factor, first, count, ws),
           self->columns ? at * count : at, n * count, buffer);
    *step = (int64_t)((self->columns ? count : n) * size);
    return buffer;
}

/* ---- results ---- */

/* Whether rounding to float32 moves a float64 to the midpoint of two bfloat16s. */
static bool is_rounded_twice(double x, enum element type)
{
    const float near = (float)x;
    uint32_t bits;
    memcpy(&bits, &near, sizeof bits);
    return type == ELEMENT_BFLOAT16 && (bits & UINT16_MAX) == INT16_MAX + 1 && near != x;
}

/* Rounds a sum of n products. False if its error bound does not determine the result. */
static bool round_sum(const struct dot_sum *sum, uint64_t n, enum element type, union scalar *value)
{
    const double error = ((double)n + 32) * sum->taken * 0x1p-52, high = sum->high + sum->low,
                 shown = high - sum->high, low = (sum->high - (high - shown)) + (sum->low - shown);
    *value = scalar_of_double(high, 0, type);
    if (error == 0 && low == 0)
        return isfinite(high) && !is_rounded_twice(high, type);
    if (type == ELEMENT_FLOAT64) {
        const double margin = error * (1 + 0x1p-50) + fabs(low) * 0x1p-52;
        return high + (low + margin) == high && high + (low - margin) == high;
    }
    const double margin = (fabs(low) + error) * (1 + 0x1p-50) + fabs(high) * 0x1p-52,
                 least = high - margin, greatest = high + margin;
    const union scalar ends[] = {scalar_of_double(least, 0, type),
                                 scalar_of_double(greatest, 0, type)};
    return isfinite(margin) && !is_rounded_twice(least, type) &&
           !is_rounded_twice(greatest, type) && memcmp(&ends[0], &ends[1], element_size(type)) == 0;
}

/* With a superaccumulator, from unconverted elements. */
static union scalar compute_exactly(const struct dots *self, const char *a, const char *b,
                                    struct workspace *ws)
{
    const uint64_t n = self->plan->n;
    struct exact *const sum = &ws->exact;
    memset(sum, 0, sizeof *sum);
    for (uint64_t at = 0; at < n; at += CHUNK_MAX) {
        const uint64_t count = min_u64(n - at, CHUNK_MAX);
        gather_unconverted(self->instructions, group_at(self, &self->a, a, 1, ws), at, count,
                           ws->a);
        gather_unconverted(self->instructions, group_at(self, &self->b, b, 1, ws), at, count,
                           ws->b);
        products_add(ws->a, self->a.group.input, ws->b, self->b.group.input, count, sum, sum);
    }
    return exact_value(sum, 1, self->plan->finish.result);
}

/* Stores `count` adjacent results of a walk, whose elements are at `a` and `b`. */
static void finish(const struct dots *self, const struct result_iterator *walk, const char *a,
                   const char *b, uint64_t count, struct workspace *ws)
{
    const struct plan *plan = self->plan;
    const enum element type = plan->finish.result;
    const bool integer = element_is_integer(type), exact = plan->exact;
    const int64_t size = (int64_t)element_size(type),
                  step = self->axes->outer ? size * self->axes->places[self->axes->outer - 1] : 0;
    const struct dot_sum *sum = ws->sums;
    char *to = (char *)plan->results.at[0] + walk->place * size;
    for (uint64_t k = 0; k < count; k++, sum++, to += step) {
        union scalar value;
        if (integer)
            value = scalar_of_uint64(sum->integer, type);
        else if (!exact)
            value = scalar_of_double(sum->high + sum->low, 0, type);
        else if (!self->loop || !round_sum(sum, plan->n, type, &value))
            value = compute_exactly(self, a + (int64_t)k * self->a.outer,
                                    b + (int64_t)k * self->b.outer, ws);
        scalar_store(to, value, type);
    }
}

/* ---- tiles ---- */

static unsigned process_tile(void *context, uint64_t tile, void *memory)
{
    const struct dots *self = context;
    struct workspace *const ws = memory;
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    const uint64_t n = self->plan->n, first = tile * self->tile_results,
                   end = min_u64(first + self->tile_results, axes->results);
    struct result_iterator walk;
    results_seek(&walk, axes, first);
    for (uint64_t result = first, count; result < end; result += count) {
        count = axes->outer ? min_u64(min_u64(end - result, axes->shape[inner] - walk.index[inner]),
                                      self->width)
                            : 1;
        const char *const a = (const char *)self->a.group.data + walk.offset,
                          *const b = (const char *)self->b.group.data + walk.mask_offset;
        memset(ws->sums, 0, count * sizeof *ws->sums);
        for (uint64_t at = 0; at < n && self->loop; at += self->length) {
            struct dot_slab slab = {.n = min_u64(n - at, self->length), .results = count};
            slab.a = gather_factor(self, &self->a, a, at, slab.n, count, ws, ws->a, &slab.step_a);
            slab.b = gather_factor(self, &self->b, b, at, slab.n, count, ws, ws->b, &slab.step_b);
            self->loop(&slab, ws->sums);
        }
        finish(self, &walk, a, b, count, ws);
        if (axes->outer)
            results_advance(&walk, count);
    }
    return 0;
}

/* ---- running ---- */

/* Whether a result's elements have the loop's type and strides, as well as the adjacent results. */
static bool is_ready(const struct dots *self, const struct layout *one, int64_t outer)
{
    const int64_t size = (int64_t)element_size(self->type),
                  next = one->dimensions ? one->strides[0] : size;
    return one->input == self->type && !one->swapped && one->dimensions <= 1 &&
           ((uintptr_t)one->data | (uint64_t)next | (uint64_t)outer) % (uint64_t)size == 0 &&
           (self->columns ? outer : next) == size;
}

/* The results' dimension comes before the elements' or, in columns, after it. */
static void describe_factor(const struct dots *self, const struct layout *one, int64_t outer,
                            struct factor *factor)
{
    struct layout *const group = &factor->group;
    const unsigned before = self->columns ? 0 : 1;
    layout_copy(one, group);
    group->mask = NULL;
    group->type = self->type;
    group->dimensions = one->dimensions + 1;
    for (unsigned k = 0; k < one->dimensions; k++) {
        group->shape[k + before] = one->shape[k];
        group->strides[k + before] = one->strides[k];
    }
    group->shape[self->columns] = self->axes->results;
    group->strides[self->columns] = factor->outer = outer;
    factor->ready = is_ready(self, one, outer);
}

static void describe_factors(struct dots *self)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    struct layout b = layout_of_mask(&axes->reduced);
    b.input = self->plan->factors->input;
    b.swapped = self->plan->factors->swapped;
    describe_factor(self, &axes->reduced, axes->outer ? axes->strides[inner] : 0, &self->a);
    describe_factor(self, &b, axes->outer ? axes->mask_strides[inner] : 0, &self->b);
}

static void describe(struct dots *self, const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct axes *axes = plan->axes;
    const struct layout *reduced = &axes->reduced;
    *self = (struct dots){
        .plan = plan, .axes = axes, .instructions = job->instructions, .type = plan->accumulator};
    self->columns = !element_is_integer(self->type) && axes->outer && reduced->dimensions == 1 &&
                    axes->strides[axes->outer - 1] < reduced->strides[0] &&
                    axes->shape[axes->outer - 1] >= FEW;
    describe_factors(self);
    self->loop =
        plan->exact &&
                (is_64bit_integer(self->a.group.input) || is_64bit_integer(self->b.group.input))
            ? NULL
            : cpu_kernels(job->instructions)->dot_slabs(self->type, self->columns, plan->exact);
    const uint64_t fair = ceil_div(axes->results, threads_for(&job->threads, UINT64_MAX)),
                   most = TILE_ELEMENTS / (min_u64(plan->n, TILE_ELEMENTS) + 1) + 1;
    /* the order of additions must not depend on the number of threads; width does */
    const bool ready = self->a.ready && self->b.ready;
    self->length = self->columns ? ready ? RESULTS : CHUNK_MAX / RESULTS
                   : plan->exact ? CHUNK_MAX
                                 : STEPS;
    const uint64_t whole = plan->n ? min_u64(plan->n, self->length) : 1;
    self->width = self->columns                      ? min_u64(RESULTS, fair < FEW ? FEW : fair)
                  : ready && plan->n <= self->length ? RESULTS
                                                     : min_u64(RESULTS, self->length / whole);
    self->tile_results = most < self->width ? self->width : most;
    self->tiles = ceil_div(axes->results, self->tile_results);
}

bool dots_run(struct job *job)
{
    struct dots self;
    describe(&self, job);
    const uint64_t n = self.plan->n, results = self.axes->results,
                   each = self.tile_results * (n + 1);
    struct tiles tiles = {
        .job = job,
        .sharing = {.pieces = n * results > SERIAL_MAX ? 2 : 1, .brief = n * results < BRIEF_MAX},
        .default_fenv = true,
        .poll_interval = POLL_INTERVAL / each + 1,
        .workspace = sizeof(struct workspace)};
    return tiles_process(&tiles, self.tiles, 1, "factors", process_tile, NULL, NULL, &self);
}
