/* What a thread keeps of neighbouring columns while it runs down their rows: as many columns as 16
 * bytes have, each in as little as it takes. It takes in several rows at a time, from packs whose
 * rows have numbers of the thread's own, and becomes states of a fold when there are no more, or,
 * of a thread that has had all rows, what results are made of: made(column, rows) is a row_fold's.
 *
 * A block has ROWS_A_BLOCK rows at most; see there. */
#pragma once

#include "reductions.cuh"
#include "row_words.cuh"

namespace KERNELS
{

/* Where the rows of a team of 2^team threads lie among all, and how many of them a state is of. A
 * row's number in its team says which of whose it is: the thread's own count, and below it the
 * thread. */
struct rows_taken {
    uint64_t first, step;
    unsigned team, own;
    uint32_t count;

    __device__ __forceinline__ uint32_t number(uint32_t taken) const
    {
        return taken << team | own;
    }

    __device__ __forceinline__ uint64_t row(uint32_t number, unsigned repeats, unsigned part) const
    {
        const uint32_t member = number & ((1u << team) - 1);
        return (first + (number >> team) * step + member) * repeats + part;
    }
};

/* What is kept of bytes is words, which a warp's threads may merge before they become states. */
template <class Columns>
__device__ __forceinline__ void merge_with_lane(Columns &own, rows_taken &taken, unsigned offset)
{
    own.merge([&](auto word) { return __shfl_down_sync(whole_warp, word, offset); });
    taken.count += __shfl_down_sync(whole_warp, taken.count, offset);
}

/* States that are values: neighbours first, which makes the error of a sum less. */
template <class Fold, class In>
struct side_by_side {
    static constexpr unsigned columns = pack<In>::size;
    struct leaves_no_registers; /* of 1024 threads a multiprocessor */
    using value = value_of<Fold>;
    value best[columns];

    __device__ __forceinline__ side_by_side()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            best[c] = Fold::identity();
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            value values[Rows];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++)
                values[r] = value(element_at<In>(rows[r], c));
#pragma unroll
            for (unsigned apart = 1; apart < Rows; apart *= 2)
#pragma unroll
                for (unsigned r = 0; r < Rows; r += 2 * apart)
                    values[r] = Fold::merge(values[r], values[r + apart]);
            best[c] = Fold::merge(best[c], values[0]);
        }
    }

    __device__ __forceinline__ value made(unsigned c, uint32_t) const
    {
        return best[c];
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &, unsigned,
                                                    unsigned) const
    {
        return best[c];
    }
};

/* 2^16 rows of -128 are 2^23. */
template <class V>
struct side_by_side<sum<V>, int8_t> {
    static constexpr unsigned columns = 16;
    struct merges_words;
    int32_t totals[columns];

    __device__ __forceinline__ side_by_side() : totals() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
        each_column_of_bytes(rows, [&](unsigned c, uint32_t bytes) {
            totals[c] = packing<int8_t>::sum(int32_t(bytes), totals[c]);
        });
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            totals[c] += move(totals[c]);
    }

    __device__ __forceinline__ int made(unsigned c, uint32_t) const
    {
        return totals[c];
    }

    __device__ __forceinline__ V state(unsigned c, const rows_taken &, unsigned, unsigned) const
    {
        return totals[c];
    }
};

/* Of halves, the one with the best byte at the top is as good as any: so odd bytes are found in
 * words as they are, and even ones in words moved up by a byte. */
template <class Fold, bool Least>
struct best_bytes {
    static constexpr unsigned columns = 16, words = 4;
    struct merges_words;
    uint32_t even[words], odd[words];

    __device__ __forceinline__ best_bytes()
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++)
            even[w] = odd[w] = Least ? 0x7fff7fff : 0x80008000;
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const row_words &row = rows[r];
#pragma unroll
            for (unsigned w = 0; w < words; w++) {
                even[w] = best_of_signed_halves<Least>(even[w], row.at[w] << 8);
                odd[w] = best_of_signed_halves<Least>(odd[w], row.at[w]);
            }
        }
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            even[w] = best_of_signed_halves<Least>(even[w], move(even[w]));
            odd[w] = best_of_signed_halves<Least>(odd[w], move(odd[w]));
        }
    }

    __device__ __forceinline__ int made(unsigned c, uint32_t) const
    {
        const uint32_t word = c & 1 ? odd[c / 4] : even[c / 4];
        return int8_t(word >> (c & 2 ? 24 : 8));
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken, unsigned,
                                                    unsigned) const
    {
        return taken.count ? state_of<Fold>(made(c, taken.count)) : Fold::identity();
    }
};

