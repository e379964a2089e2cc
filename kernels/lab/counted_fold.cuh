/* A fold that has its merging counted, as a step of arithmetic, where accesses are. */
#pragma once

#include "../atomic.cuh"

namespace KERNELS
{

#ifdef GRED_COUNTING

template <class Fold>
struct counted : Fold {
    using state = state_of<Fold>;

    static state merge(state a, state b, const char *file = __builtin_FILE(),
                       unsigned line = __builtin_LINE())
    {
        /* The result, and the first operand. */
        const state told[] = {Fold::merge(a, b), a};
        count(SIMULATOR_MERGE, nullptr, sizeof(state), file, line, told);
        return told[0];
    }
};

/* Whatever does it on a GPU is one instruction there. */
template <class Fold>
struct uncounted<counted<Fold>> {
    using fold = Fold;
};

#else

template <class Fold>
using counted = Fold;

#endif

} // namespace KERNELS
