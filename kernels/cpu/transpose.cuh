/* Transposes rows in memory, which are the columns of a tile. Squares with a side of 16 bytes of
 * elements are transposed in registers, which hold several squares. */
#pragma once

#include "registers.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{
namespace
{

constexpr unsigned square_bytes = 16, squares_in_register = register_bytes / square_bytes;

/* Prefetch distance in bytes for contiguous rows: the hardware prefetcher does not recognize the
 * order in which they are read ("transposed_ahead" in benchmarks/tuning/host.json). */
constexpr size_t transposed_ahead = 4 << 10, line = 64;

/* Loads 16 bytes of every `Step`-th element; Step is 1 or 2. */
template <class T, unsigned Step, size_t... Lanes>
FORCEINLINE vector<uint64_t, 16> load_square(const char *at, std::index_sequence<Lanes...>)
{
    using square = vector<T, 16>;
    if constexpr (Step == 1)
        return load<vector<uint64_t, 16>>(at);
    else
        return vector<uint64_t, 16>(shuffle(load<square>(at), load<square>(at + sizeof(square)),
                                            std::index_sequence<2 * Lanes...>()));
}

/* Loads 16 bytes of each of several rows; row(k) is the address of row k. */
template <class T, unsigned Step, class Row>
FORCEINLINE vector<uint8_t> load_squares(Row row)
{
    const auto square = [=](unsigned k) {
        return load_square<T, Step>(row(k), std::make_index_sequence<16 / sizeof(T)>());
    };
#if defined(__AVX512BW__)
    __m512i x = _mm512_castsi128_si512(__m128i(square(0)));
    x = _mm512_inserti64x2(x, __m128i(square(1)), 1);
    x = _mm512_inserti64x2(x, __m128i(square(2)), 2);
    return vector<uint8_t>(_mm512_inserti64x2(x, __m128i(square(3)), 3));
#elif defined(__AVX2__)
    const __m256i x = _mm256_castsi128_si256(__m128i(square(0)));
    return vector<uint8_t>(_mm256_inserti128_si256(x, __m128i(square(1)), 1));
#else
    return vector<uint8_t>(square(0));
#endif
}

/* Interleaves the lanes of a and b, of their lower or upper halves, within each 16 bytes. */
template <unsigned Half, class Vector, size_t... Lanes>
FORCEINLINE Vector interleave(Vector a, Vector b, std::index_sequence<Lanes...>)
{
    constexpr size_t all = sizeof...(Lanes), square = square_bytes / sizeof(a[0]);
    return shuffle(a, b,
                   std::index_sequence<(Lanes / square * square + Half * square / 2 +
                                        Lanes % square / 2 + Lanes % 2 * all)...>());
}

template <class T, unsigned Step>
struct square_transpose {
    static constexpr unsigned side = square_bytes / sizeof(T), rows = side * squares_in_register;

    static constexpr unsigned read = Step * square_bytes; /* bytes per row */

    /* Prefetches what one iteration reads, and returns the address after it. */
    FORCEINLINE static const char *prefetch(const char *at)
    {
        UNROLLED_FOR(unsigned byte = 0; byte < rows * read; byte += line)
        __builtin_prefetch(at + byte);
        return at + rows * read;
    }

    /* The same for rows that are not contiguous, once per cache line of each row. */
    FORCEINLINE static void prefetch(const char *at, int64_t stride, size_t byte)
    {
        if (byte % line < read)
            UNROLLED_FOR(unsigned k = 0; k < rows; k++)
        __builtin_prefetch(at + k * stride + byte);
    }

