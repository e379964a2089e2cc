/* What becomes of a state whose fold and types are known at run time only: for the host, and for
 * the one kernel that finishes results on a device. */
#pragma once

#include "../accumulators.cuh"
#include "../reductions.cuh"

namespace KERNELS
{

/* The state is aligned as its type asks. */
FOLD_FUNCTION void finish_state(enum reduction reduction, const struct finish &how,
                                const void *state, struct answer &answer)
{
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        return visit_##fold(how.accumulator, [&](auto v) {                                         \
            using fold_type = fold<decltype(v)>;                                                   \
            finishing<REDUCTION_##name>::template apply<fold_type>(                                \
                how, *static_cast<const state_of<fold_type> *>(state), answer);                    \
        });
#include "common/reductions.def"
    default:
        return;
    }
}

} // namespace KERNELS
