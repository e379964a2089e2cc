/* The kernels of sums by key: one of the values that elements become without being rounded. */
#include "../entry.cuh"
#include "../keys/finish.cuh"
#include "../keys/keys.cuh"
#include "common/kernels.h"

namespace KERNELS
{

const void *keys_kernel(kernel_key key)
{
    if (key.kind == KERNEL_KEYS_FINISH)
        return KERNEL_ENTRY(finish_by_key);
    switch (key.accumulator) {
    case ELEMENT_FLOAT32:
        return KERNEL_ENTRY(add_by_key<float>);
    case ELEMENT_FLOAT64:
        return KERNEL_ENTRY(add_by_key<double>);
    default:
        return KERNEL_ENTRY(add_by_key<int64_t>);
    }
}

} // namespace KERNELS