    /* Transposes the first `n` elements of `count` rows; `read` bytes of each must be readable. */
    template <bool Whole>
    FORCEINLINE static void transpose(const char *at, int64_t stride, unsigned count, unsigned n,
                                      size_t target_stride, char *to)
    {
        vector<T> x[side], y[side];
        constexpr auto all = std::make_index_sequence<vector_lanes<T>>();
        UNROLLED_FOR(unsigned k = 0; k < side; k++)
        x[k] = vector<T>(load_squares<T, Step>([=](unsigned number) {
            const unsigned row = k + number * side;
            return at + (Whole || row < count ? row : count - 1) * stride;
        }));
        UNROLLED_FOR(unsigned stage = 1; stage < side; stage *= 2)
        {
            UNROLLED_FOR(unsigned k = 0; k < side / 2; k++)
            {
                y[2 * k] = interleave<0>(x[k], x[k + side / 2], all);
                y[2 * k + 1] = interleave<1>(x[k], x[k + side / 2], all);
            }
            UNROLLED_FOR(unsigned k = 0; k < side; k++)
            x[k] = y[k];
        }
        UNROLLED_FOR(unsigned k = 0; k < side; k++)
        if (k < n)
            memcpy(to + k * target_stride, &x[k], Whole ? sizeof x[k] : count * sizeof(T));
    }
};

template <class T>
void transpose_scalar(const struct tile &from, uint64_t first, char *target)
{
    for (uint64_t k = 0; k < from.rows; k++) {
        const char *at =
            from.at + int64_t(k) * from.row_stride + int64_t(first) * from.column_stride;
        char *to = target + (k * from.columns + first) * sizeof(T);
        for (uint64_t row = first; row < from.columns;
             row++, at += from.column_stride, to += sizeof(T))
            memcpy(to, at, sizeof(T));
    }
}

/* Transposes squares and returns the number of rows processed. The last elements of long rows, and
 * the last of many rows, are processed together with preceding ones, which are transposed again.
 * `Whole`: there are at least as many rows as in a square. */
template <class T, unsigned Step, bool Whole>
uint64_t transpose_squares(const struct tile &from, const char *end, char *target)
{
    using square = square_transpose<T, Step>;
    const uint64_t n = from.rows, last = n < square::side ? 0 : n - square::side;
    const int64_t bytes = int64_t(n * Step * sizeof(T)), rows_ahead = transposed_ahead / bytes + 1;
    const bool contiguous = from.column_stride == bytes,
               share_lines =
                   from.column_stride < int64_t(line) && from.column_stride > -int64_t(line);
    const unsigned count = Whole ? square::rows : unsigned(from.columns);
    const int64_t extent = int64_t(count - 1) * from.column_stride;
    uint64_t row = 0;
    for (uint64_t next = 0; next < from.columns; next = row) {
        if (next + count > from.columns)
            next = from.columns - count;
        const char *const at = from.at + int64_t(next) * from.column_stride;
        if (at + (extent > 0 ? extent : 0) + last * Step * sizeof(T) + square::read > end)
            break;
        const char *ahead = at + transposed_ahead;
        for (uint64_t k = 0; k < n; k += square::side) {
            const uint64_t begin = k < last ? k : last;
            if (contiguous)
                ahead = square::prefetch(ahead);
            else if (!share_lines)
                square::prefetch(at + rows_ahead * from.column_stride, from.column_stride,
                                 begin * Step * sizeof(T));
            square::template transpose<Whole>(at + begin * Step * sizeof(T), from.column_stride,
                                              count, n < square::side ? unsigned(n) : square::side,
                                              from.columns * sizeof(T),
                                              target + (begin * from.columns + next) * sizeof(T));
        }
        row = next + count;
    }
    return row;
}

template <class T, unsigned Step>
uint64_t transpose_vectorized(const struct tile &from, const char *end, char *target)
{
    return from.columns < square_transpose<T, Step>::rows
               ? transpose_squares<T, Step, false>(from, end, target)
               : transpose_squares<T, Step, true>(from, end, target);
}

template <class T>
void transpose_all(const struct tile *from, const char *end, char *target)
{
    uint64_t row = 0;
    if constexpr (sizeof(T) < square_bytes) {
        if (from->row_stride == sizeof(T))
            row = transpose_vectorized<T, 1>(*from, end, target);
        else if (from->row_stride == 2 * sizeof(T))
            row = transpose_vectorized<T, 2>(*from, end, target);
    }
    transpose_scalar<T>(*from, row, target);
}

} // namespace
} // namespace KERNELS
