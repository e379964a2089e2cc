/* Instantiates the kernels of exact sums, and looks them up. */
#include "../entry.cuh"
#include "common/kernels.h"

#include "../exact/along.cuh"
#include "../exact/finish.cuh"

namespace KERNELS
{

const void *exact_kernel(kernel_key key)
{
    using inputs = concat_pairs<pairs<pair<ELEMENT_INT64>, pair<ELEMENT_UINT64>>, exact_floats>;
    if (key.kind == KERNEL_EXACT_MERGE)
        return KERNEL_ENTRY(exact_merge);
    if (key.kind == KERNEL_EXACT_FINISH)
        return KERNEL_ENTRY(exact_finish);
    return inputs::find(key.input, key.input, [&](auto x, auto) {
        using In = decltype(x);
        return key.kind == KERNEL_EXACT_ROWS      ? KERNEL_ENTRY(exact_rows<In>)
               : key.kind == KERNEL_EXACT_COLUMNS ? KERNEL_ENTRY(exact_columns<In>)
                                                  : KERNEL_ENTRY(exact_sum<element_terms<In>>);
    });
}

} // namespace KERNELS
