/* Truth values of a byte each as bits. */
#pragma once

#include <stdint.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum { BYTES_AT_ONCE = 16 };

/* Of so many bytes, a bit each, the first the lowest: whether it is not 0. */
#ifdef __SSE2__

static inline unsigned bits_of_bytes(const unsigned char *bytes)
{
    const __m128i loaded = _mm_loadu_si128((const __m128i *)bytes);
    const __m128i zeros = _mm_cmpeq_epi8(loaded, _mm_setzero_si128());
    return ~(unsigned)_mm_movemask_epi8(zeros) & 0xffff;
}

#else

static inline unsigned bits_of_bytes(const unsigned char *bytes)
{
    unsigned bits = 0;
    for (unsigned k = 0; k < BYTES_AT_ONCE; k++)
        bits |= (unsigned)(bytes[k] != 0) << k;
    return bits;
}

#endif
