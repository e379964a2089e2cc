/* Results whose elements lie at one distance are folded side by side, a lane for each. What is
 * ready for that is folded where it lies: neighbouring columns. The rest is brought into that order
 * first, a slab at a time: columns that do not lie side by side, or rows, which are turned; what no
 * loop takes as it is, which is converted; and what has a mask, for what that hides becomes what
 * changes nothing.
 *
 * Tall columns are folded in runs of rows, whose states merge as a tree. How long runs are follows
 * from shapes and types alone, and so do the bits of sums. */
#include "host/columns.h"

#include "common/arithmetic.h"
#include "host/columns_spot.h"
#include "host/hidden.h"
#include "host/sharing.h"

#include <stdlib.h>

enum {
    CACHE_LINE = 64,
    BROUGHT = 16 << 10, /* bytes that are gathered at a time, about */
    PIECE = 1 << 16,    /* elements that a thread takes at a time, about */
    FEW = 32,           /* spots that are shared among threads by their runs */
    FEW_RUNS = 16,      /* that one thread folds */
    LEAST_RUN = 64,     /* rows, where runs are shared */
    RUNS = 256,         /* that are enough to share */
    STRETCH = 1 << 26   /* elements between two thoughts of the watch */
};

static int64_t magnitude(int64_t stride)
{
    return stride < 0 ? -stride : stride;
}

static bool lie_side_by_side(const struct axes *axes)
{
    return axes->strides[axes->kept - 1] == (int64_t)element_size(axes->reduced.input);
}

/* Whether a result's elements are no farther from each other than from its neighbour's. */
static bool are_rows(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    const int64_t below = reduced->dimensions ? reduced->strides[0] : 0;
    return !lie_side_by_side(axes) && magnitude(below) <= axes->strides[axes->kept - 1];
}

static enum columns_way way_of(const struct axes *axes)
{
    if (axes->reduced.swapped)
        return COLUMNS_MOVED;
    if (lie_side_by_side(axes))
        return COLUMNS_IN_PLACE;
    return are_rows(axes) ? COLUMNS_TURNED : COLUMNS_MOVED;
}

static fold_slab *loop_by(const struct job *job, enum fold fold, enum element input,
                          enum element state)
{
#define LOOPS(name) SLAB_LOOP(name),
    static fold_slab *(*const sets[])(enum fold, enum element,
                                      enum element) = {INSTRUCTION_SETS(LOOPS)};
#undef LOOPS
    return sets[job->instructions](fold, input, state);
}

/* What registers have no lanes for is folded state by state, where that pays: few rows of many. */
static fold_slab *states_loop(const struct job *job, enum element type)
{
#define LOOPS(name) STATES_LOOP(name),
    static fold_slab *(*const sets[])(enum fold, enum element) = {INSTRUCTION_SETS(LOOPS)};
#undef LOOPS
    enum { WIDE = 64 };
    const struct axes *axes = job->plan->axes;
    const bool pays = job->plan->n <= SLAB_PART_ROWS && axes->shape[axes->kept - 1] >= WIDE;
    return pays ? sets[job->instructions](job->plan->fold, type) : NULL;
}

static fold_slab *loop_from(const struct job *job, enum element input, enum element state)
{
    fold_slab *const loop = loop_by(job, job->plan->fold, input, state);
    return loop || input != state ? loop : states_loop(job, state);
}

static fold_slab *loop_to(const struct job *job, enum element state)
{
    return loop_from(job, job->plan->layout->input, state);
}

/* Whether what hidden elements become has to be the worst of a wider type than theirs, which
 * initial= may be of: theirs would be better than that. */
static bool hides_worse(const struct plan *plan)
{
    return plan->layout->mask && (plan->fold == FOLD_min || plan->fold == FOLD_max);
}

/* What takes elements as they are; NULL: they have to be converted. */
static fold_slab *loop_of(const struct job *job)
{
    const struct plan *plan = job->plan;
    const enum element input = plan->layout->input, type = plan->layout->type;
    const bool as_they_are = type == input || (type == plan->accumulator && !hides_worse(plan));
    return as_they_are ? loop_to(job, plan->accumulator) : NULL;
}

