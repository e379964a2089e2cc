/* Folds the runs of an output tile, in place or after gathering, and merges their states. */
#include "cpu/columns.h"

#include "common/arithmetic.h"
#include "common/scalar.h"
#include "cpu/finalize.h"

#include <math.h>
#include <string.h>

struct output_tile {
    uint64_t blocks, columns;
    struct result_iterator first; /* at the first result */
};

static struct output_tile tile_at(const struct columns *self, uint64_t index)
{
    const uint64_t in_row = index % self->cut.in_row,
                   group = index / self->cut.in_row % self->cut.groups,
                   outer = index / self->cut.in_row / self->cut.groups,
                   block = group * self->cut.group, column = in_row * self->cut.width;
    struct output_tile tile = {.blocks = min_u64(self->cut.blocks - block, self->cut.group),
                               .columns = min_u64(self->cut.row - column, self->cut.width)};
    results_seek(&tile.first, self->axes,
                 (outer * self->cut.blocks + block) * self->cut.row / self->cut.coalesced + column);
    return tile;
}

/* The offset in bytes of a tile's row; rows of the last dimension are `stride` apart. */
static int64_t row_offset(const struct columns *self, uint64_t row, int64_t stride)
{
    const struct layout *reduced = &self->axes->reduced;
    int64_t offset = (int64_t)(row % self->input.inner) * stride;
    row /= self->input.inner;
    for (unsigned k = reduced->dimensions; row > 0 && k-- > 1; row /= reduced->shape[k - 1])
        offset += (int64_t)(row % reduced->shape[k - 1]) * reduced->strides[k - 1];
    return offset;
}

/* Gathers rows that are `stride` bytes apart; one row if there are several blocks. */
static void gather_rows(const struct columns_rows *self, const struct slab *slab, const char *at,
                        uint64_t rows, int64_t stride, char *to)
{
    const bool blocks = slab->blocks > 1;
    const struct tile tile = {.at = at,
                              .rows = blocks ? slab->blocks : rows,
                              .columns = slab->columns,
                              .row_stride = blocks ? self->block_stride : stride,
                              .column_stride = self->column_stride};
    tile_writer_write(&self->tile_writer, &tile, to);
}

/* ---- masked elements ---- */

static bool limit_of(enum element type, bool greatest, union scalar *worst)
{
    *worst = element_is_integer(type) ? scalar_limit(type, greatest)
                                      : scalar_of_double(greatest ? HUGE_VAL : -HUGE_VAL, 0, type);
    return !element_is_complex(type);
}

bool columns_fill_value(enum fold fold, enum element type, union scalar *fill_value)
{
    switch (fold) {
    case FOLD_sum:
        *fill_value = scalar_of_double(-0.0, -0.0, type);
        return true;
    case FOLD_nonzero:
    case FOLD_norm1:
    case FOLD_norm2:
    case FOLD_norm_inf:
        *fill_value = scalar_of_double(0, 0, type);
        return true;
    case FOLD_prod:
        *fill_value = scalar_of_double(1, 0, type);
        return !element_is_complex(type);
    case FOLD_min:
    case FOLD_max:
        return limit_of(type, fold == FOLD_min, fill_value);
    case FOLD_logsumexp:
        return !element_is_integer(type) && limit_of(type, false, fill_value);
    case FOLD_nansum:
    case FOLD_nanprod:
    case FOLD_nanmin:
    case FOLD_nanmax:
        *fill_value = scalar_of_double((double)NAN, 0, type);
        return true;
    default:
        return false;
    }
}

/* ---- slabs ---- */

/* The first row of a tile. */
static const char *tile_begin(const struct columns *self, const struct output_tile *tile)
{
    return (const char *)self->axes->reduced.data + tile->first.offset;
}

/* The mask of a tile from `row` on; NULL: no mask. */
static const unsigned char *mask_at(const struct columns *self, const struct output_tile *tile,
                                    int64_t row, int64_t mask_stride)
{
    const unsigned char *const mask = self->axes->reduced.mask;
    return mask ? mask + tile->first.mask_offset + row * mask_stride : NULL;
}

