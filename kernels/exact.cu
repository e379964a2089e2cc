/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "common/kernels.h"
#include "entry.cuh"

#include "exact/finish.cuh"
#include "exact/sum.cuh"

namespace KERNELS
{

const void *exact_flat(enum element input)
{
    switch (input) {
    case ELEMENT_FLOAT16:
        return KERNEL_ENTRY(exact_sum<float16>);
    case ELEMENT_BFLOAT16:
        return KERNEL_ENTRY(exact_sum<bfloat16>);
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(exact_sum<float>);
    case ELEMENT_FLOAT64:
        return KERNEL_ENTRY(exact_sum<double>);
    case ELEMENT_COMPLEX64:
        return KERNEL_ENTRY(exact_sum<complex<float>>);
    case ELEMENT_COMPLEX128:
        return KERNEL_ENTRY(exact_sum<complex<double>>);
    case ELEMENT_INT64:
        return KERNEL_ENTRY(exact_sum<int64_t>);
    case ELEMENT_UINT64:
        return KERNEL_ENTRY(exact_sum<uint64_t>);
    default:
        return nullptr;
    }
}

const void *exact_merging(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(exact_merge<ELEMENT_FLOAT32>);
    case ELEMENT_COMPLEX64:
        return KERNEL_ENTRY(exact_merge<ELEMENT_COMPLEX64>);
    case ELEMENT_COMPLEX128:
        return KERNEL_ENTRY(exact_merge<ELEMENT_COMPLEX128>);
    default:
        return KERNEL_ENTRY(exact_merge<ELEMENT_FLOAT64>);
    }
}

const void *exact_finishing()
{
    return KERNEL_ENTRY(exact_finish);
}

} // namespace KERNELS
