/* Ordinary CUDA kernels in gred.lab: what python/gred/lab/form.py substitutes for pointers and
 * shared memory on the simulated device. memory<T> is T *, unless accesses are counted: then it
 * records whether it points to shared memory. On a GPU, pointers are left unchanged. */
#pragma once

#include "../device.cuh"

#include <stddef.h>
#include <type_traits>

#ifdef __CUDACC__

namespace KERNELS
{

/* extern __shared__ T name[]; CUDA accepts such declarations for only one T. */
template <class T>
__device__ __forceinline__ T *dynamic_shared()
{
    return block_memory<T>();
}

} // namespace KERNELS

#else

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

#endif

/* Written before the asterisk of *p, since operator* has no parameter for the source line. */
struct here {
    const char *file;
    unsigned line;

    here(const char *file = __builtin_FILE(), unsigned line = __builtin_LINE())
        : file(file), line(line)
    {
    }
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
    return {at.plain(), at.is_shared, place.file, place.line};
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

/* ---- shared memory ---- */

constexpr unsigned max_declarations = 32;
constexpr size_t shared_alignment = 16;

/* Bytes of each __shared__ declaration of fixed size, recorded before any launch. */
inline size_t declaration_bytes[max_declarations];

template <unsigned Declaration, size_t Bytes>
struct shared_declaration {
    static const bool is_recorded;
};

template <unsigned Declaration, size_t Bytes>
const bool shared_declaration<Declaration, Bytes>::is_recorded = [] {
    static_assert(Declaration < max_declarations, "too many __shared__ declarations");
    size_t &bytes = declaration_bytes[Declaration];
    const size_t aligned = (Bytes + shared_alignment - 1) / shared_alignment * shared_alignment;
    bytes = aligned > bytes ? aligned : bytes;
    return true;
}();

inline size_t declaration_offset(unsigned declaration)
{
    size_t bytes = 0;
    for (unsigned k = 0; k < declaration; k++)
        bytes += declaration_bytes[k];
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
    (void)shared_declaration<Declaration, N * sizeof(T)>::is_recorded;
    return shared_at<T>(declaration_offset(Declaration));
}

/* extern __shared__ T name[]; */
template <class T>
memory<T> dynamic_shared()
{
    return shared_at<T>(declaration_offset(max_declarations));
}

} // namespace KERNELS

#endif
