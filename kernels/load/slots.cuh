/* A thread's loads from a row: as many values as fill its slots, of any type that converts to them,
 * and which of these are included.
 *
 * One kernel serves all layouts and all element types that convert to one value type, to keep the
 * number of kernels small. The differences are resolved once for all slots, by branches that are
 * uniform in a warp. */
#pragma once

#include "../vector.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* 16 loads of 4 bytes in flight, or 4 of 16. */
template <class V>
constexpr unsigned slots_per_thread = SLOTS_BYTES / sizeof(V);

/* Positions of the slots: runs of 2^run adjacent elements, whose beginnings are 2^pitch elements
 * apart. Slot 0 is element `first` of the array. */
struct slot_positions {
    uint64_t first;
    unsigned run, pitch;

    __device__ __forceinline__ unsigned offset(unsigned k) const
    {
        return (k >> run << pitch) + (k & ((1u << run) - 1));
    }

    __device__ __forceinline__ uint64_t operator()(unsigned k) const
    {
        return first + offset(k);
    }

    /* A mask of the slots less than `distance` elements after slot 0; no run is cut. */
    __device__ __forceinline__ uint32_t before(int distance) const
    {
        const unsigned runs = distance > 0 ? (unsigned(distance) + (1u << pitch) - 1) >> pitch : 0;
        return low_bits(runs << run);
    }

    /* The same if runs may be cut. */
    __device__ __forceinline__ uint32_t clipped_before(int distance) const
    {
        if (distance <= 0)
            return 0;
        const unsigned runs = unsigned(distance) >> pitch,
                       rest = unsigned(distance) & ((1u << pitch) - 1), length = 1u << run;
        return low_bits((runs << run) + (rest < length ? rest : length));
    }
};

/* ---- elements ---- */

/* The maximum number of elements per load. */
template <class In>
constexpr unsigned elements_per_load = 16 / sizeof(In);

/* Addresses of a thread's slots: single elements that are `step` bytes apart, or runs that are, of
 * as many elements as one load takes. */
struct slot_addresses {
    const char *at;
    int64_t step;

    template <class In, unsigned N>
    static constexpr unsigned length = elements_per_load<In> < N ? elements_per_load<In> : N;

    template <class In, unsigned Length>
    __device__ __forceinline__ const char *run(unsigned k) const
    {
        return at + k / Length * step;
    }
};

struct all_slots : slot_addresses {
    bool in_runs;
    static constexpr bool can_clip = false;

    __device__ __forceinline__ constexpr bool has(unsigned) const
    {
        return true;
    }
};

/* The slots whose bits are set. */
struct some_slots : slot_addresses {
    uint32_t bits;
    static constexpr bool in_runs = false, can_clip = false;

    template <class In, unsigned N>
    static constexpr unsigned length = 1;

    __device__ __forceinline__ bool has(unsigned k) const
    {
        return bits >> k & 1;
    }
};

/* The same in runs, which may be cut. */
struct clipped_runs : slot_addresses {
    uint32_t bits, whole; /* whole: those of a run that is not cut */
    static constexpr bool in_runs = true, can_clip = true;

    __device__ __forceinline__ bool has(unsigned k) const
    {
        return (bits >> k & whole) == whole;
    }
};

/* Load the existing elements of a run. */
template <class In, unsigned Length>
__device__ __forceinline__ void load_clipped(In (&run)[Length], const char *at, uint32_t present)
{
#pragma unroll
    for (unsigned j = 0; j < Length; j++)
        if (present >> j & 1)
            run[j] = reinterpret_cast<const In *>(at)[j];
}

template <class In, unsigned N, class Slots>
__device__ __forceinline__ void load_elements(In (&x)[N], const Slots &from)
{
    constexpr unsigned length = Slots::template length<In, N>;
    if (length > 1 && from.in_runs) {
#pragma unroll
        for (unsigned k = 0; k < N; k += length) {
            const char *const at = from.template run<In, length>(k);
            pack<In, length> run = {};
            if (from.has(k))
                run = *reinterpret_cast<const pack<In, length> *>(at);
            else if constexpr (Slots::can_clip)
                load_clipped(run.at, at, from.bits >> k);
#pragma unroll
            for (unsigned j = 0; j < length; j++)
                x[k + j] = run.at[j];
        }
    } else {
#pragma unroll
        for (unsigned k = 0; k < N; k++) {
            x[k] = In();
            if (from.has(k))
                x[k] = *reinterpret_cast<const In *>(from.template run<In, 1>(k));
        }
    }
}

/* Load elements of the size of Bits into words that are at least as large. */
template <class Bits, class Word, unsigned N, class Slots>
__device__ __forceinline__ void load_bits(Word (&words)[N], const Slots &from)
{
    Bits loaded[N];
    load_elements(loaded, from);
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        words[k] = loaded[k];
}

template <class In, class V, class Word, unsigned N>
__device__ __forceinline__ void convert(V (&x)[N], const Word (&words)[N])
{
#pragma unroll
    for (unsigned k = 0; k < N; k++) {
        In element;
        memcpy(&element, &words[k], sizeof element);
        x[k] = V(element);
    }
}

/* Whether elements of type In, other than V, convert to V without rounding or overflow;
 * strided_entry.cuh has the same for enumerators. */
