/* The baseline: CUB's DeviceReduce with gred's folds, as a library_reduce. The simulated device has
 * no library. */
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

template <template <class> class Fold>
library_reduce *of_fold(enum element input, enum element accumulator)
{
    return pairs_of_rungs<widens<Fold>>::template find<library_reduce *>(
        input, accumulator, [](auto in, auto acc) -> library_reduce * {
            return reduce<Fold<decltype(acc)>, decltype(in)>;
        });
}

} // namespace

library_reduce *library_entry(enum fold fold, enum element input, enum element accumulator)
{
    switch (fold) {
#define OF_true(name)                                                                              \
    case FOLD_##name:                                                                              \
        return of_fold<name>(input, accumulator);
#define OF_false(name)
#define FOLD(name, ladder, ...) OF_##ladder(name)
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

} // namespace KERNELS
