/* A spot's runs of rows are folded, where they lie or brought into order, and their states merge as
 * a tree. */
#include "host/columns_spot.h"

#include "common/arithmetic.h"
#include "host/finishing.h"
#include "host/hidden.h"
#include "run/shown.h"

#include <string.h>

struct spot {
    uint64_t result, blocks, columns; /* the first result's number */
    struct walk_of_results first;
};

static struct spot spot_at(const struct columns *self, uint64_t index)
{
    const uint64_t tile = index % self->tiles, group = index / self->tiles % self->groups,
                   outer = index / self->tiles / self->groups, block = group * self->group,
                   column = tile * self->tile;
    struct spot spot = {.result =
                            (outer * self->blocks + block) * self->row / self->folded + column,
                        .blocks = least(self->blocks - block, self->group),
                        .columns = least(self->row - column, self->tile)};
    results_start(&spot.first, self->axes, spot.result);
    return spot;
}

static char *bench_of(const struct columns *self, unsigned thread)
{
    return self->benches + thread * self->bench_bytes;
}

static void bring_row(const struct columns *self, const char *at, uint64_t n, char *to)
{
    if (self->convert)
        self->convert(at, n, to);
    else
        memcpy(to, at, n * self->size);
}

static void bring_rows(const struct columns *self, const struct slab *slab, uint64_t rows, char *to)
{
    if (self->way == COLUMNS_IN_PLACE) {
        for (uint64_t row = 0; row < rows; row++)
            bring_row(self, slab->at + (int64_t)row * slab->row_stride, slab->columns,
                      to + row * slab->columns * self->size);
    } else if (self->way == COLUMNS_MOVED) {
        const struct tile tile = {.at = slab->at,
                                  .rows = rows,
                                  .columns = slab->columns,
                                  .row_stride = slab->row_stride,
                                  .column_stride = self->column_stride};
        self->move(&tile, to);
    } else {
        const struct turning turning = {.at = slab->at,
                                        .rows = slab->columns,
                                        .n = rows,
                                        .row_stride = self->column_stride,
                                        .stride = slab->row_stride,
                                        .end = self->end};
        self->turn(&turning, slab->columns, to);
    }
}

static void hide(const struct columns *self, const struct slab *slab, uint64_t rows,
                 const unsigned char *mask, int64_t mask_stride, char *elements)
{
    for (uint64_t row = 0; row < rows; row++)
        hidden_replace(elements + row * slab->columns * self->size, self->size, slab->columns,
                       mask + (int64_t)row * mask_stride, self->mask_column_stride, &self->nothing);
}

/* Makes a slab of what does not lie as one, or is not to be folded as it lies. */
static void bring(const struct columns *self, struct slab *slab, const unsigned char *mask,
                  int64_t mask_stride, char *bench)
{
    char *const to = bench + self->brought, *const unconverted = bench + self->unconverted;
    const uint64_t rows =
        slab_row(slab->all, slab->first + slab->count) - slab_row(slab->all, slab->first);
    const bool converts = self->convert && self->way != COLUMNS_IN_PLACE;
    bring_rows(self, slab, rows, converts ? unconverted : to);
    if (converts)
        self->convert(unconverted, rows * slab->columns, to);
    if (mask)
        hide(self, slab, rows, mask, mask_stride, to);
    slab->at = to;
    slab->row_stride = (int64_t)(slab->columns * self->size);
    slab->end = to + rows * slab->columns * self->size;
}

/* Of a spot's rows from `row` on. */
static const unsigned char *mask_at(const struct columns *self, const struct spot *spot,
                                    int64_t row, int64_t mask_stride)
{
    const unsigned char *const mask = self->axes->reduced.mask;
    return mask ? mask + spot->first.mask_offset + row * mask_stride : NULL;
}

static void fold_run(const struct columns *self, const struct spot *spot, uint64_t run, char *bench,
                     char *states)
{
    const int64_t row = (int64_t)slab_row(self->parts, run * self->run);
    const struct slab all = {.at = (const char *)self->axes->reduced.data + spot->first.offset +
                                   row * self->row_stride,
                             .blocks = spot->blocks,
                             .columns = spot->columns,
                             .all = self->parts,
                             .first = run * self->run,
                             .count = self->run,
                             .folded = self->folded,
                             .finishes = self->direct,
                             .divisor = self->divisor,
                             .block_stride = self->block_stride,
                             .row_stride = self->row_stride,
                             .end = self->end,
                             .ahead = self->ahead,
                             .room = bench};
    if (!self->brings) {
        self->fold(&all, states);
        return;
    }
    for (uint64_t block = 0; block < spot->blocks; block++) {
        struct slab one = all;
        one.at += (int64_t)block * self->block_stride;
        one.blocks = 1;
        one.ahead = 0;
        bring(self, &one, mask_at(self, spot, row, self->mask_row_stride), self->mask_row_stride,
              bench);
        self->fold(&one, states + block * spot->columns * self->width);
    }
}

/* Neighbouring runs' states, and what has become of them, `apart` bytes from one to the next. */
static void merge_runs(const struct columns *self, const struct spot *spot, uint64_t runs,
                       char *states, size_t apart)
{
    for (uint64_t gap = 1; gap < runs; gap *= 2)
        for (uint64_t run = 0; run + gap < runs; run += 2 * gap)
            self->merge(states + run * apart, states + (run + gap) * apart,
                        spot->blocks * spot->columns);
}

