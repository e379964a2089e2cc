/* Lookup of the kernels of arrays that are not flat, and of those along axes for any type: one per
 * fold and value type, for all elements that convert to it without rounding or overflow. */
#pragma once

#include "../axes/few.cuh"
#include "../entry.cuh"
#include "../ladder/21_last_block.cuh"
#include "strided.cuh"

namespace KERNELS
{

/* The value types to which elements are converted for an accumulator: find(key, entry) calls
 * entry(value). */
struct floats_only {
    template <class Entry>
    static const void *find(const kernel_key &key, Entry entry)
    {
        const enum element x = key.input;
        switch (key.accumulator) {
        case ELEMENT_FLOAT32:
            return x == ELEMENT_FLOAT16 || x == ELEMENT_BFLOAT16 || x == ELEMENT_FLOAT32
                       ? entry(float())
                       : nullptr;
        case ELEMENT_FLOAT64:
            return element_is_integer(x) || x == ELEMENT_FLOAT32 || x == ELEMENT_FLOAT64
                       ? entry(double())
                       : nullptr;
        case ELEMENT_COMPLEX128:
            return element_is_complex(x) ? entry(complex<double>()) : nullptr;
        default:
            return nullptr;
        }
    }
};

/* uint64 values are reduced as Unsigned64. */
template <class Unsigned64 = uint64_t>
struct all_values {
    template <class Entry>
    static const void *find(const kernel_key &key, Entry entry)
    {
        const bool integer = element_is_integer(key.input);
        switch (key.accumulator) {
        case ELEMENT_INT64:
            return integer ? entry(int64_t()) : nullptr;
        case ELEMENT_UINT64:
            return (std::is_same_v<Unsigned64, int64_t> ? integer : key.input == ELEMENT_UINT64)
                       ? entry(Unsigned64())
                       : nullptr;
        default:
            return floats_only::find(key, entry);
        }
    }
};

/* The kernel of a fold and a kind. The states of `summary` are too large for KERNEL_FEW. */
template <template <class> class Fold, class Values>
const void *strided_kernel(const kernel_key &key)
{
    return Values::find(key, [&](auto value) -> const void * {
        using V = decltype(value);
        using fold = Fold<V>;
        constexpr bool is_summary = std::is_same_v<fold, summary<V>>;
        if (key.kind == KERNEL_ALONG)
            return KERNEL_ENTRY(fold_along<fold>);
        if constexpr (!is_summary)
            if (key.kind == KERNEL_FEW)
                return KERNEL_ENTRY(fold_few<fold>);
        return key.kind == KERNEL_STRIDED && key.method == METHOD_last_block
                   ? KERNEL_ENTRY(last_block<fold, strided>)
                   : nullptr;
    });
}

} // namespace KERNELS