template <class V>
struct side_by_side<min<V>, int8_t> : best_bytes<min<V>, true> {};

template <class V>
struct side_by_side<max<V>, int8_t> : best_bytes<max<V>, false> {};

/* The first of equals is kept, and the first NaN: what is not worse than the best, which a NaN
 * never is, takes its place, unless that is NaN. A column of nothing but the worst is won by its
 * first row. */
template <class Fold, class V, template <class> class Order, class In>
struct best_places {
    static constexpr unsigned columns = pack<In>::size;
    static constexpr bool is_least = Order<int>::worst > 0;
    V best[columns];
    uint32_t number[columns];

    __device__ __forceinline__ best_places()
    {
        constexpr V worst = Order<V>::worst;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            best[c] = worst;
            number[c] = 0;
        }
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t first)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const V x = V(element_at<In>(rows[r], c));
                const bool wins = !(is_least ? x >= best[c] : x <= best[c]) && !is_nan(best[c]);
                best[c] = wins ? x : best[c];
                number[c] = wins ? first + r : number[c];
            }
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t) const
    {
        return number[c];
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned repeats, unsigned part) const
    {
        return taken.count ? Fold::lift(best[c], taken.row(taken.number(number[c]), repeats, part))
                           : Fold::identity();
    }
};

template <class V, class In>
struct side_by_side<argmin<V>, In> : best_places<argmin<V>, V, by_least, In> {};

template <class V, class In>
struct side_by_side<argmax<V>, In> : best_places<argmax<V>, V, by_greatest, In> {};

/* A byte, and below it the row's number, such that of equal bytes the first is best. */
template <class Fold, bool Least>
struct best_keys {
    static constexpr unsigned columns = 16;
    static constexpr uint32_t numbers = 0xffffff;
    struct merges_words;
    int32_t key[columns];

    __device__ __forceinline__ best_keys()
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++)
            key[c] = Least ? INT32_MAX : INT32_MIN;
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t first)
    {
#pragma unroll
        for (unsigned r = 0; r < Rows; r++) {
            const row_words &row = rows[r];
            const uint32_t number = Least ? first + r : numbers - (first + r);
#pragma unroll
            for (unsigned c = 0; c < columns; c++) {
                const int32_t own =
                    int32_t(selected_bytes(number, row.at[c / 4], 0x4210 + c % 4 * 0x1000));
                key[c] = Least ? least_number(key[c], own) : greatest_number(key[c], own);
            }
        }
    }

    /* A row's number in its team instead of the thread's own. */
    __device__ __forceinline__ void number_in_team(const rows_taken &taken)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const uint32_t low = key[c] & numbers,
                           number = taken.number(Least ? low : numbers - low);
            key[c] = int32_t((uint32_t(key[c]) & ~numbers) | (Least ? number : numbers - number));
        }
    }

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const int32_t other = move(key[c]);
            key[c] = Least ? least_number(key[c], other) : greatest_number(key[c], other);
        }
    }

    __device__ __forceinline__ unsigned made(unsigned c, uint32_t count) const
    {
        const uint32_t low = key[c] & numbers;
        return count == 0 ? 0 : Least ? low : numbers - low;
    }

    __device__ __forceinline__ state_of<Fold> state(unsigned c, const rows_taken &taken,
                                                    unsigned repeats, unsigned part) const
    {
        return taken.count ? Fold::lift(value_of<Fold>(key[c] >> 24),
                                        taken.row(made(c, taken.count), repeats, part))
                           : Fold::identity();
    }
};

template <class V>
struct side_by_side<argmin<V>, int8_t> : best_keys<argmin<V>, true> {};

template <class V>
struct side_by_side<argmax<V>, int8_t> : best_keys<argmax<V>, false> {};

} // namespace KERNELS
