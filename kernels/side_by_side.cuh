/* What a thread keeps of neighbouring columns while it runs down their rows: as many columns as 16
 * bytes have, each in as little as it takes. It takes in several rows at a time, from packs whose
 * rows have numbers of the thread's own, and becomes states of a fold when there are no more, or,
 * of a thread that has had all rows, what results are made of: made(column, rows) is a row_fold's.
 *
 * A block has ROWS_A_BLOCK rows at most; see there. */
#pragma once

#include "halves.cuh"
#include "reductions.cuh"
#include "vector.cuh"

namespace KERNELS
{

/* ---- rows as they are loaded ---- */

/* As many neighbours as one load takes. */
struct alignas(16) row_words {
    uint32_t at[4];
};

/* Element number k of them. */
template <class In>
__device__ __forceinline__ In element_at(const row_words &row, unsigned k)
{
    In element;
    if constexpr (sizeof(In) == sizeof(uint64_t)) {
        memcpy(&element, row.at + 2 * k, sizeof element);
    } else if constexpr (sizeof(In) == sizeof(uint32_t)) {
        memcpy(&element, row.at + k, sizeof element);
    } else {
        static_assert(sizeof(In) == sizeof(uint16_t), "bytes are taken by words");
        const uint16_t bits = uint16_t(row.at[k / 2] >> k % 2 * 16);
        memcpy(&element, &bits, sizeof element);
    }
    return element;
}

/* 16 bytes of 32, from byte `begin` on, which is a multiple of an element's size. */
template <class In>
__device__ __forceinline__ row_words joined(const row_words &low, const row_words &high,
                                            unsigned begin)
{
    uint32_t words[8] = {low.at[0],  low.at[1],  low.at[2],  low.at[3],
                         high.at[0], high.at[1], high.at[2], high.at[3]};
    row_words row;
#pragma unroll
    for (unsigned k = 0; k < 6; k++)
        words[k] = begin & 8 ? words[k + 2] : words[k];
#pragma unroll
    for (unsigned k = 0; k < 5 && sizeof(In) <= 4; k++)
        words[k] = begin & 4 ? words[k + 1] : words[k];
#pragma unroll
    for (unsigned k = 0; k < 4; k++)
        row.at[k] = sizeof(In) < 4 ? moved_down(words[k], words[k + 1], begin % 4) : words[k];
    return row;
}

/* Element by element, those that there are, `Step` from each other. */
template <class In, unsigned Step = 1>
__device__ __forceinline__ row_words edge_of_row(const char *at, unsigned count)
{
    constexpr unsigned columns = pack<In>::size;
    pack<In> elements;
    row_words row;
#pragma unroll
    for (unsigned c = 0; c < columns; c++)
        elements.at[c] = seen_as<const In>(at)[c < count ? c * Step : 0];
    memcpy(&row, &elements, sizeof row);
    return row;
}

/* Four rows of four bytes as columns: byte k of column c is byte c of row k. */
struct four_columns {
    uint32_t at[4];

    __device__ __forceinline__ four_columns(uint32_t a, uint32_t b, uint32_t c, uint32_t d)
    {
        const uint32_t low = selected_bytes(a, b, 0x5140),
                       low_of_others = selected_bytes(c, d, 0x5140),
                       high = selected_bytes(a, b, 0x7362),
                       high_of_others = selected_bytes(c, d, 0x7362);
        at[0] = selected_bytes(low, low_of_others, 0x5410);
        at[1] = selected_bytes(low, low_of_others, 0x7632);
        at[2] = selected_bytes(high, high_of_others, 0x5410);
        at[3] = selected_bytes(high, high_of_others, 0x7632);
    }
};

/* Calls take(column, word) with the bytes of up to four rows of a column in one word, and 0 in
 * place of those that are not there. */
template <unsigned Rows, class Take>
__device__ __forceinline__ void each_column_of_bytes(const row_words (&rows)[Rows], Take take)
{
#pragma unroll
    for (unsigned first = 0; first < Rows; first += 4) {
        row_words words[4] = {};
#pragma unroll
        for (unsigned r = 0; r < 4 && r < Rows; r++)
            words[r] = rows[first + r];
#pragma unroll
        for (unsigned w = 0; w < 4; w++) {
            const four_columns columns(words[0].at[w], words[1].at[w], words[2].at[w],
                                       words[3].at[w]);
#pragma unroll
            for (unsigned c = 0; c < 4; c++)
                take(4 * w + c, columns.at[c]);
        }
    }
}

/* ---- what is kept ---- */

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

/* ---- spreads ---- */

/* Of a few rows of a column: their mean, and the sum of squared deviations from it. */
struct few_rows {
    double mean, deviation;