/* Gathers rows of a tile from `first` on into a slab of one block, converting and masking them. */
static void gather_slab(const struct columns *self, const struct output_tile *tile,
                        struct slab *slab, uint64_t first, char *workspace)
{
    const int64_t mask_stride = self->input.mask.row_stride * (int64_t)slab->folded;
    char *const to = workspace + self->gathered, *const unconverted = workspace + self->unconverted;
    const uint64_t end = first + slab_row(slab->all, slab->first + slab->count) -
                         slab_row(slab->all, slab->first),
                   rows = end - first, columns = slab->blocks * slab->columns;
    const size_t size = self->input.size, row_bytes = columns * size;
    const unsigned char *const mask = mask_at(self, tile, (int64_t)first, mask_stride);
    char *stored = self->input.convert ? unconverted : to, *valid = workspace + self->valid;
    slab->valid = self->input.takes_mask ? (const unsigned char *)valid : NULL;
    for (uint64_t row = first, some; row < end; row += some) {
        some =
            slab->blocks > 1 ? 1 : min_u64(end - row, self->input.inner - row % self->input.inner);
        gather_rows(&self->input.elements, slab,
                    tile_begin(self, tile) + row_offset(self, row, slab->row_stride), some,
                    slab->row_stride, stored);
        stored += some * columns * self->input.stored;
        if (mask)
            gather_rows(&self->input.mask, slab,
                        (const char *)mask + (int64_t)(row - first) * mask_stride, some,
                        mask_stride, valid + (row - first) * columns);
    }
    if (self->input.convert)
        self->input.convert(unconverted, rows * columns, to);
    if (mask && !self->input.takes_mask)
        self->input.fill(to, rows * columns, (const unsigned char *)valid, &self->input.fill_value);
    slab->at = to;
    slab->blocks = 1;
    slab->columns = columns;
    slab->row_stride = (int64_t)row_bytes;
    slab->end = to + rows * row_bytes;
}

/* Folds a slab of a tile's rows, in place or after gathering. */
static void fold_slab(const struct columns *self, const struct output_tile *tile, struct slab slab,
                      char *workspace, char *states)
{
    const uint64_t row = slab.before + slab_row(slab.all, slab.first);
    slab.row_stride = self->input.elements.row_stride * (int64_t)slab.folded;
    slab.block_stride = self->input.elements.block_stride;
    slab.room = workspace;
    if (self->input.gather) {
        gather_slab(self, tile, &slab, row, workspace);
    } else {
        slab.at = tile_begin(self, tile) + (int64_t)row * slab.row_stride;
        slab.end = self->input.elements.tile_writer.end;
    }
    self->loop->fold(self->loop, &slab, states);
}

static void fold_run(const struct columns *self, const struct output_tile *tile, uint64_t run,
                     char *workspace, char *states)
{
    const struct slab slab = {.blocks = tile->blocks,
                              .columns = tile->columns,
                              .all = self->cut.parts,
                              .first = run * self->cut.run,
                              .count = self->cut.run,
                              .folded = self->cut.coalesced,
                              .finishes = self->direct,
                              .divisor = self->divisor};
    fold_slab(self, tile, slab, workspace, states);
}

/* Merges adjacent runs' states as a tree; they are `apart` bytes apart. */
static void merge_runs(const struct columns *self, const struct output_tile *tile, uint64_t runs,
                       char *states, size_t apart)
{
    for (uint64_t gap = 1; gap < runs; gap *= 2)
        for (uint64_t run = 0; run + gap < runs; run += 2 * gap)
            self->merge(states + run * apart, states + (run + gap) * apart,
                        tile->blocks * tile->columns);
}

/* Folds and merges some runs. The result is the first of the workspace's states. */
static void fold_runs(const struct columns *self, const struct output_tile *tile, uint64_t first,
                      uint64_t runs, char *workspace)
{
    char *const states = workspace + self->states;
    for (uint64_t run = 0; run < runs; run++)
        fold_run(self, tile, first + run, workspace, states + run * self->tile_bytes);
    merge_runs(self, tile, runs, states, self->tile_bytes);
}

/* Folds the rows of a block that remain after coalescing. */
static void fold_remainder(const struct columns *self, const struct output_tile *tile,
                           uint64_t block, uint64_t rest, char *workspace, char *states)
{
    const struct slab_parts parts = slab_parts_of(rest);
    const struct slab slab = {.blocks = 1,
                              .columns = tile->columns / self->cut.coalesced,
                              .all = parts,
                              .count = (uint64_t)1 << parts.shift,
                              .folded = 1,
                              .before = self->plan->n - rest};
    struct output_tile one = *tile;
    one.first.offset += (int64_t)block * self->input.elements.block_stride;
    fold_slab(self, &one, slab, workspace, states);
}

