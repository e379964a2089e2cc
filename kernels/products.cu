/* Instantiates the kernels that add products, and lists the addresses. */
#include "common/kernels.h"
#include "entry.cuh"

#include "dot.cuh"
#include "exact/products.cuh"

namespace KERNELS
{

namespace
{

const void *exact_sum_of_products(enum element input)
{
    switch (input) {
    case ELEMENT_FLOAT16:
        return KERNEL_ENTRY(exact_products_sum<float16>);
    case ELEMENT_BFLOAT16:
        return KERNEL_ENTRY(exact_products_sum<bfloat16>);
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(exact_products_sum<float>);
    case ELEMENT_FLOAT64:
        return KERNEL_ENTRY(exact_products_sum<double>);
    case ELEMENT_COMPLEX64:
        return KERNEL_ENTRY(exact_products_sum<complex<float>>);
    case ELEMENT_COMPLEX128:
        return KERNEL_ENTRY(exact_products_sum<complex<double>>);
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return KERNEL_ENTRY(exact_products_of_any);
    default:
        return nullptr;
    }
}

const void *merging(enum fold fold, enum element accumulator)
{
    return exact_products_have_parts(fold, accumulator)
               ? KERNEL_ENTRY(exact_merge<products_layout<2>>)
               : KERNEL_ENTRY(exact_merge<products_layout<1>>);
}

#define DOT(IN, In, ACC, Acc) {ELEMENT_##IN, ELEMENT_##ACC, KERNEL_ENTRY(dot<In, Acc>)}

/* Unsigned 64-bit sums of products are the same bits as signed ones. */
const void *dot_of(enum element input, enum element accumulator)
{
    static const struct {
        enum element input, accumulator;
        const void *kernel;
    } entries[] = {
        DOT(BOOL, boolean, INT64, int64_t),
        DOT(INT8, int8_t, INT64, int64_t),
        DOT(INT16, int16_t, INT64, int64_t),
        DOT(INT32, int32_t, INT64, int64_t),
        DOT(INT64, int64_t, INT64, int64_t),
        DOT(UINT8, uint8_t, UINT64, int64_t),
        DOT(UINT16, uint16_t, UINT64, int64_t),
        DOT(UINT32, uint32_t, UINT64, int64_t),
        DOT(UINT64, int64_t, UINT64, int64_t),
        DOT(FLOAT16, float16, FLOAT64, double),
        DOT(BFLOAT16, bfloat16, FLOAT64, double),
        DOT(FLOAT32, float, FLOAT64, double),
        DOT(FLOAT64, double, FLOAT64, double),
        DOT(COMPLEX64, complex<float>, COMPLEX128, complex<double>),
        DOT(COMPLEX128, complex<double>, COMPLEX128, complex<double>),
    };
    for (const auto &entry : entries)
        if (entry.input == input && entry.accumulator == accumulator)
            return entry.kernel;
    return nullptr;
}

} // namespace

const void *products_kernel(kernel_key key)
{
    switch (key.kind) {
    case KERNEL_EXACT_PRODUCTS:
        return exact_sum_of_products(key.input);
    case KERNEL_EXACT_PRODUCTS_MERGE:
        return merging(key.fold, key.accumulator);
    case KERNEL_EXACT_PRODUCTS_FINISH:
        return KERNEL_ENTRY(exact_products_finish);
    default:
        return dot_of(key.input, key.accumulator);
    }
}

} // namespace KERNELS
