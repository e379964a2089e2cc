/* The kernels of arrays that are not flat, and those along axes: one of a fold and the values that
 * it takes in, for all elements that become such values without being rounded or cut. */
#pragma once

#include "../axes/along.cuh"
#include "../axes/columns.cuh"
#include "../axes/few.cuh"
#include "../entry.cuh"
#include "../ladder/21_last_block.cuh"
#include "strided.cuh"

namespace KERNELS
{

template <class Fold>
struct whole_array {
    static const void *entry()
    {
        return KERNEL_ENTRY(last_block<Fold, strided>);
    }
};

template <class Fold>
struct along_axes {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_along<Fold>);
    }
};

template <class Fold>
struct few_each {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_few<Fold>);
    }
};

/* Of values that a load takes several of. */
template <class Fold>
struct columns_of {
    static const void *entry()
    {
        if constexpr (sizeof(value_of<Fold>) <= sizeof(uint64_t))
            return KERNEL_ENTRY(fold_columns<Fold>);
        else
            return nullptr;
    }
};

/* Descriptions have states too large for these: any of their layouts is the first one's business.
 */
struct no_kernel {
    static const void *entry()
    {
        return nullptr;
    }
};

template <class V>
struct few_each<summary<V>> : no_kernel {};

template <class V>
struct columns_of<summary<V>> : no_kernel {};

template <class Kernel>
const void *entry_if(bool takes)
{
    return takes ? Kernel::entry() : nullptr;
}

template <template <class> class Fold, template <class> class Kernel>
const void *strided_floats(enum element input, enum element accumulator)
{
    const bool integer = element_is_integer(input);
    switch (accumulator) {
    case ELEMENT_FLOAT32:
        return entry_if<Kernel<Fold<float>>>(input == ELEMENT_FLOAT16 ||
                                             input == ELEMENT_BFLOAT16 || input == ELEMENT_FLOAT32);
    case ELEMENT_FLOAT64:
        return entry_if<Kernel<Fold<double>>>(integer || input == ELEMENT_FLOAT32 ||
                                              input == ELEMENT_FLOAT64);
    case ELEMENT_COMPLEX128:
        return entry_if<Kernel<Fold<complex<double>>>>(element_is_complex(input));
    default:
        return nullptr;
    }
}

/* Unsigned64 is what values of uint64 are folded as. */
template <template <class> class Fold, template <class> class Kernel, class Unsigned64 = uint64_t>
const void *strided_all(enum element input, enum element accumulator)
{
    const bool integer = element_is_integer(input);
    switch (accumulator) {
    case ELEMENT_INT64:
        return entry_if<Kernel<Fold<int64_t>>>(integer);
    case ELEMENT_UINT64:
        return entry_if<Kernel<Fold<Unsigned64>>>(
            std::is_same_v<Unsigned64, int64_t> ? integer : input == ELEMENT_UINT64);
    default:
        return strided_floats<Fold, Kernel>(input, accumulator);
    }
}

/* Of a fold's kernels for elements of any layout, the one of a kind: Entry<Kernel>::of chooses by
 * the types. */
template <template <template <class> class> class Entry>
const void *strided_kernel(const kernel_key &key)
{
    switch (key.kind) {
    case KERNEL_STRIDED:
        return key.method == METHOD_last_block ? Entry<whole_array>::of(key) : nullptr;
    case KERNEL_ALONG:
        return Entry<along_axes>::of(key);
    case KERNEL_FEW:
        return Entry<few_each>::of(key);
    case KERNEL_COLUMNS:
        return Entry<columns_of>::of(key);
    default:
        return nullptr;
    }
}

} // namespace KERNELS
