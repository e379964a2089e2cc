/* The vector registers that a unit is compiled for, and lanes that lie in several of them. There
 * are as many lanes on every processor, whatever its registers hold, so that all make the same
 * bits. */
#pragma once

#include "../fold.cuh"

namespace KERNELS
{
namespace
{

#if defined(__AVX512BW__)
constexpr unsigned register_bytes = 64;
#elif defined(__AVX2__)
constexpr unsigned register_bytes = 32;
#else
constexpr unsigned register_bytes = 16;
#endif

template <class T, unsigned Bytes>
struct vector_of {
    typedef T type __attribute__((vector_size(Bytes)));
};

template <class T, unsigned Bytes = register_bytes>
using vector = typename vector_of<T, Bytes>::type;

#define LANES_FUNCTION __forceinline__

/* Loops over a few registers leave no trace in the code. */
#define EACH_REGISTER _Pragma("GCC unroll 16") for

template <class V>
LANES_FUNCTION V loaded(const void *at)
{
    V value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* The same in every lane; nothing is taken from it, since to add nothing would change a negative
 * zero. */
template <class T>
LANES_FUNCTION vector<T> in_all(T x)
{
    return x - vector<T>{};
}

template <class Fold>
LANES_FUNCTION void put_state(void *to, const state_of<Fold> &state)
{
    memcpy(to, &state, sizeof state);
}

/* Of a comparison: lanes are 0 or -1. */
template <class Mask>
LANES_FUNCTION bool is_any(Mask mask)
{
    uint64_t words[sizeof mask / sizeof(uint64_t)], any = 0;
    memcpy(words, &mask, sizeof mask);
    for (const uint64_t word : words)
        any |= word;
    return any;
}

/* Merges a register's two halves, and theirs, until 16 bytes are left. */
template <class T, unsigned Bytes, class Merge>
LANES_FUNCTION vector<T, 16> merged_to_16(vector<T, Bytes> x, Merge merge)
{
    if constexpr (Bytes == 16) {
        return x;
    } else {
        vector<T, Bytes / 2> halves[2];
        memcpy(halves, &x, sizeof x);
        return merged_to_16<T, Bytes / 2>(merge(halves[0], halves[1]), merge);
    }
}

/* Every lane merged with that which is so many bytes behind it. */
template <unsigned Bytes, class T, class Merge>
LANES_FUNCTION vector<T, 16> merged_apart(vector<T, 16> x, Merge merge)
{
    vector<uint8_t, 16> behind;
    for (unsigned k = 0; k < 16; k++)
        behind[k] = uint8_t((k + Bytes) % 16);
    return merge(x, vector<T, 16>(__builtin_shuffle(vector<uint8_t, 16>(x), behind)));
}

/* Merges all lanes but for `Left` that are left at `result`. */
template <class T, unsigned Left, class Merge>
LANES_FUNCTION void merge_within(vector<T> wide, T *result, Merge merge)
{
    vector<T, 16> x = merged_to_16<T, register_bytes>(wide, merge);
    if constexpr (Left * sizeof(T) <= 8)
        x = merged_apart<8, T>(x, merge);
    if constexpr (Left * sizeof(T) <= 4)
        x = merged_apart<4, T>(x, merge);
    if constexpr (Left * sizeof(T) <= 2)
        x = merged_apart<2, T>(x, merge);
    if constexpr (Left * sizeof(T) <= 1)
        x = merged_apart<1, T>(x, merge);
    memcpy(result, &x, Left * sizeof(T));
}

/* Enough to keep additions apart that take some cycles each. */
constexpr unsigned lanes_bytes = 128, lanes_registers = lanes_bytes / register_bytes;

template <class T>
struct lanes {
    vector<T> at[lanes_registers];

    template <unsigned Left, class Merge>
    LANES_FUNCTION void merged(T *result, Merge merge) const
    {
        vector<T> left[lanes_registers];
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        left[r] = at[r];
        EACH_REGISTER(unsigned half = lanes_registers / 2; half > 0; half /= 2)
        EACH_REGISTER(unsigned r = 0; r < half; r++)
        left[r] = merge(left[r], left[r + half]);
        merge_within<T, Left>(left[0], result, merge);
    }
};

/* ---- going through an array ---- */

/* So many elements, the last of which are `nothing`. */
template <class In, unsigned Count>
struct filled_up {
    In at[Count];

    LANES_FUNCTION filled_up(const In *x, size_t n, In nothing)
    {
        for (size_t k = 0; k < Count; k++)
            at[k] = nothing;
        if (n)
            memcpy(at, x, n * sizeof(In));
    }
};

/* Way has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;     elements that lanes take at once
 *     void take(const element *);
 *
 * and takes all elements, the last ones filled up with what changes nothing. */
template <class Way>
LANES_FUNCTION void take_all(Way &way, const typename Way::element *x, size_t n,
                             typename Way::element nothing)
{
    const size_t left = n % Way::step;
    const filled_up<typename Way::element, Way::step> last(x + n - left, left, nothing);
    const typename Way::element *const runs[] = {x, last.at};
    const size_t lengths[] = {n - left, left ? Way::step : 0};
    for (unsigned run = 0; run < 2; run++)
        for (size_t i = 0; i < lengths[run]; i += Way::step)
            way.take(runs[run] + i);
}

} // namespace
} // namespace KERNELS
