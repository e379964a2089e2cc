/* Kernels other than rungs, and the one function by which the host's C code finds any kernel: it
 * asks the compilation unit that has the kernels of that kind and fold. */
#include "../entry.cuh"
#include "../epilogue/finish.cuh"
#include "../load/read.cuh"
#include "../load/working_copy.cuh"
#include "common/kernels.h"

namespace KERNELS
{

using finder = const void *(kernel_key);

#define FOLD(name, ...) finder name##_kernel;
#include "common/reductions.def"

/* The folds that typed.cu compiles. */
#define TYPED_FOLDS(FOLD) FOLD(sum) FOLD(prod) FOLD(min) FOLD(argmin) FOLD(variance) FOLD(nonzero)

#define TYPED(name) finder name##_columns_kernel, name##_rows_kernel;
TYPED_FOLDS(TYPED)
#undef TYPED
finder later_kernel, segments_kernel, exact_kernel, keys_kernel, products_kernel;

bool segments_can_overlap();

#ifdef __CUDACC__
library_reduce *library_entry(enum fold, enum element input, enum element accumulator);
#else
/* The simulated device has no library. */
static library_reduce *library_entry(enum fold, enum element, enum element)
{
    return nullptr;
}
#endif

namespace
{

/* Kernels of flat arrays, and of any layout and type. */
const void *fold_kernel(kernel_key key)
{
    static finder *const finders[] = {
#define FOLD(name, ...) name##_kernel,
#include "common/reductions.def"
    };
    if (key.kind == KERNEL_FLAT && (key.method == METHOD_bulk || key.method == METHOD_cluster))
        return later_kernel(key);
    return finders[key.fold](key);
}

/* The fold that computes an extreme: all are minima (axes/order.cuh), and those of booleans follow
 * from the number of true values. */
enum fold fold_of_extreme(enum fold fold, enum element input)
{
    switch (fold) {
    case FOLD_min:
    case FOLD_max:
        return input == ELEMENT_BOOL ? FOLD_nonzero : FOLD_min;
    case FOLD_argmax:
        return FOLD_argmin;
    case FOLD_nanargmax:
        return FOLD_nanargmin;
    case FOLD_nanmax:
        return FOLD_nanmin;
    default:
        return fold;
    }
}

/* Kernels along axes of a known element type. */
const void *typed_kernel(kernel_key key)
{
    const bool rows = key.kind >= KERNEL_TYPED_ROWS;
    key.fold = fold_of_extreme(key.fold, key.input);
    switch (key.fold) {
#define TYPED(name)                                                                                \
    case FOLD_##name:                                                                              \
        return rows ? name##_rows_kernel(key) : name##_columns_kernel(key);
        TYPED_FOLDS(TYPED)
#undef TYPED
    default:
        return fold_kernel(key);
    }
}

const void *read_kernel(unsigned shape)
{
    static const void *const entries[READ_SHAPES] = {KERNEL_ENTRY(read<2>), KERNEL_ENTRY(read<4>),
                                                     KERNEL_ENTRY(read<8>)};
    return entries[shape];
}

/* Kernels of no particular fold. */
const void *other_kernel(kernel_key key)
{
    switch (key.kind) {
    case KERNEL_MERGE:
        return KERNEL_ENTRY(merge_in_order);
    case KERNEL_COPY_FLAT:
        return pairs_of_rungs<true>::find(key.input, key.accumulator, [](auto in, auto acc) {
            return KERNEL_ENTRY(flat_copy<decltype(in), decltype(acc)>);
        });
    case KERNEL_COPY_GATHERED:
        return KERNEL_ENTRY(gathered_copy);
    case KERNEL_FINISH:
        return KERNEL_ENTRY(finish_on_device);
    case KERNEL_STORE:
        return KERNEL_ENTRY(store);
    case KERNEL_COUNT:
        return KERNEL_ENTRY(count_unmasked);
    case KERNEL_WRITE:
        return KERNEL_ENTRY(write);
    case KERNEL_READ:
        return read_kernel(key.variant);
    default:
        return nullptr;
    }
}

/* The unit that has each range of kinds, given by the last kind of the range. */
const void *find(kernel_key key)
{
    static const struct {
        enum kernel_kind last;
        finder *kernel;
    } units[] = {{KERNEL_FEW, fold_kernel},
                 {KERNEL_BATCH_INVARIANT, typed_kernel},
                 {KERNEL_SEGMENTS, segments_kernel},
                 {KERNEL_STORE, other_kernel},
                 {KERNEL_EXACT_COLUMNS, exact_kernel},
                 {KERNEL_SELECT, keys_kernel},
                 {KERNEL_DOT, products_kernel},
                 {KERNEL_READ, other_kernel}};
    auto unit = units;
    while (unit->last < key.kind)
        unit++;
    return unit->kernel(key);
}

} // namespace
} // namespace KERNELS

const struct kernels GRED_TABLE = {KERNELS::find, nullptr, KERNELS::library_entry,
                                   KERNELS::segments_can_overlap};