    template <unsigned Rows, class In>
    __device__ __forceinline__ few_rows(In, const row_words (&rows)[Rows], unsigned c)
    {
        double values[Rows];
#pragma unroll
        for (unsigned r = 0; r < Rows; r++)
            values[r] = widened_element(element_at<In>(rows[r], c));
        mean = added_in_lanes<Rows, double>([&](unsigned r) { return values[r]; }) * (1.0 / Rows);
        deviation =
            added_in_lanes<Rows, double>([&](unsigned r) { return squared(values[r] - mean); });
    }
};

/* A few rows at a time; all columns have the same counts, so that they share the division. As soon
 * as there were as many rows before, deviations are from their mean: collected.cuh says why. */
template <class V, class In>
struct side_by_side<variance<V>, In> {
    static constexpr unsigned columns = pack<In>::size;
    double mean[columns], deviation[columns];

    __device__ __forceinline__ side_by_side() : mean(), deviation() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t before)
    {
        if (before < Rows)
            take_first(rows, before);
        else
            take_more(rows, before);
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take_first(const row_words (&rows)[Rows], uint32_t before)
    {
        const double share = ratio_of_counts(Rows, double(before) + Rows),
                     weight = double(before) * share;
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const few_rows few(In(), rows, c);
            const double delta = few.mean - mean[c];
            mean[c] = before ? mean[c] + delta * share : few.mean;
            deviation[c] =
                before ? deviation[c] + few.deviation + delta * delta * weight : few.deviation;
        }
    }

    template <unsigned Rows>
    __device__ __forceinline__ void take_more(const row_words (&rows)[Rows], uint32_t before)
    {
        const double inverse = ratio_of_counts(1, double(before) + Rows);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            double sum, squares;
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const double d = double(element_at<In>(rows[r], c)) - mean[c];
                sum = r == 0 ? d : sum + d;
                squares = r == 0 ? d * d : fma(d, d, squares);
            }
            const double share = sum * inverse;
            mean[c] += share;
            deviation[c] += fma(-sum, share, squares);
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t) const
    {
        return deviation[c];
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        return {double(taken.count), mean[c], deviation[c]};
    }
};

/* Sums of halves and of their squares, of up to 2^6 rows. If magnitudes are within a factor of
 * 2^12, both are exact in float64, for a square has 22 bits; and otherwise what deviations make is
 * half of the greatest square, of which the squares are 2^6 at most. Their roundings, of 2^4
 * additions one after the other, are then as far below it as a variance's may be. */
template <class V, class In>
struct spreads_of_halves {
    static constexpr unsigned columns = pack<In>::size, words = columns / 2;
    static constexpr uint32_t most = 1 << 6;
    double sum[columns], squares[columns], mean[columns], deviation[columns];
    finite_halves<In> finite[words];
    uint32_t settled = 0;

