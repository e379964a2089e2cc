/* The kernels beside the rungs, and the one function through which the host's C code finds any
 * kernel: it asks the compilation unit that has kernels of that kind and fold. */
#include "../entry.cuh"
#include "../epilogue/finish.cuh"
#include "../epilogue/merge.cuh"
#include "../epilogue/store.cuh"
#include "../load/count.cuh"
#include "../load/read.cuh"
#include "../load/unpack.cuh"
#include "../load/working_copy.cuh"
#include "common/kernels.h"

namespace KERNELS
{

using finder = const void *(kernel_key);

#define FOLD(name, ...) finder name##_kernel;
#include "common/reductions.def"

finder sum_typed_kernel, prod_typed_kernel, min_typed_kernel, argmin_typed_kernel,
    variance_typed_kernel, nonzero_typed_kernel;
finder later_kernel, segments_kernel, exact_kernel, products_kernel;

bool segments_follow();
library_reduce *library_entry(enum fold, enum element input, enum element accumulator);

namespace
{

/* Flat arrays, and those of any layout. */
const void *fold_kernel(const kernel_key &key)
{
    static finder *const finders[] = {
#define FOLD(name, ...) name##_kernel,
#include "common/reductions.def"
    };
    if (key.kind == KERNEL_FLAT && (key.method == METHOD_bulk || key.method == METHOD_cluster))
        return later_kernel(key);
    return finders[key.fold](key);
}

/* Along axes, of the folds that know the elements' type. All extremes are minima (axes/order.cuh),
 * and those of truth values say whether there is a true one or a false one. */
const void *typed_kernel(kernel_key key)
{
    switch (key.fold) {
    case FOLD_sum:
        return sum_typed_kernel(key);
    case FOLD_prod:
        return prod_typed_kernel(key);
    case FOLD_min:
    case FOLD_max:
        return key.input == ELEMENT_BOOL ? nonzero_typed_kernel(key) : min_typed_kernel(key);
    case FOLD_argmin:
    case FOLD_argmax:
        return argmin_typed_kernel(key);
    case FOLD_nanmax:
        key.fold = FOLD_nanmin;
        return fold_kernel(key);
    case FOLD_variance:
        return variance_typed_kernel(key);
    case FOLD_nonzero:
        return nonzero_typed_kernel(key);
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

/* Of no fold in particular. */
const void *other_kernel(const kernel_key &key)
{
    switch (key.kind) {
    case KERNEL_MERGE:
        return KERNEL_ENTRY(merge_few);
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
        return KERNEL_ENTRY(count_selected);
    case KERNEL_UNPACK:
        return KERNEL_ENTRY(unpack);
    case KERNEL_READ:
        return read_kernel(key.variant);
    default:
        return nullptr;
    }
}

const void *find(kernel_key key)
{
    switch (key.kind) {
    case KERNEL_FLAT:
    case KERNEL_STRIDED:
    case KERNEL_ALONG:
    case KERNEL_FEW:
        return fold_kernel(key);
    case KERNEL_TYPED_COLUMNS:
    case KERNEL_UNSPLIT_COLUMNS:
    case KERNEL_TYPED_ROWS:
    case KERNEL_TYPED_SHORT_ROWS:
        return typed_kernel(key);
    case KERNEL_SURVEY:
    case KERNEL_TILES:
    case KERNEL_TILES_OF_STATES:
    case KERNEL_SEGMENTS:
        return segments_kernel(key);
    case KERNEL_EXACT_FLAT:
    case KERNEL_EXACT_MERGE:
    case KERNEL_EXACT_FINISH:
    case KERNEL_EXACT_ROWS:
    case KERNEL_EXACT_COLUMNS:
        return exact_kernel(key);
    case KERNEL_EXACT_PRODUCTS:
    case KERNEL_EXACT_PRODUCTS_MERGE:
    case KERNEL_EXACT_PRODUCTS_FINISH:
    case KERNEL_DOT:
        return products_kernel(key);
    default:
        return other_kernel(key);
    }
}

} // namespace
} // namespace KERNELS

const struct kernels GRED_TABLE = {KERNELS::find, nullptr, KERNELS::library_entry,
                                   KERNELS::segments_follow};
