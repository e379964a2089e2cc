/* The kernels beside the rungs, and the table through which the host's C code finds all of them. */
#include "common/kernels.h"
#include "count.cuh"
#include "entry.cuh"
#include "finish.cuh"
#include "merge.cuh"
#include "read.cuh"
#include "store.cuh"
#include "typed.cuh"
#include "unpack.cuh"
#include "working_copy.cuh"

namespace KERNELS
{

#define DECLARE_FOLD(name)                                                                         \
    const void *name##_flat(enum method_index, enum element input, enum element accumulator,       \
                            unsigned block);                                                       \
    const void *name##_strided(enum method_index, enum element input, enum element accumulator);   \
    const void *name##_along(enum element input, enum element accumulator);                        \
    const void *name##_few(enum element input, enum element accumulator);                          \
    const void *name##_columns(enum element input, enum element accumulator)
DECLARE_FOLD(sum);
DECLARE_FOLD(prod);
DECLARE_FOLD(min);
DECLARE_FOLD(max);

/* The groups of folds.cu. */
#define EACH_GROUP(GROUP, ...)                                                                     \
    GROUP(argmins, __VA_ARGS__)                                                                    \
    GROUP(argmaxs, __VA_ARGS__)                                                                    \
    GROUP(ranges, __VA_ARGS__)                                                                     \
    GROUP(nonzeros, __VA_ARGS__)                                                                   \
    GROUP(norms, __VA_ARGS__)                                                                      \
    GROUP(infinity_norms, __VA_ARGS__)                                                             \
    GROUP(nan_sums, __VA_ARGS__)                                                                   \
    GROUP(nan_extremes, __VA_ARGS__)                                                               \
    GROUP(moments, __VA_ARGS__)

using group_entry = const void *(enum fold, enum element input, enum element accumulator);
#define DECLARE_GROUP(group, ...)                                                                  \
    group_entry group##_flat, group##_strided, group##_along, group##_few, group##_columns;
EACH_GROUP(DECLARE_GROUP)

using typed_entry = const void *(enum typed_kernel, enum element input, enum element accumulator,
                                 bool apart);
typed_entry sum_typed, min_typed, max_typed, argmin_typed, argmax_typed, variance_typed,
    nonzero_typed;

const void *later_flat(enum fold, enum method_index, enum element input, enum element accumulator);

bool segments_follow();
const void *segments_survey();
const void *segments_tiles(enum fold, enum element input, enum element accumulator, bool scans);
const void *segments_each(enum fold, enum element input, enum element accumulator);

const void *exact_flat(enum element input);
const void *exact_merging(enum element accumulator);
const void *exact_finishing();
const void *exact_along_rows(enum element input);
const void *exact_along_columns(enum element input);
const void *exact_products(enum element input);
const void *exact_products_merging(enum fold, enum element accumulator);
const void *exact_products_finishing();
const void *dot_of(enum element input, enum element accumulator);

library_reduce *library_entry(enum fold, enum element input, enum element accumulator);

