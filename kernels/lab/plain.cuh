/* Kernels in ordinary CUDA, for gred.lab: what python/gred/lab/plain.py writes in the place of
 * pointers and of shared memory, on the simulated device. memory<T> is T *, but where accesses are
 * counted: there it knows whether it is shared. On a GPU they stay as they are. */
#pragma once

#include "../device.cuh"

#include <stddef.h>
#include <type_traits>

#ifdef __CUDACC__

namespace KERNELS
{

/* extern __shared__ T name[]; which CUDA takes of one T alone. */
template <class T>
__device__ __forceinline__ T *dynamic_shared()
{
    return block_memory<T>();
}

} // namespace KERNELS

#else

#define CALLER const char *file = __builtin_FILE(), unsigned line = __builtin_LINE()

namespace KERNELS
{

constexpr int warpSize = 32;

#ifndef GRED_COUNTING

template <class T>
using memory = T *;

template <class T>
memory<T> memory_from(T *at, bool)
{
    return at;
}

template <class T>
using plain_value = T;

template <class X>
void count_shuffle(const X &, unsigned, const char *, unsigned)
{
}

template <class T, class X>
T atomicAdd(T *at, const X &x)
{
    return ::atomicAdd(at, T(x));
}

#endif

/* What stands before the asterisk of *p, an operator that cannot be told its line. */
struct here {
    const char *file;
    unsigned line;

    here(CALLER) : file(file), line(line) {}
};

template <class T>
T &operator*(here, T *at)
{
    return *at;
}

#ifdef GRED_COUNTING

template <class T>
cell<T> operator*(here place, memory<T> at)
{
    return {at.plain(), at.is_in_shared(), place.file, place.line};
}

#endif

template <class A, class B>
auto min(const A &a, const B &b)
{
    using type = std::common_type_t<plain_value<A>, plain_value<B>>;
    return type(b) < type(a) ? type(b) : type(a);
}

template <class A, class B>
auto max(const A &a, const B &b)
{
    using type = std::common_type_t<plain_value<A>, plain_value<B>>;
    return type(a) < type(b) ? type(b) : type(a);
}

/* ---- shuffles, also of segments of a warp ---- */

inline unsigned own_lane()
{
    return threadIdx.x % SIMULATOR_WARP;
}

/* The lane `to` of the own segment, or the own one if that is in another. */
inline unsigned lane_within(int to, int width)
{
    const unsigned first = own_lane() / unsigned(width) * unsigned(width);
    return to >= int(first) && to < int(first) + width ? unsigned(to) : own_lane();
}

template <class X>
auto shuffled(unsigned mask, const X &x, unsigned from, const char *file, unsigned line)
{
    const plain_value<X> value = x;
    count_shuffle(value, from, file, line);
    return ::__shfl_sync(mask, value, from);
}

template <class X>
auto plain_shfl_down_sync(unsigned mask, const X &x, unsigned offset, int width = 32, CALLER)
{
    return shuffled(mask, x, lane_within(int(own_lane() + offset), width), file, line);
}

template <class X>
auto plain_shfl_up_sync(unsigned mask, const X &x, unsigned offset, int width = 32, CALLER)
{
    return shuffled(mask, x, lane_within(int(own_lane()) - int(offset), width), file, line);
}

template <class X>
auto plain_shfl_xor_sync(unsigned mask, const X &x, int bits, int width = 32, CALLER)
{
    return shuffled(mask, x, lane_within(int(own_lane()) ^ bits, width), file, line);
}

template <class X>
auto plain_shfl_sync(unsigned mask, const X &x, int lane, int width = 32, CALLER)
{
    const int first = int(own_lane()) / width * width;
    return shuffled(mask, x, unsigned(first + lane % width), file, line);
}

/* The ladder's own have no segments. */
#define __shfl_down_sync plain_shfl_down_sync
#define __shfl_up_sync   plain_shfl_up_sync
#define __shfl_xor_sync  plain_shfl_xor_sync
#define __shfl_sync      plain_shfl_sync

/* ---- shared memory ---- */

constexpr unsigned most_declarations = 32;
constexpr size_t shared_alignment = 16;

/* The bytes of each __shared__ declaration of a size that is known, noted before any launch. */
inline size_t bytes_of_declarations[most_declarations];

template <unsigned Declaration, size_t Bytes>
struct noted {
    static const bool is_noted;
};

template <unsigned Declaration, size_t Bytes>
const bool noted<Declaration, Bytes>::is_noted = [] {
    static_assert(Declaration < most_declarations, "too many __shared__ declarations");
    size_t &bytes = bytes_of_declarations[Declaration];
    const size_t own = (Bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    bytes = own > bytes ? own : bytes;
    return true;
}();

inline size_t bytes_before(unsigned declaration)
{
    size_t bytes = 0;
    for (unsigned k = 0; k < declaration; k++)
        bytes += bytes_of_declarations[k];
    return bytes;
}

template <class T>
memory<T> shared_at(size_t offset)
{
    char *const all = static_cast<char *>(simulator_shared_memory());
    return memory_from(reinterpret_cast<T *>(all + offset), true);
}

/* __shared__ T name[N]; */
template <unsigned Declaration, class T, size_t N>
memory<T> static_shared()
{
    (void)noted<Declaration, N * sizeof(T)>::is_noted;
    return shared_at<T>(bytes_before(Declaration));
}

/* extern __shared__ T name[]; */
template <class T>
memory<T> dynamic_shared()
{
    return shared_at<T>(bytes_before(most_declarations));
}

} // namespace KERNELS

#undef CALLER

#endif
