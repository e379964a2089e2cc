/* Pointers that count accesses: each load and store, and each operation in words.h, which includes
 * this file, is reported to the simulated device with its source line. */
#pragma once

#include <stdint.h>

namespace KERNELS
{

inline void count(enum simulator_event event, const volatile void *address, size_t bytes,
                  const char *file, unsigned line, const void *value = nullptr, unsigned source = 0)
{
    const struct simulator_access access = {event, unsigned(bytes), address, file,
                                            line,  value,           source};
    simulator_record(&access);
}

/* ---- memory ---- */

/* The memory space of a pointer: known from its type, or, in an ordinary kernel, at run time. */
template <bool Shared>
struct static_space {
    static constexpr bool is_shared = Shared;
};

struct dynamic_space {
    bool is_shared;
};

template <class T, class Space>
class pointer;

template <class T>
using memory = pointer<T, dynamic_space>;

/* A reference to memory: reading it counts a load, assigning to it a store. */
template <class T>
struct cell {
    using value = std::remove_const_t<T>;
    T *at;
    bool is_shared;
    const char *file;
    unsigned line;

    operator value() const
    {
        count(is_shared ? SIMULATOR_SHARED_LOAD : SIMULATOR_GLOBAL_LOAD, at, sizeof(T), file, line);
        return *at;
    }

    const cell &operator=(const value &x) const
    {
        count(is_shared ? SIMULATOR_SHARED_STORE : SIMULATOR_GLOBAL_STORE, at, sizeof(T), file,
              line, &x);
        *at = x;
        return *this;
    }

    const cell &operator=(const cell &other) const
    {
        return *this = value(other);
    }

    memory<T> operator&() const
    {
        return {at, {is_shared}};
    }

#define COMPOUND(op)                                                                               \
    template <class X>                                                                             \
    const cell &operator op## = (const X &x) const                                                 \
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

    const cell &operator++() const
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

/* An index and its source line, which an operator has no parameter for. */
struct index {
    ptrdiff_t value;
    const char *file;
    unsigned line;

    template <class I>
    index(I value, CALLER) : value(ptrdiff_t(value)), file(file), line(line)
    {
    }
};

template <class T, class Space>
class pointer : Space
{
    T *at;

  public:
    using Space::is_shared;

    pointer() = default;
    explicit pointer(T *at) : at(at) {}
    pointer(T *at, Space space) : Space(space), at(at) {}

    operator pointer<const T, Space>() const
    {
        return {at, *this};
    }

    cell<T> operator[](index i) const
    {
        return {at + i.value, is_shared, i.file, i.line};
    }

    template <class I>
    pointer operator+(I distance) const
    {
        return {at + distance, *this};
    }

    template <class I, class = std::enable_if_t<std::is_integral_v<I>>>
    pointer operator-(I distance) const
    {
        return {at - distance, *this};
    }

    ptrdiff_t operator-(pointer other) const
    {
        return at - other.at;
    }

    template <class I>
    pointer &operator+=(I distance)
    {
        at += distance;
        return *this;
    }

    pointer &operator++()
    {
        return *this += 1;
    }

    bool operator<(pointer other) const
    {
        return at < other.at;
    }

    T *plain() const
    {
        return at;
    }
};

template <class T>
using global = pointer<T, static_space<false>>;

template <class T>
using shared = pointer<T, static_space<true>>;

template <class To, class From, class Space>
pointer<To, Space> pointer_cast(pointer<From, Space> memory)
{
    return pointer<To, Space>(reinterpret_cast<To *>(memory.plain()));
}

template <class T>
uintptr_t address_of(global<T> memory)
{
    return reinterpret_cast<uintptr_t>(memory.plain());
}

template <class T, class Space>
T *plain(pointer<T, Space> memory)
{
    return memory.plain();
}

template <class T, class Space>
void count_at(enum simulator_event event, pointer<T, Space> at, size_t bytes, const char *file,
              unsigned line, const void *value = nullptr)
{
    count(event, at.plain(), bytes, file, line, value);
}

/* Pointers of ordinary kernels, and the type of the values in their memory. */
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
    using type = typename cell<T>::value;
};

template <class T>
using plain_value = typename plain_value_of<T>::type;

} // namespace KERNELS