namespace
{

enum { ON_LADDER = FOLD_max + 1 };

#define FOLDS_OF(what)        {sum_##what, prod_##what, min_##what, max_##what}
#define ENTRY_OF(group, what) group##_##what,
#define GROUPS_OF(what)       {EACH_GROUP(ENTRY_OF, what)}

template <size_t Groups>
const void *first_of(group_entry *const (&groups)[Groups], enum fold fold, enum element input,
                     enum element accumulator)
{
    for (group_entry *group : groups)
        if (const void *entry = group(fold, input, accumulator))
            return entry;
    return nullptr;
}

const void *flat_entry(enum fold fold, enum method_index method, enum element input,
                       enum element accumulator, unsigned block)
{
    static decltype(&sum_flat) const of_fold[ON_LADDER] = FOLDS_OF(flat);
    static group_entry *const of_group[] = GROUPS_OF(flat);
    if (method == METHOD_bulk || method == METHOD_cluster)
        return later_flat(fold, method, input, accumulator);
    if (fold_is_on_ladder(fold))
        return of_fold[fold](method, input, accumulator, block);
    if (method != METHOD_last_block)
        return nullptr;
    return first_of(of_group, fold, input, accumulator);
}

const void *strided_entry(enum fold fold, enum method_index method, enum element input,
                          enum element accumulator)
{
    static decltype(&sum_strided) const of_fold[ON_LADDER] = FOLDS_OF(strided);
    static group_entry *const of_group[] = GROUPS_OF(strided);
    if (fold_is_on_ladder(fold))
        return of_fold[fold](method, input, accumulator);
    if (method != METHOD_last_block)
        return nullptr;
    return first_of(of_group, fold, input, accumulator);
}

#define ALONG_AXES(what)                                                                           \
    const void *what##_entry(enum fold fold, enum element input, enum element accumulator)         \
    {                                                                                              \
        static decltype(&sum_##what) const of_fold[ON_LADDER] = FOLDS_OF(what);                    \
        static group_entry *const of_group[] = GROUPS_OF(what);                                    \
        if (fold_is_on_ladder(fold))                                                               \
            return of_fold[fold](input, accumulator);                                              \
        return first_of(of_group, fold, input, accumulator);                                       \
    }
ALONG_AXES(along)
ALONG_AXES(few)
ALONG_AXES(columns)

const void *typed_of(enum typed_kernel kernel, enum fold fold, enum element input,
                     enum element accumulator, bool apart)
{
    switch (fold) {
#define TYPED(name)                                                                                \
    case FOLD_##name:                                                                              \
        return name##_typed(kernel, input, accumulator, apart);
        TYPED(sum)
        TYPED(nonzero)
        TYPED(min) TYPED(max) TYPED(argmin) TYPED(argmax) TYPED(variance) default : return nullptr;
    }
}

template <enum typed_kernel Kernel>
const void *typed_entry_of(enum fold fold, enum element input, enum element accumulator, bool apart)
{
    return typed_of(Kernel, fold, input, accumulator, apart);
}

const void *lone_columns_entry(enum fold fold, enum element input, enum element accumulator)
{
    return typed_of(TYPED_LONE_COLUMNS, fold, input, accumulator, false);
}

const void *copy_flat_entry(enum element input, enum element accumulator)
{
    if (input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return KERNEL_ENTRY(flat_copy<int32_t, int64_t>);
    if (input != accumulator)
        return nullptr;
    switch (input) {
    case ELEMENT_INT32:
        return KERNEL_ENTRY(flat_copy<int32_t, int32_t>);
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return KERNEL_ENTRY(flat_copy<int64_t, int64_t>);
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(flat_copy<float, float>);
    case ELEMENT_FLOAT64:
        return KERNEL_ENTRY(flat_copy<double, double>);
    default:
        return nullptr;
    }
}

const void *copy_gathered_entry()
{
    return KERNEL_ENTRY(gathered_copy);
}

const void *merge_entry()
{
    return KERNEL_ENTRY(merge_few);
}

const void *finish_entry()
{
    return KERNEL_ENTRY(finish_on_device);
}

const void *store_entry()
{
    return KERNEL_ENTRY(store);
}

const void *count_entry()
{
    return KERNEL_ENTRY(count_selected);
}

const void *unpack_entry()
{
    return KERNEL_ENTRY(unpack);
}

const void *read_entry(unsigned shape)
{
    static const void *const entries[READ_SHAPES] = {KERNEL_ENTRY(read<2>), KERNEL_ENTRY(read<4>),
                                                     KERNEL_ENTRY(read<8>)};
    return entries[shape];
}

} // namespace
} // namespace KERNELS

const struct kernels GRED_TABLE = {
    KERNELS::flat_entry,
    KERNELS::strided_entry,
    KERNELS::along_entry,
    KERNELS::few_entry,
    KERNELS::columns_entry,
    KERNELS::typed_entry_of<KERNELS::TYPED_COLUMNS>,
    KERNELS::lone_columns_entry,
    KERNELS::typed_entry_of<KERNELS::TYPED_ROWS>,
    KERNELS::typed_entry_of<KERNELS::TYPED_SHORT_ROWS>,
    KERNELS::segments_follow,
    KERNELS::segments_survey,
    KERNELS::segments_tiles,
    KERNELS::segments_each,
    KERNELS::merge_entry,
    KERNELS::library_entry,
    KERNELS::copy_flat_entry,
    KERNELS::copy_gathered_entry,
    KERNELS::finish_entry,
    KERNELS::store_entry,
    KERNELS::exact_flat,
    KERNELS::exact_merging,
    KERNELS::exact_finishing,
    KERNELS::exact_along_rows,
    KERNELS::exact_along_columns,
    KERNELS::exact_products,
    KERNELS::exact_products_merging,
    KERNELS::exact_products_finishing,
    KERNELS::dot_of,
    KERNELS::count_entry,
    KERNELS::unpack_entry,
    KERNELS::read_entry,
};