/* Merges the states of coalesced rows as a tree. A half has several states for every result. */
static void merge_coalesced(const struct columns *self, const struct output_tile *tile,
                            char *workspace, char *states)
{
    const uint64_t rest = self->plan->n % self->cut.coalesced,
                   row = tile->columns / self->cut.coalesced;
    for (uint64_t block = 0; block < tile->blocks; block++) {
        char *const block_states = states + block * tile->columns * self->width;
        for (uint64_t half = self->cut.coalesced / 2; half > 0; half /= 2)
            self->merge(block_states, block_states + half * row * self->width, half * row);
        if (rest) {
            fold_remainder(self, tile, block, rest, workspace, block_states + row * self->width);
            self->merge(block_states, block_states + row * self->width, row);
        }
    }
}

/* The number of unmasked elements of each result; NULL: not needed. */
static const uint32_t *counts_of(const struct columns *self, const struct output_tile *tile,
                                 char *workspace)
{
    struct tile valid = {.mask = mask_at(self, tile, 0, 0),
                         .rows = self->plan->n,
                         .columns = tile->columns / self->cut.coalesced,
                         .mask_row_stride = self->input.mask.row_stride,
                         .mask_column_stride = self->input.mask.column_stride};
    uint32_t *const counts = (uint32_t *)(void *)(workspace + self->counts);
    if (!self->counted)
        return NULL;
    for (uint64_t block = 0; block < tile->blocks; block++) {
        gather_count_columns(&valid, counts + block * valid.columns);
        valid.mask += self->input.mask.block_stride;
    }
    return counts;
}

/* Results have a constant stride in the last outer dimension, or in
 * the whole tile if it is dense. */
static unsigned finish(const struct columns *self, const struct output_tile *tile, char *workspace,
                       char *states)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    unsigned found = 0;
    if (self->cut.coalesced > 1)
        merge_coalesced(self, tile, workspace, states);
    const uint32_t *const counts = counts_of(self, tile, workspace);
    const uint64_t blocks = self->dense ? 1 : tile->blocks,
                   columns = tile->blocks / blocks * tile->columns / self->cut.coalesced;
    struct finalize finishing = {.count = self->plan->n, .step = axes->places[inner]};
    struct result_iterator walk = tile->first;
    for (uint64_t block = 0; block < blocks; block++)
        for (uint64_t done = 0; done < columns; done += finishing.n) {
            const uint64_t some = axes->shape[inner] - walk.index[inner];
            finishing.n = self->dense ? columns : min_u64(columns - done, some);
            finishing.states = states + (block * tile->columns + done) * self->width;
            finishing.counts = counts ? counts + block * columns + done : NULL;
            finishing.place = walk.place;
            found |= finalize_run(self->plan, &finishing);
            results_advance(&walk, finishing.n);
        }
    return found;
}

/* Folds directly to results, and checks those of folds that skip NaNs. */
static unsigned fold_to_results(const struct columns *self, const struct output_tile *tile,
                                char *workspace)
{
    const struct finalize made = {.states = (char *)self->plan->results.at[0] +
                                            tile->first.place * (int64_t)self->width,
                                  .n = tile->blocks * tile->columns,
                                  .count = self->plan->n};
    fold_run(self, tile, 0, workspace, made.states);
    return self->checks ? finalize_findings(self->plan, &made) : 0;
}

/* ---- tiles ---- */

unsigned columns_fold_tile(void *context, uint64_t index, void *workspace)
{
    const struct columns *self = context;
    const struct output_tile tile = tile_at(self, index);
    if (self->direct)
        return fold_to_results(self, &tile, workspace);
    fold_runs(self, &tile, 0, self->cut.runs, workspace);
    return finish(self, &tile, workspace, workspace + self->states);
}

unsigned columns_fold_shared_runs(void *context, uint64_t index, void *workspace)
{
    const struct columns *self = context;
    const uint64_t first = index / self->cut.tiles * self->cut.merged_runs;
    const struct output_tile tile = tile_at(self, index % self->cut.tiles);
    fold_runs(self, &tile, first, self->cut.merged_runs, workspace);
    memcpy(tiles_common(&self->tiles) + index * self->tile_bytes, workspace + self->states,
           tile.blocks * tile.columns * self->width);
    return 0;
}

unsigned columns_finish_tile(void *context, uint64_t index, void *workspace)
{
    const struct columns *self = context;
    const struct output_tile tile = tile_at(self, index);
    char *const states = tiles_common(&self->tiles) + index * self->tile_bytes;
    merge_runs(self, &tile, self->cut.runs / self->cut.merged_runs, states,
               self->cut.tiles * self->tile_bytes);
    return finish(self, &tile, workspace, states);
}
