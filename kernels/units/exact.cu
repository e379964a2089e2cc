/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "../entry.cuh"
#include "common/kernels.h"

#include "../exact/along.cuh"

namespace KERNELS
{

namespace
{

const void *merging(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(exact_merge<narrow_layout<1>>);
    case ELEMENT_COMPLEX64:
        return KERNEL_ENTRY(exact_merge<narrow_layout<EXACT_PARTS>>);
    case ELEMENT_COMPLEX128:
        return KERNEL_ENTRY(exact_merge<wide_layout<EXACT_PARTS>>);
    default:
        return KERNEL_ENTRY(exact_merge<wide_layout<1>>);
    }
}

} // namespace

const void *exact_kernel(kernel_key key)
{
    using inputs = joined_pairs<pairs<pair<ELEMENT_INT64>, pair<ELEMENT_UINT64>>, exact_floats>;
    if (key.kind == KERNEL_EXACT_MERGE)
        return merging(key.accumulator);
    if (key.kind == KERNEL_EXACT_FINISH)
        return KERNEL_ENTRY(exact_finish<false>);
    return inputs::find(key.input, key.input, [&](auto x, auto) {
        using In = decltype(x);
        return key.kind == KERNEL_EXACT_ROWS      ? KERNEL_ENTRY(exact_rows<In>)
               : key.kind == KERNEL_EXACT_COLUMNS ? KERNEL_ENTRY(exact_columns<In>)
                                                  : KERNEL_ENTRY(exact_sum<element_terms<In>>);
    });
}

} // namespace KERNELS
