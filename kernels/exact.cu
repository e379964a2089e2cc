/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "common/kernels.h"
#include "entry.cuh"

#include "exact/along.cuh"

namespace KERNELS
{

namespace
{

template <class In>
struct flat_sum {
    static const void *entry()
    {
        return KERNEL_ENTRY(exact_sum<element_terms<In>>);
    }
};

template <class In>
struct along_rows {
    static const void *entry()
    {
        return KERNEL_ENTRY(exact_rows<In>);
    }
};

template <class In>
struct along_columns {
    static const void *entry()
    {
        return KERNEL_ENTRY(exact_columns<In>);
    }
};

template <template <class> class Kernel>
const void *of_input(enum element input)
{
    switch (input) {
    case ELEMENT_FLOAT16:
        return Kernel<float16>::entry();
    case ELEMENT_BFLOAT16:
        return Kernel<bfloat16>::entry();
    case ELEMENT_FLOAT32:
        return Kernel<float>::entry();
    case ELEMENT_FLOAT64:
        return Kernel<double>::entry();
    case ELEMENT_COMPLEX64:
        return Kernel<complex<float>>::entry();
    case ELEMENT_COMPLEX128:
        return Kernel<complex<double>>::entry();
    case ELEMENT_INT64:
        return Kernel<int64_t>::entry();
    case ELEMENT_UINT64:
        return Kernel<uint64_t>::entry();
    default:
        return nullptr;
    }
}

} // namespace

const void *exact_flat(enum element input)
{
    return of_input<flat_sum>(input);
}

const void *exact_along_rows(enum element input)
{
    return of_input<along_rows>(input);
}

const void *exact_along_columns(enum element input)
{
    return of_input<along_columns>(input);
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
