/* The kernels of segments: two of a fold and the values that it takes in, as those along axes, and
 * the survey of offsets. */
#include "../accumulators.cuh"
#include "../entry.cuh"
#include "../load/strided_entry.cuh"
#include "../segments/scanned.cuh"
#include "../segments/segments.cuh"
#include "common/kernels.h"

namespace KERNELS
{
namespace
{

/* Of values as they lie, if they are words and a state is left where one was. */
template <class Fold>
struct by_tiles {
    static const void *entry()
    {
        if constexpr (sizeof(state_of<Fold>) <= sizeof(value_of<Fold>) &&
                      sizeof(value_of<Fold>) <= sizeof(uint64_t))
            return KERNEL_ENTRY(scan_tiles<Fold, true>);
        else
            return nullptr;
    }
};

template <class Fold>
struct by_tiles_of_states {
    static const void *entry()
    {
        return KERNEL_ENTRY(scan_tiles<Fold, false>);
    }
};

template <class Fold>
struct one_by_one {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_segments<Fold>);
    }
};

template <template <class> class Kernel>
const void *of_fold(const kernel_key &key)
{
    switch (key.fold) { /* what takes 64-bit integers for signed makes the same bits of them */
    case FOLD_sum:
        return strided_all<sum, Kernel, int64_t>(key.input, key.accumulator);
    case FOLD_prod:
        return strided_all<prod, Kernel, int64_t>(key.input, key.accumulator);
    case FOLD_min:
        return strided_all<min, Kernel>(key.input, key.accumulator);
    case FOLD_max:
        return strided_all<max, Kernel>(key.input, key.accumulator);
    case FOLD_nonzero:
        return strided_all<nonzero, Kernel, int64_t>(key.input, key.accumulator);
    default:
        return nullptr;
    }
}

#ifdef __CUDA_ARCH_LIST__
/* A GPU may get what was compiled for an earlier one, which does not wait. */
constexpr int compiled_for[] = {__CUDA_ARCH_LIST__};
constexpr bool all_wait = compiled_for[0] >= WAITING_ARCHITECTURE; /* in rising order */
#else
constexpr bool all_wait = false;
#endif

} // namespace

bool segments_follow()
{
    return all_wait;
}

const void *segments_kernel(kernel_key key)
{
    switch (key.kind) {
    case KERNEL_SURVEY:
        return KERNEL_ENTRY(survey_segments);
    case KERNEL_TILES:
        return of_fold<by_tiles>(key);
    case KERNEL_TILES_OF_STATES:
        return of_fold<by_tiles_of_states>(key);
    default:
        return of_fold<one_by_one>(key);
    }
}

} // namespace KERNELS
