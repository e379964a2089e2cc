/* A fold that reports each merge to the simulated device when memory accesses are counted. */
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
        /* The result and the first operand. */
        const state values[] = {Fold::merge(a, b), a};
        count(SIMULATOR_MERGE, nullptr, sizeof(state), file, line, values);
        return values[0];
    }
};

/* Atomics use the uncounted fold: a GPU executes them as one instruction. */
template <class Fold>
struct uncounted<counted<Fold>> {
    using fold = Fold;
};

#else

template <class Fold>
using counted = Fold;

#endif

} // namespace KERNELS
