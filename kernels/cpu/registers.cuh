/* The vector registers of the target instruction set, and lanes that extend over several of them.
 * The number of lanes is the same for all instruction sets, so that all compute the same bits. */
#pragma once

#include "../fold.cuh"

#include <utility>

/* The header of all instruction sets takes longer to parse than some units take to compile. */
#if defined(__AVX2__)
#include <immintrin.h>
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

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

template <class T>
constexpr unsigned vector_lanes = register_bytes / sizeof(T);

#define FORCEINLINE __forceinline__

/* The unsigned type of `Bytes` bytes. */
template <unsigned Bytes>
using bits_of = std::conditional_t<
    Bytes == 1, uint8_t,
    std::conditional_t<Bytes == 2, uint16_t, std::conditional_t<Bytes == 4, uint32_t, uint64_t>>>;

/* Code that several loops share and call once. */
#define NOINLINE __attribute__((noinline))

/* Fully unrolled loops over a few registers. */
#define UNROLLED_FOR _Pragma("GCC unroll 16") for

template <class V>
FORCEINLINE V load(const void *at)
{
    V value;
    memcpy(&value, at, sizeof value);
    return value;
}

/* Broadcasts x to all lanes. Subtracts zero, since adding zero would change a negative zero. */
template <class T>
FORCEINLINE vector<T> broadcast(T x)
{
    return x - vector<T>{};
}

template <class Fold>
FORCEINLINE void store_state(void *to, const state_of<Fold> &state)
{
    memcpy(to, &state, sizeof state);
}

/* Whether any bit of a register is set. */
#if defined(__AVX512BW__)

FORCEINLINE bool has_bits(vector<uint64_t> x)
{
    return _mm512_test_epi64_mask(__m512i(x), __m512i(x));
}

#elif defined(__AVX2__)

FORCEINLINE bool has_bits(vector<uint64_t> x)
{
    return !_mm256_testz_si256(__m256i(x), __m256i(x));
}

#else

FORCEINLINE bool has_bits(vector<uint64_t> x)
{
    return x[0] | x[1];
}

#endif

/* Whether any lane of a comparison's result, 0 or -1 per lane, is set. */
template <class Mask>
FORCEINLINE bool any_lane(Mask mask)
{
    return has_bits(vector<uint64_t>(mask));
}

/* The first lane that is set in a comparison's result; there must be one. */
template <class Mask>
FORCEINLINE unsigned first_lane(Mask mask)
{
#if defined(__AVX512BW__)
    return unsigned(__builtin_ctzll(_mm512_movepi8_mask(__m512i(mask)))) / sizeof mask[0];
#elif defined(__AVX2__)
    return unsigned(__builtin_ctz(unsigned(_mm256_movemask_epi8(__m256i(mask))))) / sizeof mask[0];
#else
    unsigned lane = 0;
    while (!mask[lane])
        lane++;
    return lane;
#endif
}

/* Merges the halves of a register repeatedly, until 16 bytes are left. */
template <class T, unsigned Bytes, class Merge>
FORCEINLINE vector<T, 16> merge_to_16(vector<T, Bytes> x, Merge merge)
{
    if constexpr (Bytes == 16) {
        return x;
    } else {
        vector<T, Bytes / 2> halves[2];
        memcpy(halves, &x, sizeof x);
        return merge_to_16<T, Bytes / 2>(merge(halves[0], halves[1]), merge);
    }
}

/* Shuffles two vectors by lane numbers. */
template <class Vector, size_t... Lanes>
FORCEINLINE Vector shuffle(Vector a, Vector b, std::index_sequence<Lanes...>)
{
#ifdef __clang__
    return __builtin_shufflevector(a, b, Lanes...);
#else
    using number = bits_of<sizeof(a[0])>;
    return __builtin_shuffle(a, b, vector<number, sizeof(Vector)>{number(Lanes)...});
#endif
}

/* Swaps the lanes of each pair. */
template <class Vector, size_t... Lanes>
FORCEINLINE Vector swap_pairs(Vector x, std::index_sequence<Lanes...>)
{
    return shuffle(x, x, std::index_sequence<(Lanes ^ 1)...>());
}

/* Moves the upper half of the first `2 * Half` lanes to the lower half. */
template <size_t Half, class Vector, size_t... Lanes>
FORCEINLINE Vector upper_half(Vector x, std::index_sequence<Lanes...>)
{
    return shuffle(x, x, std::index_sequence<(Lanes + Half) % sizeof...(Lanes)...>());
}

/* Merges lanes until `Left` are left, and stores those at `result`. */
template <class T, unsigned Left, unsigned Lanes, class Merge>
FORCEINLINE void merge_halves(vector<T, 16> x, T *result, Merge merge)
{
    if constexpr (Lanes > Left) {
        constexpr auto all = std::make_index_sequence<16 / sizeof(T)>();
        merge_halves<T, Left, Lanes / 2>(merge(x, upper_half<Lanes / 2>(x, all)), result, merge);
    } else {
        memcpy(result, &x, Left * sizeof(T));
    }
}

/* Enough independent lanes to hide the latency of additions. */
constexpr unsigned lanes_bytes = 128, lanes_registers = lanes_bytes / register_bytes;

template <class T>
constexpr unsigned lanes_size = lanes_bytes / sizeof(T);

template <class T>
struct lanes {
    vector<T> at[lanes_registers];