static fold_slab *loop_of_converted(const struct job *job)
{
    return loop_from(job, job->plan->accumulator, job->plan->accumulator);
}

/* Whether any element is true is their largest truth value, whether all are the smallest. */
static fold_slab *loop_to_truths(const struct job *job)
{
    const struct plan *plan = job->plan;
    const enum fold fold = plan->reduction == REDUCTION_any ? FOLD_max : FOLD_min;
    return plan->finish.result == ELEMENT_BOOL
               ? loop_by(job, fold, plan->layout->input, ELEMENT_BOOL)
               : NULL;
}

/* Where there is nothing but NaN, that has to be said. */
static bool is_best_number(const struct plan *plan)
{
    return plan->fold == FOLD_nanmin || plan->fold == FOLD_nanmax;
}

static bool is_its_state(const struct plan *plan)
{
    return reduction_is_stored(plan->reduction) || is_best_number(plan);
}

/* Where results are what a state is, or that divided, and need nothing else; NULL: they do. Loops
 * divide sums of floats alone: a mean that is to be an integer is divided before it is cast. */
static fold_slab *loop_to_results(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const bool divided = reduction_row(plan->reduction)->counts &&
                         (plan->fold != FOLD_sum || element_is_integer(finish->result));
    const bool narrow =
        finish->result == plan->layout->input && (plan->fold == FOLD_min || plan->fold == FOLD_max);
    if (finish->has_initial || !finish->from_nothing || finish->result != plan->results.types[0])
        return NULL;
    if (plan->fold == FOLD_nonzero)
        return loop_to_truths(job);
    if (!is_its_state(plan) || divided || element_is_complex(finish->result))
        return NULL;
    return finish->result == plan->accumulator || narrow ? loop_to(job, finish->result) : NULL;
}

/* Columns always, whatever is beside them: so all results of an array are folded in one order,
 * which that of other arrays may differ from, where rows are taken for one. Rows that are short are
 * turned sooner than folded one by one. */
static bool pays(const struct plan *plan)
{
    enum { LONG_BYTES = 256, SHORT = 16, NEAR = 4, LONG_NEAR = 63, LONG_APART = 256 };
    const struct axes *axes = plan->axes;
    const int64_t size = (int64_t)element_size(plan->layout->input),
                  stride = axes->reduced.dimensions ? axes->reduced.strides[0] : size;
    if (!are_rows(axes))
        return true;
    if (stride == size)
        return axes->reduced.swapped ? plan->n <= SHORT : plan->n * (uint64_t)size <= LONG_BYTES;
    return plan->n <= (stride > 0 && stride <= NEAR * size ? LONG_NEAR : LONG_APART);
}

/* Whether results need not know what their mask hides, or only how much. */
static bool may_hide(const struct plan *plan)
{
    union scalar nothing;
    return (!plan->counts || (plan->fold == FOLD_sum && plan->n <= UINT32_MAX)) &&
           hidden_becomes(plan->fold, plan->accumulator, &nothing);
}

bool columns_suit(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct axes *axes = plan->axes;
    if (axes->kept == 0 || axes->results <= 1 || plan->n == 0 || axes->reduced.dimensions > 1)
        return false;
    return (!plan->layout->mask || may_hide(plan)) && pays(plan) &&
           (loop_of(job) || loop_of_converted(job));
}

static uint64_t power_of_2_from(uint64_t n)
{
    uint64_t power = 1;
    while (power < n)
        power *= 2;
    return power;
}

/* Columns of a tile, in even shares. */
static void cut_columns(struct columns *self, uint64_t most)
{
    self->tiles = divide_up(self->row, most);
    self->tile = least(divide_up(divide_up(self->row, self->tiles), CACHE_LINE) * CACHE_LINE, most);
    self->tiles = divide_up(self->row, self->tile);
}

static uint64_t columns_most(const struct columns *self)
{
    return element_is_complex(self->plan->accumulator) ? SLAB_COLUMNS / 2 : SLAB_COLUMNS;
}

