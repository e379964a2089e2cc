/* Decides which reductions are folded as columns, in which order, and by which loops. */
#include "cpu/columns.h"

/* Whether adjacent results have adjacent elements. */
static bool are_adjacent(const struct axes *axes)
{
    return axes->strides[axes->outer - 1] == (int64_t)element_size(axes->reduced.input);
}

struct merged_row columns_merged(const struct axes *axes)
{
    const unsigned inner = axes->outer - 1;
    struct merged_row row = {inner, axes->shape[inner], 1};
    for (; row.first > 0; row.first--) {
        const int64_t columns = (int64_t)row.columns;
        if (axes->strides[row.first - 1] != columns * axes->strides[inner] ||
            (axes->reduced.mask &&
             axes->mask_strides[row.first - 1] != columns * axes->mask_strides[inner]))
            break;
        row.columns *= axes->shape[row.first - 1];
    }
    row.blocks = row.first ? axes->shape[row.first - 1] : 1;
    return row;
}

bool columns_take_mask(const struct plan *plan)
{
    return plan->layout->mask && fold_state_has_count(plan->fold);
}

bool columns_gather_blocks(const struct plan *plan)
{
    return plan->n <= SLAB_PART_ROWS;
}

/* The most columns that a tile may have. */
static uint64_t tile_columns_max(const struct plan *plan)
{
    const struct merged_row row = columns_merged(plan->axes);
    return columns_gather_blocks(plan) ? row.columns * row.blocks : row.columns;
}

/* Whether rows of several reduced dimensions, gathered run by run, are worthwhile: with many
 * adjacent columns, or few rows. */
static bool are_wide(const struct plan *plan)
{
    enum { WIDE = 16 };
    return (columns_gather_blocks(plan) || are_adjacent(plan->axes)) &&
           tile_columns_max(plan) >= WIDE;
}

/* Whether a result has several elements, no farther from each other than from its neighbor's. */
static bool are_rows(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    return reduced->dimensions && !are_adjacent(axes) &&
           (int64_t)stride_magnitude(reduced->strides[0]) <= axes->strides[axes->outer - 1];
}

/* Whether so few columns are adjacent, in tall rows that do not follow each other, that each is
 * folded alone ("apart" in benchmarks/tuning/host.json), if the order makes no difference. */
static bool are_apart(const struct plan *plan)
{
    enum { COLUMNS = 3 };
    const struct axes *axes = plan->axes;
    const uint64_t columns = columns_merged(axes).columns;
    const bool in_any_order = fold_is_extreme(plan->fold) || fold_is_indexed(plan->fold) ||
                              element_is_integer(plan->accumulator);
    return in_any_order && are_adjacent(axes) && columns <= COLUMNS && plan->n > SLAB_PART_ROWS &&
           axes->reduced.strides[0] > (int64_t)(columns * element_size(axes->reduced.input));
}

/* Whether blocks are so small that several are gathered together even if columns are adjacent
 * ("narrow" in benchmarks/tuning/host.json). */
static bool is_narrow(const struct plan *plan)
{
    enum { ROWS = 4, BYTES = 64 };
    const struct merged_row row = columns_merged(plan->axes);
    return columns_gather_blocks(plan) && plan->n <= ROWS && row.blocks > 1 &&
           row.columns * element_size(plan->layout->input) <= BYTES;
}

enum columns_mode columns_mode(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    if (axes->reduced.swapped || axes->reduced.dimensions > 1)
        return COLUMNS_GATHERED;
    if (are_rows(axes))
        return COLUMNS_TRANSPOSED;
    return are_adjacent(axes) && !is_narrow(plan) ? COLUMNS_IN_PLACE : COLUMNS_GATHERED;
}

/* Complex types without a vectorized loop are folded state by state in few, wide rows only. */
static const struct slab_loop *loop_from(const struct job *job, enum element input,
                                         enum element state)
{
    enum { WIDE = 64 };
    const struct plan *plan = job->plan;
    const bool pays = plan->n <= SLAB_PART_ROWS && columns_merged(plan->axes).columns >= WIDE;
    return cpu_kernels(job->instructions)
        ->columns(plan->fold, input, state, pays, columns_take_mask(plan));
}

/* Masked elements of extremes become the accumulator's worst value, because initial= may be worse
 * than that of the elements' own type. */
