/* Instantiates the rungs for GPUs of compute capability 9.0 and later, and lists the addresses.
 * They are compiled for these alone; no_later_methods.cu stands in where there are none. */
#include "../entry.cuh"
#include "../ladder/23_bulk.cuh"
#include "../ladder/24_cluster.cuh"
#include "../reductions.cuh"
#include "common/kernels.h"

namespace KERNELS
{
namespace
{

template <template <class> class Fold, class In, class Acc>
const void *flat_kernel(enum method_index method)
{
    switch (method) {
    case METHOD_bulk:
        return KERNEL_ENTRY(bulk<Fold<Acc>, In>);
    case METHOD_cluster:
        return KERNEL_ENTRY(cluster<Fold<Acc>, In>);
    default:
        return nullptr;
    }
}

/* Elements that are folded in their own type. */
template <template <class> class Fold, class Unsigned = uint64_t>
const void *flat_of(enum method_index method, enum element input, enum element accumulator)
{
    if (input != accumulator)
        return nullptr;
    switch (input) {
    case ELEMENT_INT32:
        return flat_kernel<Fold, int32_t, int32_t>(method);
    case ELEMENT_INT64:
        return flat_kernel<Fold, int64_t, int64_t>(method);
    case ELEMENT_UINT64:
        return flat_kernel<Fold, Unsigned, Unsigned>(method);
    case ELEMENT_FLOAT32:
        return flat_kernel<Fold, float, float>(method);
    case ELEMENT_FLOAT64:
        return flat_kernel<Fold, double, double>(method);
    default:
        return nullptr;
    }
}

/* int32 is folded in int64 by default; in 64 bits, what is unsigned comes out the same signed. */
template <template <class> class Fold>
const void *widening_of(enum method_index method, enum element input, enum element accumulator)
{
    if (input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return flat_kernel<Fold, int32_t, int64_t>(method);
    return flat_of<Fold, int64_t>(method, input, accumulator);
}

} // namespace

const void *later_kernel(kernel_key key)
{
    switch (key.fold) {
    case FOLD_sum:
        return widening_of<sum>(key.method, key.input, key.accumulator);
    case FOLD_prod:
        return widening_of<prod>(key.method, key.input, key.accumulator);
    case FOLD_min:
        return flat_of<min>(key.method, key.input, key.accumulator);
    case FOLD_max:
        return flat_of<max>(key.method, key.input, key.accumulator);
    default:
        return nullptr;
    }
}

} // namespace KERNELS
