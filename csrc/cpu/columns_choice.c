/* Which results are folded side by side, in which columns, and by which loops. */
#include "cpu/columns.h"

/* Whether neighbouring results' elements are neighbours. */
static bool lie_together(const struct axes *axes)
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
    return plan->layout->mask && fold_tells_count(plan->fold);
}

bool columns_gather_blocks(const struct plan *plan)
{
    return plan->n <= SLAB_PART_ROWS && (!plan->axes->reduced.mask || columns_take_mask(plan));
}

/* Columns that a tile may have, if it were as wide. */
static uint64_t columns_together(const struct plan *plan)
{
    const struct merged_row row = columns_merged(plan->axes);
    return columns_gather_blocks(plan) ? row.columns * row.blocks : row.columns;
}

/* Rows of several dimensions are gathered one run after the other, where columns are many and lie
 * side by side, or rows are few. */
static bool are_wide(const struct plan *plan)
{
    enum { WIDE = 16 };
    return (columns_gather_blocks(plan) || lie_together(plan->axes)) &&
           columns_together(plan) >= WIDE;
}

/* Whether a result's elements, if there are several, are no farther from each other than from its
 * neighbour's. */
static bool are_rows(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    return reduced->dimensions && !lie_together(axes) &&
           (int64_t)layout_distance(reduced->strides[0]) <= axes->strides[axes->outer - 1];
}

/* Whether a block has so few elements that those of several are gathered even where they lie side
 * by side ("narrow" in benchmarks/tuning/host.json). */
static bool is_narrow(const struct plan *plan)
{
    enum { ROWS = 4, BYTES = 64 };
    const struct merged_row row = columns_merged(plan->axes);
    return columns_gather_blocks(plan) && plan->n <= ROWS && row.blocks > 1 &&
           row.columns * element_size(plan->layout->input) <= BYTES;
}

enum columns_way columns_way(const struct plan *plan)
{
    const struct axes *axes = plan->axes;
    if (axes->reduced.swapped || axes->reduced.dimensions > 1)
        return COLUMNS_MOVED;
    if (are_rows(axes))
        return COLUMNS_TRANSPOSED;
    return lie_together(axes) && !is_narrow(plan) ? COLUMNS_IN_PLACE : COLUMNS_MOVED;
}

/* What registers have no lanes for is folded state by state, where that pays: few rows of many. */
static const struct slab_loop *loop_from(const struct job *job, enum element input,
                                         enum element state)
{
    enum { WIDE = 64 };
    const struct plan *plan = job->plan;
    const bool pays = plan->n <= SLAB_PART_ROWS && columns_merged(plan->axes).columns >= WIDE;
    return cpu_kernels(job->instructions)
        ->columns(plan->fold, input, state, pays, columns_take_mask(plan));
}

/* What a mask hides of extremes becomes the worst of a wider type, which initial= may be of: that
 * of the elements' own would be better than that. */
const struct slab_loop *columns_loop(const struct job *job, bool *converted)
{
    const struct plan *plan = job->plan;
    const enum element input = plan->layout->input, type = plan->layout->type,
                       state = plan->accumulator;
    const bool fills_with_worst =
        plan->layout->mask && (plan->fold == FOLD_min || plan->fold == FOLD_max);
    const struct slab_loop *const own =
        type == input || (type == state && !fills_with_worst) ? loop_from(job, input, state) : NULL;
    *converted = !own;
    return own ? own : loop_from(job, state, state);
}

bool columns_are_best_numbers(const struct plan *plan)
{
    return plan->fold == FOLD_nanmin || plan->fold == FOLD_nanmax;
}

/* Loops divide sums of floats alone: a mean that is to be an integer is divided before it is cast.
 * Whether any element is true is their largest truth value, whether all are the smallest. */
const struct slab_loop *columns_loop_to_results(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const enum element input = plan->layout->input;
    const bool divided = reduction_row(plan->reduction)->counts &&
                         (plan->fold != FOLD_sum || element_is_integer(finish->result)),
               extreme = plan->fold == FOLD_min || plan->fold == FOLD_max,
               narrow = extreme && finish->result == input,
               truth = extreme && input == ELEMENT_BOOL && !divided,
               any = plan->fold == FOLD_max || plan->reduction == REDUCTION_any;
    if (finish->has_initial || !finish->from_nothing || finish->result != plan->results.types[0])
        return NULL;
    if (plan->fold == FOLD_nonzero || truth)
        return finish->result == ELEMENT_BOOL
                   ? cpu_kernels(job->instructions)
                         ->columns(any ? FOLD_max : FOLD_min, input, ELEMENT_BOOL, false, false)
                   : NULL;
    if (!(reduction_is_stored(plan->reduction) || columns_are_best_numbers(plan)) || divided ||
        element_is_complex(finish->result))
        return NULL;
    return finish->result == plan->accumulator || narrow ? loop_from(job, input, finish->result)
                                                         : NULL;
}

/* Columns always, whatever is beside them: so all results of an array are folded in one order,
 * which that of other arrays may differ from, where rows are taken for one. Rows that are short are
 * transposed sooner than folded one by one, unless few of them lie at one distance ("transposed",
 * "few rows", "few side by side" and "masked" in benchmarks/tuning/host.json). */
static bool pays(const struct plan *plan)
{
    enum {
        LONG = 192, /* bytes of a row that is not transposed, ... */
        LONG_SWAPPED = 16,
        LONG_MASKED = 128,
        LONG_POSITIONS = 4096, /* elements: under a mask, too */
        LONG_NEAR = 63,        /* up to NEAR elements apart */
        LONG_APART = 256,
        NEAR = 4,
        FEW_MASKED = 15, /* rows that are not worth their masks' transposition */
        BESIDE = 8       /* columns of a block that is too narrow for tall columns */
    };
    const struct axes *axes = plan->axes;
    const int64_t size = (int64_t)element_size(plan->layout->input);
    const uint64_t n = plan->n;
    if (axes->reduced.dimensions > 1)
        return !axes->reduced.mask && are_wide(plan);
    if (!are_rows(axes))
        return true;
    const int64_t stride = axes->reduced.strides[0];
    const struct merged_row row = columns_merged(axes);
    if (n > SLAB_PART_ROWS && row.blocks > 1 &&
        row.columns <= (stride == size ? 2 * BESIDE : BESIDE))
        return false;
    if (stride == size && axes->reduced.swapped)
        return n <= LONG_SWAPPED;
    if (stride == size && axes->reduced.mask)
        return n <= (fold_is_indexed(plan->fold) ? LONG_POSITIONS : LONG_MASKED) &&
               columns_together(plan) > least(n, FEW_MASKED);
    if (stride == size)
        return n * (uint64_t)size < LONG && n < columns_together(plan);
    return n <= (stride > 0 && stride <= NEAR * size ? LONG_NEAR : LONG_APART);
}

/* Of masked results, those that need not know what their mask hides, or only how much. */
bool columns_suit(const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct axes *axes = plan->axes;
    union scalar neutral;
    bool converted;
    if (axes->outer == 0 || axes->results <= 1 || plan->n == 0 || plan->launch.batch_invariant)
        return false;
    if (plan->layout->mask && !columns_take_mask(plan) &&
        ((plan->counts && (plan->fold != FOLD_sum || plan->n > UINT32_MAX)) ||
         !columns_neutral(plan->fold, plan->accumulator, &neutral)))
        return false;
    return pays(plan) && columns_loop(job, &converted);
}