static uint64_t parts_most(const struct columns *self)
{
    return self->size == 1 && fold_is_indexed(self->plan->fold) ? SLAB_PARTS_OF_BYTES : SLAB_PARTS;
}

/* What is gathered fits in the nearest cache. */
static void describe_brought(struct columns *self)
{
    const uint64_t n = self->plan->n, elements = BROUGHT / self->size,
                   turned = divide_up(elements / n + 1, CACHE_LINE) * CACHE_LINE;
    const uint64_t most = columns_most(self);
    cut_columns(self, self->way == COLUMNS_TURNED ? least(most, turned) : most);
    self->run = power_of_2_from(
        least(elements / least(self->tile, self->row) / SLAB_PART_ROWS + 1, parts_most(self)));
    self->group = 1;
}

/* Whether a result's first element counts for something else than others do, so that it has to be
 * in a row of its own. */
static bool needs_its_first(const struct plan *plan)
{
    return plan->fold == FOLD_prod && element_is_complex(plan->accumulator);
}

/* Rows of few results leave most of a register's lanes idle: where they lie one after the other,
 * several are taken for one, in whichever byte order, as long as that saves more rows than it costs
 * states that merge. On an EPYC, microseconds with 4 rows for one and with one alone, 64 rows of
 * each block: argmax of (4096, 64, 64) of float16 7100 and 930, its maximum 2300 and 530, sums of
 * (16384, 64, 8) of it 490 and 1160. */
static uint64_t folded_of(const struct columns *self)
{
    enum { ENOUGH = 256, WANTED = 512, WORTH = 3 /* bytes of states a row */ };
    const uint64_t bytes = self->row * self->size,
                   states = self->row * self->width << fold_is_indexed(self->plan->fold);
    uint64_t folded = 1;
    if (bytes > ENOUGH || needs_its_first(self->plan) || self->column_stride <= 0 ||
        self->row_stride != (int64_t)self->row * self->column_stride ||
        self->mask_row_stride != (int64_t)self->row * self->mask_column_stride)
        return 1;
    while (2 * folded * bytes <= WANTED && 2 * folded * SLAB_PART_ROWS <= self->plan->n &&
           folded * folded * states <= WORTH * self->plan->n)
        folded *= 2;
    return folded;
}

static void fold_rows(struct columns *self)
{
    self->folded = folded_of(self);
    self->row *= self->folded;
    self->row_stride *= (int64_t)self->folded;
    self->mask_row_stride *= (int64_t)self->folded;
    self->parts = slab_parts_of(self->plan->n / self->folded);
}

static void describe_in_place(struct columns *self)
{
    const uint64_t n = self->plan->n / self->folded,
                   most = n <= SLAB_PART_ROWS ? SLAB_COLUMNS_OF_PART : columns_most(self);
    cut_columns(self, most);
    self->run = parts_most(self);
    self->group = self->tiles > 1 ? 1 : least(self->blocks, most / self->row);
    self->group = least(self->group, PIECE / (least(n, PIECE) * self->row) + 1);
}

/* Few spots are shared by runs that are no longer than need be. */
static void describe_runs(struct columns *self)
{
    const uint64_t parts = (uint64_t)1 << self->parts.shift;
    self->run = least(self->run, parts);
    self->shared = self->spots < FEW || parts / self->run > FEW_RUNS;
    if (self->shared && !self->brings) {
        const uint64_t piece = PIECE / SLAB_PART_ROWS / 2 / least(self->tile, self->row) + 1,
                       wanted = parts / RUNS > piece ? parts / RUNS : piece;
        self->run = least(self->run, power_of_2_from(wanted > LEAST_RUN ? wanted : LEAST_RUN));
    }
    self->runs = parts / self->run;
    self->shared = self->shared && self->runs > 1;
    self->together = 1;
    while (self->shared && self->together < least(self->runs, FEW_RUNS) &&
           self->spots * self->runs / self->together > RUNS)
        self->together *= 2;
}

/* States that threads leave of a spot whose runs they share. */
static uint64_t shares_of(const struct columns *self)
{
    return self->runs / self->together;
}

