/* Instantiates the rungs for GPUs of compute capability 9.0 and later, and looks them up. Compiled
 * for these only; without them, no_later_methods.cu takes its place. */
#include "../entry.cuh"
#include "../ladder/23_bulk.cuh"
#include "../ladder/24_cluster.cuh"
#include "../reductions.cuh"

namespace KERNELS
{
namespace
{

template <template <class> class Fold>
const void *later(const kernel_key &key)
{
    const auto entry = [&](auto in, auto acc) {
        return key.method == METHOD_bulk ? KERNEL_ENTRY(bulk<Fold<decltype(acc)>, decltype(in)>)
                                         : KERNEL_ENTRY(cluster<Fold<decltype(acc)>, decltype(in)>);
    };
    return pairs_of_rungs<widens<Fold>>::find(key.input, key.accumulator, entry);
}

} // namespace

const void *later_kernel(kernel_key key)
{
    switch (key.fold) {
#define OF_true(name)                                                                              \
    case FOLD_##name:                                                                              \
        return later<name>(key);
#define OF_false(name)
#define FOLD(name, ladder, ...) OF_##ladder(name)
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

} // namespace KERNELS
