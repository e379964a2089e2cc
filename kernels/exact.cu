/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "common/kernels.h"
#include "entry.cuh"

#include "exact/along.cuh"
#include "exact/entry.cuh"

namespace KERNELS
{

const void *exact_flat(enum element input)
{
    return of_input(input,
                    [](auto x) { return KERNEL_ENTRY(exact_sum<element_terms<decltype(x)>>); });
}

const void *exact_along_rows(enum element input)
{
    return of_input(input, [](auto x) { return KERNEL_ENTRY(exact_rows<decltype(x)>); });
}

const void *exact_along_columns(enum element input)
{
    return of_input(input, [](auto x) { return KERNEL_ENTRY(exact_columns<decltype(x)>); });
}

const void *exact_merging(enum element accumulator)
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

const void *exact_finishing()
{
    return KERNEL_ENTRY(exact_finish<false>);
}

} // namespace KERNELS
