/* What becomes of a state whose fold and types are known at run time only: for the host, and for
 * the one kernel that finishes results on a device. */
#pragma once

#include "../accumulators.cuh"
#include "../reductions.cuh"

namespace KERNELS
{

template <class Finishing, class Fold>
FOLD_FUNCTION void finish_typed(const struct finish &how, const void *state, struct answer &answer)
{
    Finishing::template apply<Fold>(how, *static_cast<const state_of<Fold> *>(state), answer);
}

template <class Finishing, template <class> class Fold>
FOLD_FUNCTION void finish_all(const struct finish &how, const void *state, struct answer &answer)
{
#define FINISH(V) finish_typed<Finishing, Fold<V>>(how, state, answer)
    switch (how.accumulator) {
        ACCUMULATORS_all(FINISH) default : return;
    }
}

template <class Finishing, template <class> class Fold>
FOLD_FUNCTION void finish_floats(const struct finish &how, const void *state, struct answer &answer)
{
    switch (how.accumulator) {
        ACCUMULATORS_floats(FINISH) default : return;
    }
}

/* Which types a fold takes. */
#define FOLD(name, ladder, indexed, types)                                                         \
    template <class Finishing>                                                                     \
    FOLD_FUNCTION void finish_of_##name(const struct finish &how, const void *state,               \
                                        struct answer &answer)                                     \
    {                                                                                              \
        finish_##types<Finishing, name>(how, state, answer);                                       \
    }
#include "common/reductions.def"

/* The state is aligned as its type asks. */
FOLD_FUNCTION void finish_state(enum reduction reduction, const struct finish &how,
                                const void *state, struct answer &answer)
{
    switch (reduction) {
#define REDUCTION(name, fold, ...)                                                                 \
    case REDUCTION_##name:                                                                         \
        return finish_of_##fold<finishing<REDUCTION_##name>>(how, state, answer);
#include "common/reductions.def"
    default:
        return;
    }
}

} // namespace KERNELS
