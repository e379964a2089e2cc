/* Instantiates the kernels that add products, and lists the addresses. */
#include "../entry.cuh"
#include "common/kernels.h"

#include "../dot.cuh"
#include "../exact/entry.cuh"
#include "../exact/products.cuh"

namespace KERNELS
{

namespace
{

const void *exact_sum_of_products(enum element input)
{
    if (input == ELEMENT_INT64 || input == ELEMENT_UINT64)
        return KERNEL_ENTRY(exact_products_of_any);
    return of_floating_input(
        input, [](auto x) { return KERNEL_ENTRY(exact_sum<product_terms<decltype(x)>>); });
}

const void *merging(enum fold fold, enum element accumulator)
{
    return exact_span_of_products(fold, accumulator).parts == EXACT_PARTS
               ? KERNEL_ENTRY(exact_merge<products_layout<EXACT_PARTS>>)
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
        return KERNEL_ENTRY(exact_finish<true>);
    default:
        return dot_of(key.input, key.accumulator);
    }
}

} // namespace KERNELS
