/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "../entry.cuh"
#include "common/kernels.h"

#include "../exact/along.cuh"
#include "../exact/entry.cuh"

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
    switch (key.kind) {
    case KERNEL_EXACT_FLAT:
        return of_input(key.input,
                        [](auto x) { return KERNEL_ENTRY(exact_sum<element_terms<decltype(x)>>); });
    case KERNEL_EXACT_ROWS:
        return of_input(key.input, [](auto x) { return KERNEL_ENTRY(exact_rows<decltype(x)>); });
    case KERNEL_EXACT_COLUMNS:
        return of_input(key.input, [](auto x) { return KERNEL_ENTRY(exact_columns<decltype(x)>); });
    case KERNEL_EXACT_MERGE:
        return merging(key.accumulator);
    default:
        return KERNEL_ENTRY(exact_finish<false>);
    }
}

} // namespace KERNELS