/* Leaves what becomes of so many at the first of the bench's states. */
static void fold_runs(const struct columns *self, const struct spot *spot, uint64_t first,
                      uint64_t runs, char *bench)
{
    char *const states = bench + self->states;
    for (uint64_t run = 0; run < runs; run++)
        fold_run(self, spot, first + run, bench, states + run * self->spot_bytes);
    merge_runs(self, spot, runs, states, self->spot_bytes);
}

/* Rows that are too few to fold with the others. */
static void fold_rest(const struct columns *self, const struct spot *spot, uint64_t block,
                      uint64_t rest, char *bench, char *states)
{
    const int64_t stride = self->row_stride / (int64_t)self->folded,
                  mask_stride = self->mask_row_stride / (int64_t)self->folded,
                  row = (int64_t)(self->plan->n - rest);
    const struct slab_parts parts = slab_parts_of(rest);
    struct slab slab = {.at = (const char *)self->axes->reduced.data + spot->first.offset +
                              (int64_t)block * self->block_stride + row * stride,
                        .blocks = 1,
                        .columns = spot->columns / self->folded,
                        .all = parts,
                        .count = (uint64_t)1 << parts.shift,
                        .folded = 1,
                        .before = self->plan->n - rest,
                        .row_stride = stride,
                        .end = self->end,
                        .room = bench};
    if (self->brings)
        bring(self, &slab, mask_at(self, spot, row, mask_stride), mask_stride, bench);
    self->fold(&slab, states);
}

/* States of rows that were taken for one merge as a tree: halves, of which each is one for every
 * result several times over. */
static void unfold(const struct columns *self, const struct spot *spot, char *bench, char *states)
{
    const uint64_t rest = self->plan->n % self->folded, row = spot->columns / self->folded;
    for (uint64_t block = 0; block < spot->blocks; block++) {
        char *const own = states + block * spot->columns * self->width;
        for (uint64_t half = self->folded / 2; half > 0; half /= 2)
            self->merge(own, own + half * row * self->width, half * row);
        if (rest) {
            fold_rest(self, spot, block, rest, bench, own + row * self->width);
            self->merge(own, own + row * self->width, row);
        }
    }
}

/* What the mask shows of each of a spot's results; NULL: not asked for. */
static const uint32_t *counts_of(const struct columns *self, const struct spot *spot, char *bench)
{
    const int64_t folded = (int64_t)self->folded;
    const struct shown shown = {.mask = mask_at(self, spot, 0, 0),
                                .rows = self->plan->n,
                                .columns = spot->columns / self->folded,
                                .row_stride = self->mask_row_stride / folded,
                                .column_stride = self->mask_column_stride};
    uint32_t *const counts = (uint32_t *)(void *)(bench + self->counts);
    if (!self->counted)
        return NULL;
    shown_count(&shown, counts);
    return counts;
}

/* What has a mask is of one block. */
static void finish(struct columns *self, const struct spot *spot, char *bench, char *states)
{
    unsigned found = 0;
    if (self->folded > 1)
        unfold(self, spot, bench, states);
    struct finishing finishing = {.n = spot->columns / self->folded,
                                  .count = self->plan->n,
                                  .counts = counts_of(self, spot, bench),
                                  .step = self->axes->places[self->axes->kept - 1]};
    struct walk_of_results walk = spot->first;
    for (uint64_t block = 0; block < spot->blocks; block++) {
        if (block)
            results_start(&walk, self->axes, spot->result + block * self->row / self->folded);
        finishing.states = states + block * spot->columns * self->width;
        finishing.place = walk.place;
        found |= finishing_run(self->plan, &finishing);
    }
    if (found)
        atomic_fetch_or(&self->findings, found);
}

/* Results that states are at once: of those that leave NaN out it may have to be said. */
static void make_results(struct columns *self, const struct spot *spot, char *bench)
{
    const struct finishing made = {.states = (char *)self->plan->results.at[0] +
                                             spot->first.place * (int64_t)self->width,
                                   .n = spot->blocks * spot->columns,
                                   .count = self->plan->n};
    fold_run(self, spot, 0, bench, made.states);
    if (self->tells) {
        const unsigned found = finishing_findings(self->plan, &made);
        if (found)
            atomic_fetch_or(&self->findings, found);
    }
}

/* ---- pieces ---- */

void columns_fold_spot(void *context, uint64_t index, unsigned thread)
{
    struct columns *self = context;
    const struct spot spot = spot_at(self, self->start + index);
    char *const bench = bench_of(self, thread), *const states = bench + self->states;
    if (self->direct) {
        make_results(self, &spot, bench);
        return;
    }
    fold_runs(self, &spot, 0, self->runs, bench);
    finish(self, &spot, bench, states);
}

void columns_fold_shared_runs(void *context, uint64_t index, unsigned thread)
{
    const struct columns *self = context;
    const uint64_t piece = self->start + index, first = piece / self->spots * self->together;
    const struct spot spot = spot_at(self, piece % self->spots);
    char *const bench = bench_of(self, thread);
    fold_runs(self, &spot, first, self->together, bench);
    memcpy(self->partials + piece * self->spot_bytes, bench + self->states,
           spot.blocks * spot.columns * self->width);
}

void columns_finish_spot(void *context, uint64_t index, unsigned thread)
{
    struct columns *self = context;
    const struct spot spot = spot_at(self, index);
    char *const states = self->partials + index * self->spot_bytes;
    merge_runs(self, &spot, self->runs / self->together, states, self->spots * self->spot_bytes);
    finish(self, &spot, bench_of(self, thread), states);
}
