#include "schedule/launch_config.h"

/* ---- which kernel ---- */

/* Whether columns of short batches, as `config` reads them, are not read faster from shared memory:
 * aligned ones of more than a few rows, of narrow elements or of small arrays, and tall ones of
 * narrow elements in rows of some loads. cases/staged_batches. */
static bool reads_batches(const struct launch_problem *problem, const struct launch_config *config)
{
    enum { ROWS = 3, NARROW = 2, SMALL = 128 << 10 /* bytes per multiprocessor */ };
    enum { LOADS_BYTES = 64, TALL = 32 /* of bytes, and four times as many of 2 bytes */ };
    const struct axes *axes = problem->axes;
    const uint64_t size = element_bytes(axes), n = elements_per_result(axes),
                   row_bytes = size * axes->shape[axes->outer - 1];
    if (config->kernel == KERNEL_UNSPLIT_COLUMNS && !config->column.shifted)
        return n > ROWS || size <= NARROW ||
               axes->results * n * size < problem->multiprocessors * (uint64_t)SMALL;
    return size <= NARROW && n > TALL * size * size && row_bytes >= LOADS_BYTES;
}

/* Columns. Short batches are staged. Small arrays use the strided kernel; so do larger ones if
 * threads would share columns, since merging takes longer. */
static bool launch_columns(const struct launch_problem *problem, bool strided,
                           struct launch_config *config)
{
    const struct axes_tuning *tuning = &tuned->axes;
    struct launch_config one_by_one, staged;
    const bool columns =
        launch_has(problem, KERNEL_TYPED_COLUMNS) && launch_typed_columns(problem, config);
    if (!(columns && reads_batches(problem, config)) && launch_staged_batches(problem, &staged)) {
        *config = staged;
        return true;
    }
    if (!columns)
        return false;
    const bool shares = config->team > 0 || config->splits > 1;
    if (strided && config->kernel == KERNEL_TYPED_COLUMNS &&
        launch_small(problem, shares ? tuning->shared : tuning->unshared, &one_by_one))
        *config = one_by_one;
    return true;
}

/* Results of one element each: in registers, staged if elements are wide, or as unsplit columns,
 * unless these are in batches or wide and misaligned (cases/changed_rules). */
static bool launch_single_elements(const struct launch_problem *problem,
                                   struct launch_config *config)
{
    enum { NARROW = 2 };
    const uint64_t size = element_bytes(problem->axes);
    return elements_per_result(problem->axes) == 1 &&
           ((launch_has(problem, KERNEL_TYPED_SHORT_ROWS) && launch_short_rows(problem, config) &&
             (config->row.packed || size >= sizeof(uint64_t))) ||
            (launch_has(problem, KERNEL_UNSPLIT_COLUMNS) && problem->axes->outer == 1 &&
             launch_typed_columns(problem, config) && config->kernel == KERNEL_UNSPLIT_COLUMNS &&
             (!config->column.shifted || size <= NARROW)));
}

void launch_config_choose(const struct launch_problem *problem, struct launch_config *config)
{
    const bool strided = launch_has(problem, KERNEL_TYPED_STRIDED);
    if (problem->batch_invariant) {
        if (!launch_batch_invariant(problem, config))
            launch_any_type_invariant(problem, config);
        return;
    }
    if ((strided && launch_small(problem, tuned->axes.strided, config)) ||
        launch_single_elements(problem, config) ||
        (launch_has(problem, KERNEL_TYPED_SHORT_ROWS) && launch_short_rows(problem, config)) ||
        (launch_has(problem, KERNEL_TYPED_ROWS) && launch_long_rows(problem, config)) ||
        launch_columns(problem, strided, config) || (strided && launch_strided(problem, config)))
        return;
    launch_any_type(problem, config);
}

enum kernel_access launch_access(const struct launch_config *self)
{
    const bool strided = self->kernel == KERNEL_TYPED_SHORT_ROWS
                             ? self->row.dimensions > 0
                             : self->kernel == KERNEL_TYPED_ROWS && self->step > 1;
    return strided ? ACCESS_STRIDED : ACCESS_ALIGNED;
}

