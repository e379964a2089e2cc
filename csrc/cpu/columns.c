/* Results with a constant stride between rows are folded as columns, one per lane. Adjacent columns
 * are folded in place. Others are first gathered into slabs: columns that are not adjacent, or
 * whose rows have no constant stride; rows, which are transposed; elements that must be converted;
 * and masked ones, which are replaced by a neutral value.
 *
 * Tall columns are divided into runs of rows, whose states merge as a tree. The length of runs
 * depends only on shapes and types, and so do the bits of sums. */
#include "cpu/columns.h"

#include "common/arithmetic.h"

enum {
    CACHE_LINE = 64,
    GATHER_BYTES = 16 << 10, /* bytes gathered at a time, approximately */
    TILE = 1 << 16,          /* elements per tile, approximately */
    FEW = 32,                /* tiles below which threads share runs, too */
    FEW_RUNS = 16,           /* that one thread folds */
    LEAST_RUN = 64,          /* rows, if runs are shared */
    RUNS = 256,              /* that are enough to share */
    POLL_INTERVAL = 1 << 26  /* elements between polls of the watch */
};

static uint64_t power_of_2_from(uint64_t n)
{
    return (uint64_t)1 << ceil_log2(n);
}

/* Divides columns evenly into tiles of at most `most`. */
static void divide_columns(struct columns *self, uint64_t most)
{
    self->cut.in_row = ceil_div(self->cut.row, most);
    self->cut.width =
        min_u64(ceil_div(ceil_div(self->cut.row, self->cut.in_row), CACHE_LINE) * CACHE_LINE, most);
    self->cut.in_row = ceil_div(self->cut.row, self->cut.width);
}

static uint64_t columns_max(const struct columns *self)
{
    return element_is_complex(self->plan->accumulator) ? SLAB_COLUMNS / 2 : SLAB_COLUMNS;
}

static uint64_t parts_max(const struct columns *self)
{
    return self->input.size == 1 && fold_is_indexed(self->plan->fold) ? SLAB_PARTS_NARROW
                                                                      : SLAB_PARTS;
}

/* Gathered elements fit in the L1 cache. */
static void describe_gathered(struct columns *self)
{
    const uint64_t n = self->plan->n, elements = GATHER_BYTES / self->input.size,
                   transposed = ceil_div(elements / n + 1, CACHE_LINE) * CACHE_LINE;
    const uint64_t most = columns_max(self);
    divide_columns(self, self->input.mode == COLUMNS_TRANSPOSED ? min_u64(most, transposed) : most);
    self->cut.run = power_of_2_from(min_u64(
        elements / min_u64(self->cut.width, self->cut.row) / SLAB_PART_ROWS + 1, parts_max(self)));
    const bool several = columns_gather_blocks(self->plan) && self->cut.in_row == 1;
    const uint64_t fitting = several ? min_u64(most, elements / n) / self->cut.row : 1;
    self->cut.group = min_u64(self->cut.blocks, fitting > 1 ? fitting : 1);
    if (self->cut.group > 1) /* a row of several blocks is moved */
        self->input.elements.tile_writer.transpose = self->input.mask.tile_writer.transpose = NULL;
}

/* Rows of few results would leave most lanes idle, so contiguous rows are treated as one longer
 * row, as long as that saves more than merging the additional states costs ("coalesced" in
 * benchmarks/tuning/host.json). A complex product treats its first element differently, and so
 * needs it in a row of its own. */
static uint64_t coalesced_of(const struct columns *self)
{
    enum { ENOUGH = 256, WANTED = 512, WORTH = 3 /* bytes of states per row */ };
    const struct plan *plan = self->plan;
    const struct columns_rows *elements = &self->input.elements, *mask = &self->input.mask;
    const bool needs_its_first = plan->fold == FOLD_prod && element_is_complex(plan->accumulator),
               apart = self->input.inner < plan->n;
    const uint64_t bytes = self->cut.row * self->input.size,
                   states = self->cut.row * self->width << fold_is_indexed(plan->fold);
    uint64_t coalesced = 1;
    if (bytes > ENOUGH || needs_its_first || apart || elements->column_stride <= 0 ||
        elements->row_stride != (int64_t)self->cut.row * elements->column_stride ||
        mask->row_stride != (int64_t)self->cut.row * mask->column_stride)
        return 1;
    while (2 * coalesced * bytes <= WANTED && 2 * coalesced * SLAB_PART_ROWS <= plan->n &&
           coalesced * coalesced * states <= WORTH * plan->n)
        coalesced *= 2;
    return coalesced;
}

