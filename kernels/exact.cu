/* Instantiates the kernels of exact sums, and lists the addresses. */
#include "common/kernels.h"
#include "entry.cuh"

#include "exact/along.cuh"
#include "exact/finish.cuh"
#include "exact/sum.cuh"

namespace KERNELS
{

namespace
{

template <class In>
struct flat_sum {
    static const void *entry()
    {
        return KERNEL_ENTRY(exact_sum<In>);
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

const void *merging(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(exact_merge<exact_layout<ELEMENT_FLOAT32>>);
    case ELEMENT_COMPLEX64:
        return KERNEL_ENTRY(exact_merge<exact_layout<ELEMENT_COMPLEX64>>);
    case ELEMENT_COMPLEX128:
        return KERNEL_ENTRY(exact_merge<exact_layout<ELEMENT_COMPLEX128>>);
    default:
        return KERNEL_ENTRY(exact_merge<exact_layout<ELEMENT_FLOAT64>>);
    }
}

} // namespace

const void *exact_kernel(kernel_key key)
{
    switch (key.kind) {
    case KERNEL_EXACT_FLAT:
        return of_input<flat_sum>(key.input);
    case KERNEL_EXACT_ROWS:
        return of_input<along_rows>(key.input);
    case KERNEL_EXACT_COLUMNS:
        return of_input<along_columns>(key.input);
    case KERNEL_EXACT_MERGE:
        return merging(key.accumulator);
    default:
        return KERNEL_ENTRY(exact_finish);
    }
}

} // namespace KERNELS
