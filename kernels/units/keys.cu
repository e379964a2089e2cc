/* The kernels of reductions by key: sums and extremes, one per value type to which elements convert
 * without rounding; and order statistics, one per element width. */
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

/* The kernel that sorts rows of n elements in a thread's registers. */
template <class K, unsigned Least = 8>
const void *sorter(unsigned n)
{
    if constexpr (Least < SELECT_SORTED(sizeof(K)))
        if (n > Least)
            return sorter<K, 2 * Least>(n);
    return KERNEL_ENTRY(sort_rows<K, Least>);
}

/* n = 0 means any length. */
template <class K>
const void *of_length(unsigned n)
{
    return n > 0 ? sorter<K>(n) : KERNEL_ENTRY(select_rows<K>);
}

const void *of_width(enum element input, unsigned n)
{
    switch (element_size(input)) {
    case 1:
        return of_length<uint8_t>(n);
    case 2:
        return of_length<uint16_t>(n);
    case 4:
        return of_length<uint32_t>(n);
    default:
        return of_length<uint64_t>(n);
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
        return of_width(key.input, key.variant);
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
