/* Instantiates the kernels of sums of products, and looks them up. */
#include "../entry.cuh"
#include "common/kernels.h"

#include "../dot.cuh"
#include "../exact/products.cuh"

namespace KERNELS
{

namespace
{

const void *exact_products_kernel(enum element input)
{
    if (input == ELEMENT_INT64 || input == ELEMENT_UINT64)
        return KERNEL_ENTRY(exact_products_of_any);
    return exact_floats::find(input, input, [](auto x, auto) {
        return KERNEL_ENTRY(exact_sum<product_terms<decltype(x)>>);
    });
}

/* Unsigned 64-bit sums of products have the same bits as signed ones. */
using dot_pairs = pairs<
    pair<ELEMENT_BOOL, ELEMENT_INT64>, pair<ELEMENT_INT8, ELEMENT_INT64>,
    pair<ELEMENT_INT16, ELEMENT_INT64>, pair<ELEMENT_INT32, ELEMENT_INT64>, pair<ELEMENT_INT64>,
    pair<ELEMENT_UINT8, ELEMENT_UINT64, int64_t>, pair<ELEMENT_UINT16, ELEMENT_UINT64, int64_t>,
    pair<ELEMENT_UINT32, ELEMENT_UINT64, int64_t>,
    pair<ELEMENT_UINT64, ELEMENT_UINT64, int64_t, int64_t>, pair<ELEMENT_FLOAT16, ELEMENT_FLOAT64>,
    pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT64>, pair<ELEMENT_FLOAT32, ELEMENT_FLOAT64>,
    pair<ELEMENT_FLOAT64>, pair<ELEMENT_COMPLEX64, ELEMENT_COMPLEX128>, pair<ELEMENT_COMPLEX128>>;

} // namespace

const void *products_kernel(kernel_key key)
{
    if (key.kind == KERNEL_EXACT_PRODUCTS)
        return exact_products_kernel(key.input);
    return dot_pairs::find(key.input, key.accumulator, [](auto in, auto acc) {
        return KERNEL_ENTRY(dot<decltype(in), decltype(acc)>);
    });
}

} // namespace KERNELS