/* If the splits' partial results are merged in two steps: one counter per group and one for all. */
uint64_t launch_tickets(const struct launch_config *self)
{
    const uint64_t few = self->kernel == KERNEL_TYPED_COLUMNS ? self->column.split_group : 0;
    return few ? self->groups * (1 + ceil_div(self->splits, few)) : self->groups;
}

const char *launch_name(const struct launch_config *self)
{
    static const char *const names[] = {
        [KERNEL_TYPED_SHORT_ROWS] = "short rows",     [KERNEL_TYPED_ROWS] = "long rows",
        [KERNEL_UNSPLIT_COLUMNS] = "unsplit columns", [KERNEL_TYPED_COLUMNS] = "columns",
        [KERNEL_TYPED_STRIDED] = "one by one",        [KERNEL_BATCH_INVARIANT] = "batch invariant",
        [KERNEL_FEW] = "few elements each",           [KERNEL_EXACT_ROWS] = "exact rows",
        [KERNEL_EXACT_COLUMNS] = "exact columns",
    };
    const char *name = names[self->kernel];
    return name ? name : self->across ? "side by side" : "rows";
}

/* ---- properties of axes ---- */

bool axes_rows_are_contiguous(const struct axes *axes, uint64_t row_bytes)
{
    const struct layout *reduced = &axes->reduced;
    const bool row =
        reduced->dimensions == 0 ||
        (reduced->dimensions == 1 && reduced->strides[0] == (int64_t)element_size(reduced->input));
    return row && !reduced->mask && axes->outer > 0 &&
           (uint64_t)axes->strides[axes->outer - 1] == row_bytes;
}

bool axes_are_interleaved(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (axes->outer == 0 || reduced->dimensions == 0)
        return false;
    const uint64_t own = stride_magnitude(reduced->strides[reduced->dimensions - 1]),
                   other = stride_magnitude(axes->strides[axes->outer - 1]);
    return other != 0 && (own == 0 || other < own);
}

unsigned axes_columns_per_result(const struct axes *axes, bool indexed)
{
    enum { INNER_MAX = 4096, NARROW = 4 };
    const struct layout *reduced = &axes->reduced;
    const int64_t size = (int64_t)element_bytes(axes);
    const unsigned last = reduced->dimensions - 1;
    if (axes->outer == 0 || reduced->dimensions == 0 || reduced->mask)
        return 0;
    if (axes->strides[axes->outer - 1] == size)
        return axes_are_interleaved(axes);
    const uint64_t inner = reduced->shape[last];
    const bool are_adjacent = reduced->dimensions > 1 && reduced->strides[last] == size &&
                              axes->strides[axes->outer - 1] == (int64_t)inner * size;
    return !indexed && are_adjacent && size <= NARROW && inner <= INNER_MAX ? (unsigned)inner : 0;
}

uint64_t axes_row_alignment_bits(const struct axes *axes, uintptr_t data, unsigned excluded)
{
    uint64_t bits = data;
    for (unsigned k = 0; k + excluded < axes->outer; k++)
        bits |= (uint64_t)axes->strides[k];
    return bits;
}

/* ---- tuning of columns ---- */

bool axes_are_small(const struct launch_problem *problem)
{
    const struct axes *axes = problem->axes;
    return axes->results * elements_per_result(axes) * element_bytes(axes) <
           (uint64_t)problem->multiprocessors * tuned->axes.small;
}

/* ---- rows ---- */

unsigned rows_slots(enum element accumulator)
{
    return trailing_zeros(SLOTS_BYTES / element_size(accumulator));
}

unsigned rows_lanes(uint64_t length, enum element accumulator)
{
    const unsigned slots = rows_slots(accumulator);
    unsigned lanes = 0;
    while (lanes < WARP && (length - 1) >> (lanes + slots))
        lanes++;
    return lanes;
}

/* How a layout is read by groups of 2^lanes threads in stretches of 2^windows times their loads.
 * Slots of whole words hold several narrow elements. Which elements a thread reads depends on their
 * alignment, unless results are batch invariant. */
