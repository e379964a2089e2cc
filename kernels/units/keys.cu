/* The kernels of reductions by key: of sums and of extremes one of the values that elements become
 * without being rounded; and those of order statistics, one of each width of elements. */
#include "../entry.cuh"
#include "../keys/extremes.cuh"
#include "../keys/finish.cuh"
#include "../keys/select.cuh"
#include "../keys/sums.cuh"
#include "common/kernels.h"

namespace KERNELS
{
namespace
{

template <class V>
const void *of_values(enum kernel_kind kind)
{
    return kind == KERNEL_KEYS ? KERNEL_ENTRY(add_by_key<V>) : KERNEL_ENTRY(extremes_by_key<V>);
}

const void *of_width(enum element input)
{
    switch (element_size(input)) {
    case 1:
        return KERNEL_ENTRY(select_rows<uint8_t>);
    case 2:
        return KERNEL_ENTRY(select_rows<uint16_t>);
    case 4:
        return KERNEL_ENTRY(select_rows<uint32_t>);
    default:
        return KERNEL_ENTRY(select_rows<uint64_t>);
    }
}

} // namespace

const void *keys_kernel(kernel_key key)
{
    if (key.kind == KERNEL_KEYS_FINISH)
        return KERNEL_ENTRY(finish_by_key);
    if (key.kind == KERNEL_KEYS_STORE)
        return KERNEL_ENTRY(store_extremes);
    if (key.kind == KERNEL_SELECT)
        return of_width(key.input);
    switch (key.accumulator) {
    case ELEMENT_FLOAT32:
        return of_values<float>(key.kind);
    case ELEMENT_FLOAT64:
        return of_values<double>(key.kind);
    default:
        return of_values<int64_t>(key.kind);
    }
}

} // namespace KERNELS
