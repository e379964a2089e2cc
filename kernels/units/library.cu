/* The yardstick: CUB's DeviceReduce, with gred's folds, as a library_reduce. The simulated device
 * has no library. */
#include "../reductions.cuh"
#include "common/kernels.h"

#ifdef __CUDACC__

#include <cub/device/device_reduce.cuh>

namespace KERNELS
{
namespace
{

template <class Fold>
struct functor {
    __device__ state_of<Fold> operator()(state_of<Fold> a, state_of<Fold> b) const
    {
        return Fold::merge(a, b);
    }
};

template <class Fold, class In>
int reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result, int64_t n,
           void *stream)
{
    return cub::DeviceReduce::Reduce(workspace, *workspace_bytes, static_cast<const In *>(data),
                                     static_cast<state_of<Fold> *>(result), n, functor<Fold>(),
                                     Fold::identity(), static_cast<cudaStream_t>(stream));
}

template <template <class> class Fold, class Unsigned = uint64_t>
library_reduce *of_same_type(enum element element)
{
    switch (element) {
    case ELEMENT_INT32:
        return reduce<Fold<int32_t>, int32_t>;
    case ELEMENT_INT64:
        return reduce<Fold<int64_t>, int64_t>;
    case ELEMENT_UINT64:
        return reduce<Fold<Unsigned>, Unsigned>;
    case ELEMENT_FLOAT32:
        return reduce<Fold<float>, float>;
    case ELEMENT_FLOAT64:
        return reduce<Fold<double>, double>;
    default:
        return nullptr;
    }
}

/* They are the same bits for both 64-bit integers. */
template <template <class> class Fold>
library_reduce *of_sum_or_product(enum element input, enum element accumulator)
{
    if (input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return reduce<Fold<int64_t>, int32_t>;
    return input == accumulator ? of_same_type<Fold, int64_t>(input) : nullptr;
}

} // namespace

library_reduce *library_entry(enum fold fold, enum element input, enum element accumulator)
{
    switch (fold) {
    case FOLD_sum:
        return of_sum_or_product<sum>(input, accumulator);
    case FOLD_prod:
        return of_sum_or_product<prod>(input, accumulator);
    case FOLD_min:
        return input == accumulator ? of_same_type<min>(input) : nullptr;
    case FOLD_max:
        return input == accumulator ? of_same_type<max>(input) : nullptr;
    default:
        return nullptr;
    }
}

} // namespace KERNELS

#else

namespace KERNELS
{

library_reduce *library_entry(enum fold, enum element, enum element)
{
    return nullptr;
}

} // namespace KERNELS

#endif
