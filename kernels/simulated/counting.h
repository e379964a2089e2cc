/* CUDA's words and memory on a CPU where accesses are counted: every load, store, atomic, shuffle
 * and barrier is told to the simulated device, with its line in the source, and then done as by
 * words.h. */
#pragma once

#include "words.h"

#include <stddef.h>
#include <stdint.h>
#include <type_traits>

/* As the last parameters of a function: the line that calls it. */
#define CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

namespace counting_kernels
{

inline void count(enum simulator_event event, const volatile void *address, size_t bytes,
                  const char *file, unsigned line, const void *value = nullptr, unsigned source = 0)
{
    const struct simulator_access access = {event, unsigned(bytes), address, file,
                                            line,  value,           source};
    simulator_count(&access);
}

/* ---- memory ---- */

/* What memory a pointer is to: as the types say, or, in an ordinary kernel, as it turns out. */
template <bool Shared>
struct known_space {
    static constexpr bool is_shared = Shared;
};

struct any_space {
    bool is_shared;
};

template <class T, class Space>
class pointer;

template <class T>
using memory = pointer<T, any_space>;

/* What is at an address: a load where it is used, a store where it is assigned to. */
template <class T>
class cell
{
    using value = std::remove_const_t<T>;
    T *at;
    bool is_shared;
    const char *file;
    unsigned line;

  public:
    using type = value;

    cell(T *at, bool is_shared, const char *file, unsigned line)
        : at(at), is_shared(is_shared), file(file), line(line)
    {
    }

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

/* An index, and the line that it is written in: an operator has no parameters to spare. */
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
    pointer() = default;
    explicit pointer(T *at) : at(at) {}
    pointer(T *at, Space space) : Space(space), at(at) {}

    operator pointer<const T, Space>() const
    {
        return {at, *this};
    }

    cell<T> operator[](index i) const
    {
        return {at + i.value, is_in_shared(), i.file, i.line};
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

    bool is_in_shared() const
    {
        return this->is_shared;
    }

    T *plain() const
    {
        return at;
    }
};

template <class T>
using global = pointer<T, known_space<false>>;

template <class T>
using shared = pointer<T, known_space<true>>;

template <class To, class From, class Space>
pointer<To, Space> seen_as(pointer<From, Space> memory)
{
    return pointer<To, Space>(reinterpret_cast<To *>(memory.plain()));
}

template <class T>
uintptr_t address_of(global<T> memory)
{
    return reinterpret_cast<uintptr_t>(memory.plain());
}

template <class T>
T __ldcg(global<const T> from, CALLER)
{
    count(SIMULATOR_GLOBAL_LOAD, from.plain(), sizeof(T), file, line);
    return ::__ldcg(from.plain());
}

/* A pointer of an ordinary kernel, and what a cell of its memory holds. */
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

template <class T>
T atomicCAS(global<T> at, T expected, T desired, CALLER)
{
    count(SIMULATOR_ATOMIC, at.plain(), sizeof(T), file, line, &desired);
    return ::atomicCAS(at.plain(), expected, desired);
}

template <class Space>
unsigned atomicInc(pointer<unsigned, Space> at, unsigned limit, CALLER)
{
    const unsigned seen = __atomic_load_n(at.plain(), __ATOMIC_SEQ_CST);
    const unsigned left = seen >= limit ? 0 : seen + 1;
    count(SIMULATOR_ATOMIC, at.plain(), sizeof(unsigned), file, line, &left);
    return ::atomicInc(at.plain(), limit);
}

inline unsigned atomicInc(unsigned *at, unsigned limit)
{
    return ::atomicInc(at, limit);
}

template <class T, class Space, class X>
T atomicAdd(pointer<T, Space> at, const X &x, CALLER)
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

/* ---- shuffles and barriers ---- */

template <class T>
void count_shuffle(const T &value, unsigned from, const char *file, unsigned line)
{
    count(SIMULATOR_SHUFFLE, nullptr, sizeof(T), file, line, &value, from);
}

template <class T>
T __shfl_down_sync(unsigned mask, T value, unsigned offset, CALLER)
{
    count_shuffle(value, lane_below(offset), file, line);
    return ::__shfl_down_sync(mask, value, offset);
}

inline void __syncthreads(CALLER)
{
    count(SIMULATOR_BLOCK_BARRIER, nullptr, 0, file, line);
    ::__syncthreads();
}

inline int __syncthreads_or(int vote, CALLER)
{
    count(SIMULATOR_BLOCK_BARRIER, nullptr, 0, file, line);
    return ::__syncthreads_or(vote);
}

inline void __syncwarp(unsigned mask = 0xffffffff, CALLER)
{
    count(SIMULATOR_WARP_BARRIER, nullptr, 0, file, line);
    ::__syncwarp(mask);
}

/* As device.cuh has it for a GPU, where blocks count themselves, and all but the last of them look
 * at least once whether the others are there. */
inline void grid_barrier(global<unsigned> arrived, CALLER)
{
    __syncthreads(file, line);
    if (threadIdx.x == 0) {
        count(SIMULATOR_ATOMIC, arrived.plain(), sizeof(unsigned), file, line);
        if (blockIdx.x > 0)
            count(SIMULATOR_GLOBAL_LOAD, arrived.plain(), sizeof(unsigned), file, line);
    }
    count(SIMULATOR_GRID_BARRIER, nullptr, 0, file, line);
    simulator_barrier_grid();
    __syncthreads(file, line);
}

/* ---- clusters ---- */

inline void cluster_barrier(CALLER)
{
    count(SIMULATOR_CLUSTER_BARRIER, nullptr, 0, file, line);
    simulator_barrier_cluster();
}

/* Another block's shared memory is counted as this block's own: it is asked the same way. */
template <class T>
shared<T> in_block(unsigned rank, shared<T> here)
{
    return shared<T>(static_cast<T *>(simulator_memory_of_block(here.plain(), rank)));
}

/* ---- asynchronous bulk copies, and the barriers that count their bytes ---- */

using mbarrier = simulator_mbarrier;

inline void mbarrier_init(shared<mbarrier> barrier, unsigned arrivals)
{
    simulator_mbarrier_init(barrier.plain(), arrivals);
}

inline void mbarriers_show() {}

inline void mbarrier_arrive(shared<mbarrier> barrier, unsigned bytes)
{
    simulator_mbarrier_arrive(barrier.plain(), bytes);
}

inline void mbarrier_wait(shared<mbarrier> barrier, unsigned parity, CALLER)
{
    count(SIMULATOR_MBARRIER_WAIT, nullptr, 0, file, line);
    simulator_mbarrier_wait(barrier.plain(), parity);
}

template <class T>
void bulk_copy(shared<T> to, global<const T> from, unsigned bytes, shared<mbarrier> barrier, CALLER)
{
    count(SIMULATOR_BULK_COPY, from.plain(), bytes, file, line, to.plain());
    simulator_bulk_copy(to.plain(), from.plain(), bytes, barrier.plain());
}

} // namespace counting_kernels

#undef CALLER
