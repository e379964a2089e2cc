/* What becomes of the state of all in the launch that made it: a host that is waiting finds it,
 * without a copy and without a synchronisation, in memory that both see; and a result that needs
 * nothing more is stored where it is to stay. */
#pragma once

#include "fold.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Posts a state: every 4 bytes of it in one store of 8, of which the others are the launch's tag.
 * Such a store arrives whole or not at all, so whoever finds the tag in a word has its 4 bytes, and
 * no fence is needed between the words. */
template <class T>
__device__ __forceinline__ void post(const struct epilogue &epilogue, const T &state)
{
    static_assert(sizeof(T) % sizeof(uint32_t) == 0, "states are made of 4-byte words");
    constexpr unsigned count = sizeof(T) / sizeof(uint32_t);
    uint32_t words[count];
    if (!epilogue.mailbox)
        return;
    memcpy(words, &state, sizeof state);
#pragma unroll
    for (unsigned k = 0; k < count; k++)
        store_for_host(epilogue.mailbox + k, uint64_t(epilogue.tag) << 32 | words[k]);
}

/* Whether a fold's result may be stored at once. */
template <class Fold, class = void>
struct is_stored : std::false_type {};

template <class Fold>
struct is_stored<Fold, std::void_t<decltype(&Fold::stored)>> : std::is_arithmetic<value_of<Fold>> {
};

/* By one thread, the last thing that it does. */
template <class Fold>
__device__ __forceinline__ void end_with(const struct epilogue &epilogue,
                                         const state_of<Fold> &state)
{
    if constexpr (is_stored<Fold>::value)
        if (epilogue.out)
            *static_cast<value_of<Fold> *>(epilogue.out) = Fold::stored(state, epilogue.divisor);
    post(epilogue, state);
}

} // namespace KERNELS