static void rows_in_lanes(const struct layout *layout, uint64_t base, enum element accumulator,
                          unsigned lanes, unsigned windows, bool batch_invariant,
                          struct kernel_stretches *rows)
{
    enum { LOAD_BYTES = 4 }; /* log2 */
    const unsigned inner = layout->dimensions - 1, slots = rows_slots(accumulator);
    const uint64_t length = layout->shape[inner];
    const size_t size = element_size(layout->input), slot = element_size(accumulator);
    *rows = (struct kernel_stretches){.base = base, .bytes = trailing_zeros(size), .lanes = lanes};
    if (layout->strides[inner] == (int64_t)size && !batch_invariant) {
        rows->run = (unsigned)min_u64(LOAD_BYTES - rows->bytes, slots);
        if (size <= slot && slot <= sizeof(uint64_t))
            rows->packing = trailing_zeros(slot / size);
    }
    rows->stretch = slots + lanes + rows->packing + windows;
    rows->aligns = rows->run && length >> (slots + lanes);
    const uint64_t lead = rows->aligns ? ((1u << LOAD_BYTES) >> rows->bytes) - 1 : 0;
    rows->stretches = ceil_div(length + lead, (uint64_t)1 << rows->stretch);
    rows->items = layout_length(layout) / length * rows->stretches;
}

void rows_describe(struct kernel_rows *rows, uint64_t base, enum element accumulator)
{
    enum { WINDOWS_A_STRETCH = 2 };
    const uint64_t length = rows->from.shape[rows->from.dimensions - 1];
    rows_in_lanes(&rows->from, base, accumulator, rows_lanes(length, accumulator),
                  WINDOWS_A_STRETCH, false, &rows->how);
}

/* Threads share the rows of the longer dimension; each loops over the shorter one. */
static void put_longer_first(struct kernel_rows *rows)
{
    struct layout *from = &rows->from;
    if (from->shape[0] < from->shape[1]) {
        const uint64_t length = from->shape[0];
        const int64_t stride = from->strides[0];
        from->shape[0] = from->shape[1];
        from->strides[0] = from->strides[1];
        from->shape[1] = length;
        from->strides[1] = stride;
    }
    rows->how.items = from->shape[0];
}

/* A layout without dimensions becomes one of length 1, and an empty one has no items. The items of
 * columns are rows, without the dimension of a result's adjacent columns; of long rows, rows. */
void launch_rows(const struct launch_config *self, const struct axes *axes,
                 enum element accumulator, struct kernel_rows *rows)
{
    const struct column_tile *column = &self->column;
    struct layout *from = &rows->from;
    const uint64_t n = elements_per_result(axes);
    layout_copy(&axes->reduced, from);
    if (from->dimensions == 0)
        layout_make_flat(from, 1);
    if (n > 0)
        rows_in_lanes(from, 0, accumulator, self->lanes, self->windows, self->batch_invariant,
                      &rows->how);
    else
        rows->how = (struct kernel_stretches){.items = 0};
    if (n > 0 && self->batch_invariant && axes->runs > 1) {
        /* Each element is a stretch, so that merging dimensions makes no difference. */
        rows->how.stretch = 0;
        rows->how.stretches = from->shape[from->dimensions - 1];
        rows->how.items = layout_length(from);
    }
    switch (self->kernel) {
    case KERNEL_TYPED_COLUMNS:
    case KERNEL_UNSPLIT_COLUMNS:
        rows->how.items = n / self->inner / column->coalesced;
        rows->from.strides[0] *= column->coalesced;
        rows->from.dimensions -= self->inner > 1;
        if (rows->from.dimensions == 2)
            put_longer_first(rows);
        break;
    case KERNEL_TYPED_ROWS:
        rows->how.items = n / rows->from.shape[rows->from.dimensions - 1];
        break;
    default:
        break;
    }
}

/* ---- constants ---- */

const struct tuning measured = {
#define AXES(name, value, entry)       .axes.name = (value),
#define LONG_ROWS(name, value, entry)  .long_rows.name = (value),
#define SHORT_ROWS(name, value, entry) .short_rows.name = (value),
#define SEGMENTS(name, value, entry)   .segments.name = (value),
#include "schedule/tuning.def"
};

const struct tuning *tuned = &measured;