static void describe_in_place(struct columns *self)
{
    const uint64_t n = self->plan->n / self->cut.coalesced,
                   most = n <= SLAB_PART_ROWS ? SLAB_COLUMNS_SHORT : columns_max(self);
    divide_columns(self, most);
    self->cut.run = parts_max(self);
    self->cut.group = self->cut.in_row > 1 ? 1 : min_u64(self->cut.blocks, most / self->cut.row);
    self->cut.group = min_u64(self->cut.group, TILE / (min_u64(n, TILE) * self->cut.row) + 1);
}

/* If tiles are few, threads share runs, which are then as short as reasonable. */
static void describe_runs(struct columns *self)
{
    const uint64_t parts = (uint64_t)1 << self->cut.parts.shift;
    self->cut.run = min_u64(self->cut.run, parts);
    const bool shared = self->cut.tiles < FEW || parts / self->cut.run > FEW_RUNS;
    if (shared && !self->input.gather) {
        const uint64_t piece =
                           TILE / SLAB_PART_ROWS / 2 / min_u64(self->cut.width, self->cut.row) + 1,
                       wanted = parts / RUNS > piece ? parts / RUNS : piece;
        self->cut.run =
            min_u64(self->cut.run, power_of_2_from(wanted > LEAST_RUN ? wanted : LEAST_RUN));
    }
    self->cut.runs = parts / self->cut.run;
    self->cut.merged_runs = shared ? 1 : self->cut.runs;
    while (shared && self->cut.merged_runs < min_u64(self->cut.runs, FEW_RUNS) &&
           self->cut.tiles * self->cut.runs / self->cut.merged_runs > RUNS)
        self->cut.merged_runs *= 2;
}

/* A tile's results may be contiguous, and there may be no states to merge. */
static void describe_results(struct columns *self)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->outer - 1;
    const struct slab_loop *const loop =
        self->input.convert || axes->reduced.mask ? NULL : columns_loop_to_results(self->tiles.job);
    self->dense = self->cut.coalesced == 1 && self->cut.row == axes->shape[inner] &&
                  axes->places[inner] == 1 &&
                  (self->cut.group == 1 || axes->places[inner - 1] == (int64_t)self->cut.row);
    self->direct = loop && self->cut.runs == 1 && self->dense;
    if (self->direct) {
        self->loop = loop;
        self->checks = columns_check_nan(self->plan);
        self->width = element_size(self->plan->finish.result);
        self->divisor = reduction_row(self->plan->reduction)->counts ? (double)self->plan->n : 0;
    }
}

static void describe_workspace(struct columns *self)
{
    const uint64_t columns = self->cut.group * min_u64(self->cut.width, self->cut.row),
                   rows = min_u64(self->cut.run * SLAB_PART_ROWS, self->plan->n);
    self->tile_bytes = tiles_aligned(columns * self->width);
    self->gathered = tiles_aligned(slab_workspace(self->loop, columns, self->cut.run));
    self->unconverted = self->gathered +
                        (self->input.gather ? tiles_aligned(rows * columns * self->input.size) : 0);
    self->counts = self->unconverted +
                   (self->input.convert ? tiles_aligned(rows * columns * self->input.stored) : 0);
    self->valid = self->counts + (self->counted ? tiles_aligned(columns * sizeof(uint32_t)) : 0);
    /* the last row's lanes may read a group beyond it */
    self->states =
        self->valid +
        (self->axes->reduced.mask ? tiles_aligned(rows * columns + self->loop->step) : 0);
    self->tiles.workspace = self->states + self->cut.merged_runs * self->tile_bytes;
}

static void find_loop(struct columns *self)
{
    const struct cpu_kernels *kernels = cpu_kernels(self->tiles.job->instructions);
    const struct layout *layout = self->plan->layout;
    bool converted;
    self->loop = columns_loop(self->tiles.job, &converted);
    self->input.stored = self->input.size = element_size(layout->input);
    if (converted) {
        self->input.convert = kernels->convert(layout->input, layout->type);
        self->input.size = element_size(self->plan->accumulator);
    }
    self->input.fill = kernels->fill(self->input.size);
    self->input.gather =
        self->input.convert || layout->mask || self->input.mode != COLUMNS_IN_PLACE;
    self->counted = layout->mask && self->plan->counts;
    self->input.takes_mask = columns_take_mask(self->plan);
    if (layout->mask && !self->input.takes_mask)
        columns_fill_value(self->plan->fold,
                           self->input.convert ? self->plan->accumulator : layout->input,
                           &self->input.fill_value);
}

static uint64_t pieces_of(const struct columns *self)
{
    return self->cut.runs / self->cut.merged_runs;
}