    template <unsigned Left, class Merge>
    FORCEINLINE void reduce(T *result, Merge merge) const
    {
        vector<T> left[lanes_registers];
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        left[r] = at[r];
        UNROLLED_FOR(unsigned half = lanes_registers / 2; half > 0; half /= 2)
        UNROLLED_FOR(unsigned r = 0; r < half; r++)
        left[r] = merge(left[r], left[r + half]);
        merge_halves<T, Left, 16 / sizeof(T)>(merge_to_16<T, register_bytes>(left[0], merge),
                                              result, merge);
    }
};

/* Deinterleaves pairs, such as a complex number's parts. */
template <class T>
struct deinterleaved {
    static constexpr unsigned count = vector_lanes<T>;
    vector<T> first, second;

    FORCEINLINE explicit deinterleaved(const void *at)
        : deinterleaved(load<vector<T>>(at),
                        load<vector<T>>(static_cast<const char *>(at) + register_bytes))
    {
    }

    FORCEINLINE deinterleaved(vector<T> a, vector<T> b)
        : deinterleaved(a, b, std::make_index_sequence<count>())
    {
    }

  private:
    template <size_t... Lanes>
    FORCEINLINE deinterleaved(vector<T> a, vector<T> b, std::index_sequence<Lanes...>)
    {
        first = shuffle(a, b, std::index_sequence<2 * Lanes...>());
        second = shuffle(a, b, std::index_sequence<2 * Lanes + 1 ...>());
    }
};

/* ---- going through an array ---- */

/* Elements at the same places of two arrays. */
template <class In>
struct pointer_pair {
    const In *a, *b;

    FORCEINLINE pointer_pair operator+(size_t k) const
    {
        return {a + k, b + k};
    }
};

template <class Elements, unsigned Count>
struct padded_elements;

/* `Count` elements, padded with `padding`. */
template <class In, unsigned Count>
struct padded_elements<const In *, Count> {
    In at[Count];

    FORCEINLINE padded_elements(const In *x, size_t n, In padding)
    {
        for (size_t k = 0; k < Count; k++)
            at[k] = padding;
        if (n)
            copy(x, n * sizeof(In));
    }

  private:
    /* Stores whole registers: a load of a register stalls if it was stored in smaller pieces. */
    FORCEINLINE void copy(const In *x, size_t bytes)
    {
#ifdef __AVX2__
        if constexpr (sizeof at % register_bytes == 0) {
            char *const to = reinterpret_cast<char *>(at);
            const char *const from = reinterpret_cast<const char *>(x);
            UNROLLED_FOR(size_t k = 0; k < sizeof at; k += register_bytes)
            {
                const size_t left = bytes <= k ? 0 : bytes - k;
                copy_register(to + k, from + k, left < register_bytes ? left : register_bytes);
            }
            return;
        }
#endif
        memcpy(at, x, bytes);
    }

#if defined(__AVX512BW__)

    FORCEINLINE static void copy_register(char *to, const char *from, size_t bytes)
    {
        const __mmask64 valid = bytes ? ~uint64_t(0) >> (64 - bytes) : 0;
        _mm512_storeu_si512(to, _mm512_mask_loadu_epi8(load<__m512i>(to), valid, from));
    }

#elif defined(__AVX2__)

    /* Copies 4-byte words; the last one may be partial. */
    FORCEINLINE static void copy_register(char *to, const char *from, size_t bytes)
    {
        const vector<int32_t> word = {0, 1, 2, 3, 4, 5, 6, 7},
                              words = broadcast(int32_t(bytes / 4));
        const vector<int32_t> valid = word < words;
        vector<int32_t> all = load<vector<int32_t>>(to);
        all = valid ? vector<int32_t>(_mm256_maskload_epi32(reinterpret_cast<const int *>(from),
                                                            __m256i(valid)))
                    : all;
        if (sizeof(In) < 4 && bytes % 4) {
            const vector<int32_t> last = broadcast(last_word(to, from + bytes / 4 * 4, bytes % 4));
            all = word == words ? last : all;
        }
        memcpy(to, &all, sizeof all);
    }

    /* `bytes` bytes, 1 to 3, followed by those at `fill`. */
    FORCEINLINE static int32_t last_word(const char *fill, const char *from, size_t bytes)
    {
        uint32_t word = load<uint32_t>(fill) >> 8 * bytes << 8 * bytes;
        if (bytes & 2)
            word |= load<uint16_t>(from);
        if (bytes & 1)
            word |= uint32_t(uint8_t(from[bytes & 2])) << 8 * (bytes & 2);
        return int32_t(word);
    }

#endif
};

template <class In, unsigned Count>
struct padded_elements<pointer_pair<In>, Count> {
    padded_elements<const In *, Count> a, b;
    pointer_pair<In> at;

    FORCEINLINE padded_elements(pointer_pair<In> x, size_t n, In padding)
        : a(x.a, n, padding), b(x.b, n, padding), at{a.at, b.at}
    {
    }
};

/* Accumulator has
 *
 *     using element = ...;
 *     static constexpr unsigned step = ...;     elements per call of update
 *     void update(Elements);                    const element * or pointer_pair<element>
 *
 * and is updated by all elements, padded at the end with the neutral element `padding`. */
template <class Accumulator, class Elements>
FORCEINLINE void accumulate(Accumulator &accumulator, Elements x, size_t n,
                            typename Accumulator::element padding)
{
    const size_t left = n % Accumulator::step;
    const padded_elements<Elements, Accumulator::step> last(x + (n - left), left, padding);
    const Elements runs[] = {x, last.at};
    const size_t lengths[] = {n - left, left ? Accumulator::step : 0};
    for (unsigned run = 0; run < 2; run++)
        for (size_t i = 0; i < lengths[run]; i += Accumulator::step)
            accumulator.update(runs[run] + i);
}

} // namespace
} // namespace KERNELS