    __device__ __forceinline__ spreads_of_halves() : sum(), squares(), mean(), deviation() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t before)
    {
        if (before + Rows > settled + most)
            settle(before);
#pragma unroll
        for (unsigned w = 0; w < words; w++) {
            double of_rows[2], of_squares[2];
#pragma unroll
            for (unsigned r = 0; r < Rows; r++) {
                const two_halves<In> x(rows[r].at[w]);
                finite[w].take(rows[r].at[w]);
#pragma unroll
                for (unsigned i = 0; i < 2; i++) {
                    of_rows[i] = r == 0 ? x.at[i] : of_rows[i] + x.at[i];
                    of_squares[i] =
                        r == 0 ? x.at[i] * x.at[i] : fma(x.at[i], x.at[i], of_squares[i]);
                }
            }
#pragma unroll
            for (unsigned i = 0; i < 2; i++) {
                sum[2 * w + i] += of_rows[i];
                squares[2 * w + i] += of_squares[i];
            }
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t count) const
    {
        const double deviation = all_of(c, latest_rows(settled, count)).deviation;
        return is_finite(c) ? deviation : not_a_number<double>();
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        if (taken.count == 0)
            return variance<V>::identity();
        const double count = double(taken.count), nan = not_a_number<double>();
        const moments<double> all = all_of(c, latest_rows(settled, taken.count));
        return {count, is_finite(c) ? all.mean : nan, is_finite(c) ? all.deviation : nan};
    }

  private:
    __device__ __forceinline__ bool is_finite(unsigned c) const
    {
        return c % 2 == 0 || finite[c / 2].are_all();
    }

    /* What all columns have in common. */
    struct latest_rows {
        double count, inverse, share, weight;

        __device__ __forceinline__ latest_rows(uint32_t settled, uint32_t taken)
            : count(double(taken - settled)), inverse(ratio_of_counts(1, count)),
              share(ratio_of_counts(count, double(taken))), weight(double(settled) * share)
        {
        }
    };

    __device__ __forceinline__ moments<double> all_of(unsigned c, const latest_rows &latest) const
    {
        const moments<double> own =
            moments_of_sums(sum[c], squares[c], latest.count, latest.inverse);
        if (settled == 0)
            return own;
        const double delta = own.mean - mean[c];
        return {latest.count, mean[c] + delta * latest.share,
                deviation[c] + own.deviation + delta * delta * latest.weight};
    }

    __device__ __forceinline__ void settle(uint32_t taken)
    {
        const latest_rows latest(settled, taken);
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            const moments<double> all = all_of(c, latest);
            mean[c] = all.mean;
            deviation[c] = all.deviation;
            sum[c] = squares[c] = 0;
        }
        settled = taken;
    }
};

template <class V>
struct side_by_side<variance<V>, float16> : spreads_of_halves<V, float16> {};

template <class V>
struct side_by_side<variance<V>, bfloat16> : spreads_of_halves<V, bfloat16> {};

/* Sums of 2^16 elements and of their squares are less than 2^31, so both are exact, and so is what
 * is left of them: count * squares is less than 2^46. */
template <class V>
struct side_by_side<variance<V>, int8_t> {
    static constexpr unsigned columns = 16;
    struct merges_words;
    int32_t totals[columns], squares[columns];

    __device__ __forceinline__ side_by_side() : totals(), squares() {}

    template <unsigned Rows>
    __device__ __forceinline__ void take(const row_words (&rows)[Rows], uint32_t)
    {
        each_column_of_bytes(rows, [&](unsigned c, uint32_t bytes) {
            totals[c] = packing<int8_t>::sum(int32_t(bytes), totals[c]);
            squares[c] = int32_t(packing<int8_t>::squares(int32_t(bytes), squares[c]));
        });
    }

    __device__ __forceinline__ void number_in_team(const rows_taken &) {}

    template <class Move>
    __device__ __forceinline__ void merge(Move move)
    {
#pragma unroll
        for (unsigned c = 0; c < columns; c++) {
            totals[c] += move(totals[c]);
            squares[c] += move(squares[c]);
        }
    }

    __device__ __forceinline__ double made(unsigned c, uint32_t count) const
    {
        return double(int64_t(count) * squares[c] - int64_t(totals[c]) * totals[c]);
    }

    __device__ __forceinline__ state_of<variance<V>> state(unsigned c, const rows_taken &taken,
                                                           unsigned, unsigned) const
    {
        const double count = double(taken.count);
        return taken.count ? state_of<variance<V>>{count, ratio_of_counts(totals[c], count),
                                                   ratio_of_counts(made(c, taken.count), count)}
                           : variance<V>::identity();
    }
};

} // namespace KERNELS
