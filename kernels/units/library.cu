/* The yardstick: CUB's DeviceReduce, with gred's folds, as a library_reduce. The simulated device
 * has no library. */
#include "../entry.cuh"
#include "../reductions.cuh"

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

template <template <class> class Fold, bool Signed = false>
library_reduce *of_fold(enum element input, enum element accumulator)
{
    return pairs_of_rungs<Signed>::template find<library_reduce *>(
        input, accumulator, [](auto in, auto acc) -> library_reduce * {
            return reduce<Fold<decltype(acc)>, decltype(in)>;
        });
}

} // namespace

library_reduce *library_entry(enum fold fold, enum element input, enum element accumulator)
{
    switch (fold) {
    case FOLD_sum:
        return of_fold<sum, true>(input, accumulator);
    case FOLD_prod:
        return of_fold<prod, true>(input, accumulator);
    case FOLD_min:
        return of_fold<min>(input, accumulator);
    case FOLD_max:
        return of_fold<max>(input, accumulator);
    default:
        return nullptr;
    }
}

} // namespace KERNELS