const struct slab_loop *columns_loop(const struct job *job, bool *converted)
{
    const struct plan *plan = job->plan;
    const enum element input = plan->layout->input, type = plan->layout->type,
                       state = plan->accumulator;
    const bool fills_with_worst =
        plan->layout->mask && (plan->fold == FOLD_min || plan->fold == FOLD_max);
    const struct slab_loop *const direct =
        type == input || (type == state && !fills_with_worst) ? loop_from(job, input, state) : NULL;
    *converted = !direct;
    return direct ? direct : loop_from(job, state, state);
}

bool columns_check_nan(const struct plan *plan)
{
    return plan->fold == FOLD_nanmin || plan->fold == FOLD_nanmax;
}

/* States of sums, products and extremes are results. Loops divide only sums of floats, since an
 * integer mean is divided before it is cast. any is the maximum of truth values, and all the
 * minimum. */
const struct slab_loop *columns_loop_to_results(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const enum element input = plan->layout->input;
    const bool divided = reduction_row(plan->reduction)->counts &&
                         (plan->fold != FOLD_sum || element_is_integer(finish->result)),
               extreme = plan->fold == FOLD_min || plan->fold == FOLD_max,
               narrow = extreme && finish->result == input,
               product = plan->fold == FOLD_prod || plan->fold == FOLD_nanprod,
               truth = extreme && input == ELEMENT_BOOL && !divided,
               any = plan->fold == FOLD_max || plan->reduction == REDUCTION_any;
    if (finish->has_initial || !finish->includes_identity ||
        finish->result != plan->results.types[0])
        return NULL;
    if (plan->fold == FOLD_nonzero || truth)
        return finish->result == ELEMENT_BOOL
                   ? cpu_kernels(job->instructions)
                         ->columns(any ? FOLD_max : FOLD_min, input, ELEMENT_BOOL, false, false)
                   : NULL;
    if (!(reduction_is_stored(plan->reduction) || product || columns_check_nan(plan)) || divided ||
        element_is_complex(finish->result))
        return NULL;
    return finish->result == plan->accumulator || narrow ? loop_from(job, input, finish->result)
                                                         : NULL;
}

/* True columns always are, so that all results of an array are folded in the same order; the order
 * may differ between arrays whose rows are coalesced or not. Short rows are transposed rather than
 * folded one by one, unless there are few of them ("transposed", "few rows", "few side by side" and
 * "masked" in benchmarks/tuning/host.json). */
static bool is_worthwhile(const struct plan *plan)
{
    enum {
        LONG = 192, /* bytes of rows that are not transposed */
        LONG_SWAPPED = 16,
        LONG_MASKED = 128,
        LONG_POSITIONS = 4096, /* elements, with a mask */
        LONG_NEAR = 63,        /* up to a stride of NEAR elements */
        LONG_APART = 256,
        NEAR = 4,
        FEW_MASKED = 15,   /* too few rows to transpose masks */
        NARROW_COLUMNS = 8 /* columns of blocks too narrow for tall columns */
    };
    const struct axes *axes = plan->axes;
    const int64_t size = (int64_t)element_size(plan->layout->input);
    const uint64_t n = plan->n;
    if (axes->reduced.dimensions > 1)
        return !axes->reduced.mask && are_wide(plan);
    if (!are_rows(axes))
        return !are_apart(plan);
    const int64_t stride = axes->reduced.strides[0];
    const struct merged_row row = columns_merged(axes);
    if (n > SLAB_PART_ROWS && row.blocks > 1 &&
        row.columns <= (stride == size ? 2 * NARROW_COLUMNS : NARROW_COLUMNS))
        return false;
    if (stride == size && axes->reduced.swapped)
        return n <= LONG_SWAPPED;
    if (stride == size && axes->reduced.mask)
        return n <= (fold_is_indexed(plan->fold) ? LONG_POSITIONS : LONG_MASKED) &&
               tile_columns_max(plan) > min_u64(n, FEW_MASKED);
    if (stride == size)
        return n * (uint64_t)size < LONG && n < tile_columns_max(plan);
    return n <= (stride > 0 && stride <= NEAR * size ? LONG_NEAR : LONG_APART);
}

/* Masked results are suitable if masked elements can be replaced, or if loops take the mask. */
bool columns_preferred(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct axes *axes = plan->axes;
    union scalar fill_value;
    bool converted;
    if (axes->outer == 0 || axes->results <= 1 || plan->n == 0 || plan->launch.batch_invariant)
        return false;
    if (plan->layout->mask && !columns_take_mask(plan) &&
        ((plan->counts && (plan->fold != FOLD_sum || plan->n > UINT32_MAX)) ||
         !columns_fill_value(plan->fold, plan->accumulator, &fill_value)))
        return false;
    return is_worthwhile(plan) && columns_loop(job, &converted);
}