static uint64_t spots_of(const struct columns *self)
{
    return self->axes->results / (self->row / self->folded * self->blocks) * self->groups *
           self->tiles;
}

static size_t aligned(size_t bytes)
{
    return divide_up(bytes, CACHE_LINE) * CACHE_LINE;
}

/* Results of a spot lie one after the other, and there is nothing to merge. */
static void describe_results(struct columns *self)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->kept - 1;
    fold_slab *const fold = self->convert || axes->reduced.mask ? NULL : loop_to_results(self->job);
    self->direct = fold && self->runs == 1 && self->folded == 1 && axes->places[inner] == 1 &&
                   (self->group == 1 || axes->places[inner - 1] == (int64_t)self->row);
    if (self->direct) {
        self->fold = fold;
        self->tells = is_best_number(self->plan);
        self->width = element_size(self->plan->finish.result);
        self->divisor = reduction_row(self->plan->reduction)->counts ? (double)self->plan->n : 0;
    }
}

static void describe_bench(struct columns *self)
{
    const uint64_t columns = least(self->tile, self->row),
                   rows = least(self->run * SLAB_PART_ROWS, self->plan->n);
    self->spot_bytes = aligned(self->group * columns * self->width);
    self->brought = SLAB_ROOM;
    self->unconverted = self->brought + (self->brings ? aligned(rows * columns * self->size) : 0);
    self->counts =
        self->unconverted + (self->convert ? aligned(rows * columns * self->input_size) : 0);
    self->states = self->counts + (self->counted ? aligned(columns * sizeof(uint32_t)) : 0);
    self->bench_bytes =
        self->states + (self->shared ? self->together : self->runs) * self->spot_bytes;
}

/* What a core's own cache holds comes by itself. On an EPYC, sums of 16 MiB, microseconds with
 * nothing, 0.5, 2, 4 and 8 KiB asked for ahead: 8 rows of float32 770, 470, 280, 430, 710; 64 of
 * float64 730, 460, 490, 580, 690; 4096 of float32 420, 400, 480, 510, 490. Of 1 MiB, 8 rows of
 * float64: 25, 32, 34, 30, 37. */
static size_t ahead_of(const struct columns *self)
{
    enum { CACHED = 1 << 20, AHEAD_OF_PART = 2 << 10, AHEAD = 512 };
    const uint64_t n = self->plan->n;
    if (n * self->axes->results * self->size <= CACHED)
        return 0;
    return n <= SLAB_PART_ROWS ? AHEAD_OF_PART : AHEAD;
}

static void find_movers(struct columns *self)
{
#define MOVERS(name)  MOVER(name),
#define TURNERS(name) TURNER(name),
    static move_tile *(*const movers[])(size_t, size_t, bool) = {INSTRUCTION_SETS(MOVERS)};
    static turn_rows *(*const turners[])(size_t) = {INSTRUCTION_SETS(TURNERS)};
#undef MOVERS
#undef TURNERS
    const struct layout *layout = &self->axes->reduced;
    const size_t part = layout->swapped ? element_size(element_real_part(layout->input)) : 1;
    self->move = movers[self->job->instructions](self->input_size, part, false);
    self->turn = turners[self->job->instructions](self->input_size);
}

static void find_loop(struct columns *self)
{
#define CONVERTERS(name) CONVERTER(name),
    static convert_elements *(*const converters[])(enum element,
                                                   enum element) = {INSTRUCTION_SETS(CONVERTERS)};
#undef CONVERTERS
    const struct layout *layout = self->plan->layout;
    self->fold = loop_of(self->job);
    self->input_size = self->size = element_size(layout->input);
    if (!self->fold) {
        self->fold = loop_of_converted(self->job);
        self->convert = converters[self->job->instructions](layout->input, layout->type);
        self->size = element_size(self->plan->accumulator);
    }
    self->brings = self->convert || layout->mask || self->way != COLUMNS_IN_PLACE;
    self->counted = layout->mask && self->plan->counts;
    if (layout->mask)
        hidden_becomes(self->plan->fold, self->convert ? self->plan->accumulator : layout->input,
                       &self->nothing);
}

