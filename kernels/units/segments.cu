/* The kernels of segments: those of each fold and value type, and the survey of offsets. */
#include "../entry.cuh"
#include "../load/strided_entry.cuh"
#include "../segments/scanned.cuh"
#include "../segments/segments.cuh"
#include "common/kernels.h"

namespace KERNELS
{
namespace
{

/* Tiles of elements as they are, if values are words and a state fits in place of one; tiles of
 * states; or segments one by one. */
template <template <class> class Fold, class Values>
const void *of_values(const kernel_key &key)
{
    return Values::find(key, [&](auto value) -> const void * {
        using fold = Fold<decltype(value)>;
        constexpr bool are_words = sizeof(state_of<fold>) <= sizeof value;
        if (key.kind == KERNEL_SEGMENTS)
            return KERNEL_ENTRY(fold_segments<fold>);
        if (key.kind == KERNEL_TILES_OF_STATES)
            return KERNEL_ENTRY(scan_tiles<fold, false>);
        if constexpr (are_words && sizeof value <= sizeof(uint64_t))
            return KERNEL_ENTRY(scan_tiles<fold, true>);
        return nullptr;
    });
}

const void *of_fold(const kernel_key &key)
{
    using unsigned_as_signed = all_values<int64_t>; /* the results have the same bits */
    switch (key.fold) {
    case FOLD_sum:
        return of_values<sum, unsigned_as_signed>(key);
    case FOLD_prod:
        return of_values<prod, unsigned_as_signed>(key);
    case FOLD_min:
        return of_values<min, all_values<>>(key);
    case FOLD_max:
        return of_values<max, all_values<>>(key);
    case FOLD_nonzero:
        return of_values<nonzero, unsigned_as_signed>(key);
    default:
        return nullptr;
    }
}

#ifdef __CUDA_ARCH_LIST__
/* A GPU may run code compiled for an earlier one, which does not wait. */
constexpr int compiled_for[] = {__CUDA_ARCH_LIST__};
constexpr bool can_wait = compiled_for[0] >= WAITING_ARCHITECTURE; /* the list is in rising order */
#else
constexpr bool can_wait = false;
#endif

} // namespace

bool segments_can_overlap()
{
    return can_wait;
}

const void *segments_kernel(kernel_key key)
{
    return key.kind == KERNEL_SURVEY ? KERNEL_ENTRY(survey_segments) : of_fold(key);
}

} // namespace KERNELS
