/* What is done with states beside the rungs: finishing them, and merging a few. */
#include "accumulators.cuh"
#include "common/kernels.h"
#include "entry.cuh"
#include "finish.cuh"
#include "reductions.cuh"

namespace KERNELS
{
namespace
{

template <template <class> class Fold, class Finishing>
const void *finish_all(enum element accumulator)
{
#define FINISH(V) KERNEL_ENTRY(finish_on_device<Finishing, Fold<V>>)
    switch (accumulator) {
        ACCUMULATORS_all(FINISH) default : return nullptr;
    }
}

template <template <class> class Fold, class Finishing>
const void *finish_floats(enum element accumulator)
{
    switch (accumulator) {
        ACCUMULATORS_floats(FINISH) default : return nullptr;
    }
}

template <template <class> class Fold>
const void *merge_all(enum element accumulator)
{
#define MERGE(V) KERNEL_ENTRY(merge_few<Fold<V>>)
    switch (accumulator) {
        ACCUMULATORS_all(MERGE) default : return nullptr;
    }
}

template <template <class> class Fold>
const void *merge_floats(enum element accumulator)
{
    switch (accumulator) {
        ACCUMULATORS_floats(MERGE) default : return nullptr;
    }
}

/* Which types a fold takes. */
#define FOLD(name, ladder, indexed, types)                                                         \
    template <class Finishing>                                                                     \
    const void *finish_of_##name(enum element accumulator)                                         \
    {                                                                                              \
        return finish_##types<name, Finishing>(accumulator);                                       \
    }
#include "common/reductions.def"

} // namespace

const void *merge_entry(enum fold fold, enum element accumulator)
{
    switch (fold) {
#define FOLD(name, ladder, indexed, types)                                                         \
    case FOLD_##name:                                                                              \
        return merge_##types<name>(accumulator);
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

const void *finish_entry(enum reduction reduction, enum element accumulator)
{
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        return finish_of_##fold<finishing<REDUCTION_##name>>(accumulator);
#include "common/reductions.def"
    default:
        return nullptr;
    }
}

} // namespace KERNELS