static void describe(struct columns *self)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->kept - 1;
    self->way = way_of(axes);
    find_loop(self);
    self->merge = loop_of_pairs(self->plan->fold, self->plan->accumulator);
    self->width = state_bytes(self->plan->fold, self->plan->accumulator);
    self->row_stride = axes->reduced.dimensions ? axes->reduced.strides[0] : 0;
    self->column_stride = axes->strides[inner];
    if (axes->reduced.mask) {
        self->mask_row_stride = axes->reduced.dimensions ? axes->reduced.mask_strides[0] : 0;
        self->mask_column_stride = axes->mask_strides[inner];
    }
    self->row = axes->shape[inner];
    self->blocks = inner ? axes->shape[inner - 1] : 1;
    self->block_stride = inner ? axes->strides[inner - 1] : 0;
    self->end = axes_end(axes);
    self->ahead = ahead_of(self);
    fold_rows(self);
    find_movers(self);
    if (self->brings)
        describe_brought(self);
    else
        describe_in_place(self);
    self->groups = divide_up(self->blocks, self->group);
    self->spots = spots_of(self);
    describe_runs(self);
    describe_results(self);
    describe_bench(self);
}

/* ---- all of them ---- */

static uint64_t elements_of(const struct columns *self)
{
    return self->plan->n * self->axes->results;
}

/* What a result takes beside its elements: nothing where it is stored with its neighbours. */
static uint64_t results_made(const struct columns *self)
{
    const struct plan *plan = self->plan;
    const bool stored = self->direct && !self->tells && !element_is_complex(plan->layout->input);
    return stored ? 0 : self->axes->results;
}

static struct sharing sharing_of_all(const struct columns *self)
{
    const struct plan *plan = self->plan;
    return sharing_along(plan->fold, plan->layout->input,
                         self->brings ? BRINGS_TILES : BRINGS_NOTHING, elements_of(self),
                         results_made(self));
}

static bool run_pieces(struct job *job, struct columns *self, uint64_t pieces, threads_piece *piece)
{
    const uint64_t each = elements_of(self) / pieces + 1;
    return sharing_run(sharing_of_all(self), job, pieces, divide_up(STRETCH, each), &self->start,
                       piece, self);
}

static bool run_all(struct job *job, struct columns *self)
{
    if (!self->shared)
        return run_pieces(job, self, self->spots, columns_fold_spot);
    if (!run_pieces(job, self, self->spots * shares_of(self), columns_fold_shared_runs))
        return false;
    threads_run(&job->threads, self->spots, true, columns_finish_spot, self);
    return true;
}

static uint64_t pieces_of(const struct columns *self)
{
    return self->shared ? self->spots * shares_of(self) : self->spots;
}

bool columns_run(struct job *job)
{
    struct columns self = {.job = job, .plan = job->plan, .axes = job->plan->axes};
    describe(&self);
    const size_t benches = threads_for(&job->threads, pieces_of(&self)) * self.bench_bytes,
                 partials = self.shared ? pieces_of(&self) * self.spot_bytes : 0;
    self.benches = aligned_alloc(CACHE_LINE, benches + partials);
    if (!self.benches) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self.partials = self.benches + benches;
    const bool folded = run_all(job, &self);
    job->run->findings |= self.findings;
    free(self.benches);
    return folded;
}

void columns_explain(const struct job *job, struct loops *loops)
{
    static const char *const ways[][2] = {
        [COLUMNS_IN_PLACE] = {"as they lie", "converted first"},
        [COLUMNS_MOVED] = {"gathered first", "gathered first, and converted"},
        [COLUMNS_TURNED] = {"turned first", "turned first, and converted"}};
    struct columns self = {.job = job, .plan = job->plan, .axes = job->plan->axes};
    describe(&self);
    const uint64_t pieces = sharing_of_all(&self).pieces > 1 ? pieces_of(&self) : 1;
    *loops = (struct loops){.way = ways[self.way][self.convert != NULL],
                            .threads = threads_for(&job->threads, pieces),
                            .instructions = instructions_name(job->instructions)};
}