template <class V, class In>
constexpr bool lossless = std::is_same_v<V, float>     ? sizeof(In) == 2 && !std::is_integral_v<In>
                          : std::is_same_v<V, double>  ? std::is_integral_v<In> || sizeof(In) == 4
                          : std::is_same_v<V, int64_t> ? std::is_integral_v<In> && sizeof(In) < 8
                                                       : false;
template <class V>
constexpr bool lossless<V, boolean> = std::is_same_v<V, double> || std::is_same_v<V, int64_t>;

/* The word into which elements that convert to V are loaded. */
template <class V>
struct slot {
    using type = std::conditional_t<sizeof(V) == sizeof(uint32_t), uint32_t, uint64_t>;
};

template <>
struct slot<complex<double>> {
    using type = complex<double>;
};

/* Load elements of `bytes` bytes. */
template <unsigned N, class Slots>
__device__ __forceinline__ void load_words(uint32_t (&words)[N], unsigned bytes, const Slots &from)
{
    if (bytes == sizeof(uint16_t))
        load_bits<uint16_t>(words, from);
    else
        load_elements(words, from);
}

template <unsigned N, class Slots>
__device__ __forceinline__ void load_words(uint64_t (&words)[N], unsigned bytes, const Slots &from)
{
    switch (bytes) {
    case sizeof(uint8_t):
        return load_bits<uint8_t>(words, from);
    case sizeof(uint16_t):
        return load_bits<uint16_t>(words, from);
    case sizeof(uint32_t):
        return load_bits<uint32_t>(words, from);
    default:
        return load_elements(words, from);
    }
}

template <unsigned N, class Slots>
__device__ __forceinline__ void load_words(complex<double> (&words)[N], unsigned bytes,
                                           const Slots &from)
{
    if (bytes == sizeof(complex<double>))
        return load_elements(words, from);
    complex<float> narrow[N];
    load_elements(narrow, from);
#pragma unroll
    for (unsigned k = 0; k < N; k++)
        words[k] = {double(narrow[k].real), double(narrow[k].imag)};
}

/* Convert elements, which begin in the lowest byte of a word, to values. */
template <class V, class Word, unsigned N>
__device__ __forceinline__ void decode(V (&x)[N], const Word (&words)[N], enum element input)
{
#define DECODE(NAME, In)                                                                           \
    case ELEMENT_##NAME:                                                                           \
        if constexpr (lossless<V, In>)                                                             \
            return convert<In>(x, words);                                                          \
        break;
    switch (input) {
        DECODE(BOOL, boolean)
        DECODE(INT8, int8_t)
        DECODE(INT16, int16_t)
        DECODE(INT32, int32_t)
        DECODE(INT64, int64_t)
        DECODE(UINT8, uint8_t)
        DECODE(UINT16, uint16_t)
        DECODE(UINT32, uint32_t)
        DECODE(UINT64, uint64_t)
        DECODE(FLOAT16, float16)
        DECODE(BFLOAT16, bfloat16)
        DECODE(FLOAT32, float)
    default:
        break;
    }
    convert<V>(x, words);
}

/* Shift the next of several elements in a word to its lowest byte. */
template <class Word, unsigned N>
__device__ __forceinline__ void shift_words(Word (&words)[N], unsigned bytes)
{
    if constexpr (std::is_integral_v<Word>) {
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            words[k] >>= 8 * bytes;
    }
}

/* ---- masks ---- */

/* Bit k is set if byte k is not 0. */
__device__ __forceinline__ uint32_t byte_movemask(uint32_t word)
{
    return ((nonzero_bytes(word) >> 7) * 0x10204080) >> 28;
}

/* The slots whose byte in the mask is not 0, if the bytes of four slots are adjacent; that of slot
 * 0 is at `at`. Reads aligned words, so up to 3 bytes beyond either end. */
template <unsigned N>
__device__ __forceinline__ uint32_t mask_by_words(const unsigned char *at,
                                                  const slot_positions &slots)
{
    const unsigned shift = reinterpret_cast<uintptr_t>(at) % 4;
    uint32_t words[N / 4], next[N / 4] = {};
#pragma unroll
    for (unsigned k = 0; k < N; k += 4)
        words[k / 4] = *reinterpret_cast<const uint32_t *>(at - shift + slots.offset(k));
    if (shift) {
#pragma unroll
        for (unsigned k = 0; k < N; k += 4)
            next[k / 4] = *reinterpret_cast<const uint32_t *>(at - shift + slots.offset(k) + 4);
    }
    uint32_t valid = 0;
#pragma unroll
    for (unsigned k = 0; k < N; k += 4)
        valid |= byte_movemask(uint32_t((uint64_t(next[k / 4]) << 32 | words[k / 4]) >> 8 * shift))
                 << k;
    return valid;
}

/* The same byte by byte, for the slots in `present`. */
template <unsigned N>
__device__ __forceinline__ uint32_t mask_by_bytes(const unsigned char *at, int64_t stride,
                                                  const slot_positions &slots, uint32_t present)
{
    uint32_t valid = 0;
#pragma unroll 8
    for (unsigned k = 0; k < N; k++)
        if (present >> k & 1)
            valid |= uint32_t(at[slots.offset(k) * stride] != 0) << k;
    return valid;
}

} // namespace KERNELS
