/* How the last block of a launch delivers the final state: to a waiting host, by words in mapped
 * memory, without a copy or a synchronization; and, if the result needs no further work, to its
 * final place on the device. */
#pragma once

#include "fold.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* Post a state to the host: each 4 bytes of it are stored in an 8-byte word whose other half is the
 * launch's tag. Such a store arrives as a whole, so a word that has the tag also has the state's 4
 * bytes, and no fence is needed between the words. */
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

/* Whether `stored` gives a fold's result. */
template <class Fold, class = void>
struct is_stored : std::false_type {};

template <class Fold>
struct is_stored<Fold, std::void_t<decltype(&Fold::stored)>> : std::is_arithmetic<value_of<Fold>> {
};

/* Deliver the final state. Called by one thread, as its last action. */
template <class Fold>
__device__ __forceinline__ void deliver_state(const struct epilogue &epilogue,
                                              const state_of<Fold> &state)
{
    if constexpr (is_stored<Fold>::value)
        if (epilogue.out)
            *static_cast<value_of<Fold> *>(epilogue.out) = Fold::stored(state, epilogue.divisor);
    post(epilogue, state);
}

} // namespace KERNELS
