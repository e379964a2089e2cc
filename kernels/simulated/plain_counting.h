/* Pointers of ordinary CUDA kernels where accesses are counted, and CUDA's words for these. */
#pragma once

#include "counting.h"

#define CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

namespace counting_kernels
{

template <class T>
memory<T> memory_from(T *at, bool is_shared)
{
    return {at, {is_shared}};
}

template <class T>
memory<T> memory_from(global<T> at, bool)
{
    return {at.plain(), {false}};
}

template <class T>
struct plain_value_of {
    using type = T;
};

template <class T>
struct plain_value_of<cell<T>> {
    using type = typename cell<T>::type;
};

template <class T>
using plain_value = typename plain_value_of<T>::type;

/* ---- atomics ---- */

template <class T, class X>
T atomicAdd(memory<T> at, const X &x, CALLER)
{
    const T value = T(plain_value<X>(x));
    T sum;
    __atomic_load(at.plain(), &sum, __ATOMIC_SEQ_CST);
    sum += value;
    count(SIMULATOR_ATOMIC, at.plain(), sizeof(T), file, line, &sum);
    return ::atomicAdd(at.plain(), value);
}

template <class T, class X>
T atomicAdd(T *at, const X &x)
{
    return ::atomicAdd(at, T(plain_value<X>(x)));
}

inline unsigned atomicInc(memory<unsigned> at, unsigned limit, CALLER)
{
    count(SIMULATOR_ATOMIC, at.plain(), sizeof(unsigned), file, line);
    return ::atomicInc(at.plain(), limit);
}

inline unsigned atomicInc(unsigned *at, unsigned limit)
{
    return ::atomicInc(at, limit);
}

template <class X>
void count_shuffle(const X &value, unsigned from, const char *file, unsigned line)
{
    count(SIMULATOR_SHUFFLE, nullptr, sizeof value, file, line, &value, from);
}

} // namespace counting_kernels

#undef CALLER