/* Storing results costs nothing if they are stored together. */
static void describe_tiles(struct columns *self)
{
    const struct plan *plan = self->plan;
    const bool stored = self->direct && !self->checks && !element_is_complex(plan->layout->input);
    const uint64_t elements = plan->n * self->axes->results,
                   tiles = self->cut.tiles * pieces_of(self);
    self->tiles.sharing = sharing_of(plan->fold, plan->layout->input,
                                     self->input.gather ? GATHERS_TILES : GATHERS_NOTHING, true,
                                     elements, stored ? 0 : self->axes->results);
    self->tiles.poll_interval = ceil_div(POLL_INTERVAL, elements / tiles + 1);
    self->tiles.common = pieces_of(self) > 1 ? tiles * self->tile_bytes : 0;
}

/* Blocks are the elements of the dimension before a row's first. */
static void describe_rows(struct columns *self, unsigned first)
{
    const struct cpu_kernels *kernels = cpu_kernels(self->tiles.job->instructions);
    const struct axes *axes = self->axes;
    const struct layout *reduced = &axes->reduced;
    const unsigned inner = axes->outer - 1, dimensions = reduced->dimensions;
    struct columns_rows *elements = &self->input.elements, *mask = &self->input.mask;
    elements->row_stride = dimensions ? reduced->strides[dimensions - 1] : 0;
    elements->column_stride = axes->strides[inner];
    elements->block_stride = first ? axes->strides[first - 1] : 0;
    elements->tile_writer.move = gather_mover(self->tiles.job->instructions, reduced, false);
    if (self->input.mode == COLUMNS_TRANSPOSED)
        elements->tile_writer.transpose = kernels->transpose(self->input.stored);
    elements->tile_writer.end = axes_data_end(axes);
    self->input.inner = dimensions > 1 ? reduced->shape[dimensions - 1] : self->plan->n;
    if (!reduced->mask)
        return;
    mask->row_stride = dimensions ? reduced->mask_strides[0] : 0;
    mask->column_stride = axes->mask_strides[inner];
    mask->block_stride = first ? axes->mask_strides[first - 1] : 0;
    mask->tile_writer.move = kernels->move(1, 1, false);
    if (mask->row_stride == 1 && mask->column_stride > 0)
        mask->tile_writer.transpose = kernels->transpose(1);
}

static void describe(struct columns *self, struct job *job)
{
    const struct axes *axes = job->plan->axes;
    *self = (struct columns){.plan = job->plan, .axes = axes, .tiles.job = job};
    self->input.mode = columns_mode(job->plan);
    find_loop(self);
    self->merge = merge_pairs_loop(self->plan->fold, self->plan->accumulator);
    self->width = state_bytes(self->plan->fold, self->plan->accumulator);
    const struct merged_row row = columns_merged(axes);
    self->cut.row = row.columns;
    self->cut.blocks = row.blocks;
    describe_rows(self, row.first);
    self->cut.coalesced = coalesced_of(self);
    self->cut.row *= self->cut.coalesced;
    self->cut.parts = slab_parts_of(self->plan->n / self->cut.coalesced);
    if (self->input.gather)
        describe_gathered(self);
    else
        describe_in_place(self);
    self->cut.groups = ceil_div(self->cut.blocks, self->cut.group);
    self->cut.tiles = axes->results / (self->cut.row / self->cut.coalesced * self->cut.blocks) *
                      self->cut.groups * self->cut.in_row;
    describe_runs(self);
    describe_results(self);
    describe_workspace(self);
    describe_tiles(self);
}

/* ---- running ---- */

static bool explain(const struct columns *self)
{
    static const char *const ways[][2] = {
        [COLUMNS_IN_PLACE] = {"in place", "converted first"},
        [COLUMNS_GATHERED] = {"gathered first", "gathered and converted first"},
        [COLUMNS_TRANSPOSED] = {"turned first", "transposed and converted first"}};
    const uint64_t tiles = self->tiles.sharing.pieces > 1 ? self->cut.tiles * pieces_of(self) : 1;
    return tiles_explain(self->tiles.job,
                         (struct loops){.results = RESULTS_INTERLEAVED,
                                        .way = ways[self->input.mode][self->input.convert != NULL]},
                         tiles);
}

bool columns_run(struct job *job)
{
    struct columns self;
    describe(&self, job);
    return job->run->explanation
               ? explain(&self)
               : tiles_process(&self.tiles, self.cut.tiles, pieces_of(&self), "partials",
                               columns_fold_tile, columns_fold_shared_runs, columns_finish_tile,
                               &self);
}
