/* Pointers of ordinary CUDA kernels where accesses are counted, and CUDA's words for these. */
#pragma once

#include "simulated/counting.h"

#define CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

namespace counting_kernels
{

template <class T>
class memory;

/* What is at an address: a load where it is used, a store where it is assigned to. */
template <class T>
class element
{
    using value = std::remove_const_t<T>;
    T *at;
    bool is_shared;
    const char *file;
    unsigned line;

  public:
    using type = value;

    element(T *at, bool is_shared, const char *file, unsigned line)
        : at(at), is_shared(is_shared), file(file), line(line)
    {
    }

    operator value() const
    {
        count(is_shared ? SIMULATOR_SHARED_LOAD : SIMULATOR_GLOBAL_LOAD, at, sizeof(T), file, line);
        return *at;
    }

    const element &operator=(const value &x) const
    {
        count(is_shared ? SIMULATOR_SHARED_STORE : SIMULATOR_GLOBAL_STORE, at, sizeof(T), file,
              line, &x);
        *at = x;
        return *this;
    }

    const element &operator=(const element &other) const
    {
        return *this = value(other);
    }

    memory<T> operator&() const
    {
        return memory<T>(at, is_shared);
    }

#define COMPOUND(op)                                                                               \
    template <class X>                                                                             \
    const element &operator op## = (const X &x) const                                              \
    {                                                                                              \
        return *this = value(value(*this) op x);                                                   \
    }
    COMPOUND(+)
    COMPOUND(-)
    COMPOUND(*)
    COMPOUND(/)
    COMPOUND(&)
    COMPOUND(|)
    COMPOUND(^)
#undef COMPOUND

    const element &operator++() const
    {
        return *this += value(1);
    }

    value operator++(int) const
    {
        const value before = *this;
        *this = value(before + 1);
        return before;
    }
};

template <class T>
class memory
{
    T *at = nullptr;
    bool is_shared = false;

  public:
    memory() = default;
    memory(T *at, bool is_shared) : at(at), is_shared(is_shared) {}

    operator memory<const T>() const
    {
        return {at, is_shared};
    }

    element<T> operator[](index i) const
    {
        return {at + i.value, is_shared, i.file, i.line};
    }

    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    memory operator+(I distance) const
    {
        return {at + distance, is_shared};
    }

    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    memory operator-(I distance) const
    {
        return {at - distance, is_shared};
    }

    ptrdiff_t operator-(memory other) const
    {
        return at - other.at;
    }

    template <class I>
    memory &operator+=(I distance)
    {
        at += distance;
        return *this;
    }

    memory &operator++()
    {
        return *this += 1;
    }

    bool operator<(memory other) const
    {
        return at < other.at;
    }

    bool is_in_shared() const
    {
        return is_shared;
    }

    T *plain() const
    {
        return at;
    }
};

template <class T>
memory<T> memory_from(T *at, bool is_shared)
{
    return {at, is_shared};
}

template <class T>
memory<T> memory_from(global<T> at, bool)
{
    return {at.plain(), false};
}

template <class T>
struct plain_value_of {
    using type = T;
};

template <class T>
struct plain_value_of<element<T>> {
    using type = typename element<T>::type;
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
