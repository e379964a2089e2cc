/* Sums, and counts of nonzero elements. Floats are added in lanes, a few at a time, and the lanes'
 * sums are added as a tree, so that errors grow with the logarithm of the length; sums in lanes of
 * twice the bits are sequential. Narrow integers are added in pairs, within spare bits that suffice
 * for a loop's maximum length. */
#pragma once

#include "../reductions.cuh"
#include "convert.cuh"
#include "registers.cuh"
#include "types.cuh"

namespace KERNELS
{
namespace
{

/* ---- floats ---- */

/* Base of transformations of elements before they are added: `elements` per lane. */
struct elementwise {
    static constexpr unsigned elements = 1;
};

struct no_transform : elementwise {
    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        return load_as<T>(x);
    }
};

/* A fold of values, independent in each lane. */
template <class T, template <class> class Fold>
struct fold_lanes {
    lanes<T> totals;

    FORCEINLINE fold_lanes()
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = broadcast(Fold<T>::identity());
    }

    FORCEINLINE void merge(const fold_lanes &other)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = combine(totals.at[r], other.totals.at[r]);
    }

    template <unsigned Parts>
    FORCEINLINE void total(T *parts) const
    {
        totals.template reduce<Parts>(parts, [](auto a, auto b) { return combine(a, b); });
    }

    template <class V>
    FORCEINLINE V total_as() const
    {
        V all;
        total<parts_of<V>::count>(reinterpret_cast<T *>(&all));
        return all;
    }

    /* Uses unsigned vectors, since signed integers would not wrap around. */
    template <class Values>
    FORCEINLINE static Values combine(Values a, Values b)
    {
        if constexpr (std::is_integral_v<T> && std::is_same_v<Values, vector<T>>) {
            using wrapping = vector<bits_of<sizeof(T)>>;
            return Values(Fold<wrapping>::merge(wrapping(a), wrapping(b)));
        } else {
            return Fold<Values>::merge(a, b);
        }
    }
};

/* Sums, or products, of elements' parts, in lanes. */
template <class In, class T, template <class> class Fold = sum, class Transform = no_transform>
struct sum_lanes : fold_lanes<T, Fold> {
    using element = In;
    using fold_lanes<T, Fold>::totals;
    /* Rounding errors of a loop are too small to matter in the elements' precision. */
    static constexpr bool is_wide = std::is_same_v<T, double> && sizeof(In) < sizeof(T);
    static constexpr unsigned per_register = Transform::elements * vector_lanes<T>,
                              step = lanes_registers * per_register;

    FORCEINLINE void update(const In *x, const Transform &f = {})
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = this->combine(totals.at[r], f.template apply<T>(x + r * per_register));
    }
};

/* The lanes of values none of whose parts is NaN. */
template <unsigned Parts, class Values>
FORCEINLINE auto number_mask(Values values)
{
    if constexpr (Parts == 1) {
        return values == values;
    } else {
        constexpr auto all = std::make_index_sequence<sizeof values / sizeof values[0]>();
        const Values others = swap_pairs(values, all);
        return (values == values) & (others == others);
    }
}

/* Sums without NaNs, with a count of the other elements: for all lanes together, or, with a counter
 * per register, for each lane. */
template <class In, class T, unsigned Parts, unsigned Counters = 1>
struct nansum_lanes : sum_lanes<In, T> {
    using sums = sum_lanes<In, T>;
    using sums::totals;
    decltype(vector<T>{} == vector<T>{}) counts[Counters] = {};

    FORCEINLINE void update(const In *x)
    {
        const vector<T> identity = broadcast(sum<T>::identity());
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> values = load_as<T>(x + r * vector_lanes<T>);
            const auto is_number = number_mask<Parts>(values);
            counts[r % Counters] -= is_number;
            totals.at[r] = added(totals.at[r], is_number ? values : identity);
        }
    }

    FORCEINLINE void merge(const nansum_lanes &other)
    {
        sums::merge(other);
        UNROLLED_FOR(unsigned r = 0; r < Counters; r++)
        counts[r] += other.counts[r];
    }

    FORCEINLINE uint64_t count() const
    {
        uint64_t count = 0;
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<T>; k++)
        count += counts[0][k];
        return count / Parts;
    }
};

/* Steps that are added sequentially, a run. Memory is read in order. Processors look ahead over
 * several runs, and so start the next ones while the dependent additions of one are in progress
 * ("runs" in benchmarks/tuning/host.json). */
constexpr size_t steps_per_run = 8;

template <class Lanes, class Elements>
FORCEINLINE Lanes reduce_run(Elements x, size_t steps)
{
    Lanes lanes;
    for (size_t k = 0; k < steps; k++, x = x + Lanes::step)
        lanes.update(x);
    return lanes;
}

/* Merges runs as a tree: two of equal length as soon as both are complete. */
template <class Lanes, class Elements>
NOINLINE Lanes reduce_as_tree(Elements x, size_t steps)
{
    constexpr unsigned max_levels = 8;
    static_assert(2 * CHUNK_MAX / Lanes::step <= steps_per_run << (max_levels - 1),
                  "a tree needs more levels");
    struct {
        alignas(64) char at[sizeof(Lanes)];
    } levels[max_levels];
    const auto level = [&](unsigned k) { return reinterpret_cast<Lanes *>(levels[k].at); };
    unsigned top = 0;
    for (size_t run = 0; steps; run++) {
        const size_t count = steps < steps_per_run ? steps : steps_per_run;
        Lanes lanes = reduce_run<Lanes>(x, count);
        x = x + count * Lanes::step;
        steps -= count;
        for (size_t done = run; done & 1; done >>= 1) {
            level(--top)->merge(lanes);
            lanes = *level(top);
        }
        *level(top++) = lanes;
    }
    for (; top > 1; top--)
        level(top - 2)->merge(*level(top - 1));
    return *level(0);
}

template <class Lanes, class Elements>
NOINLINE Lanes reduce_to_lanes(Elements x, size_t n, typename Lanes::element padding)
{
    Lanes lanes;
    if constexpr (Lanes::is_wide) {
        accumulate(lanes, x, n, padding);
    } else {
        const size_t left = n % Lanes::step, steps = n / Lanes::step;
        lanes =
            steps <= steps_per_run ? reduce_run<Lanes>(x, steps) : reduce_as_tree<Lanes>(x, steps);
        if (left) {
            const padded_elements<Elements, Lanes::step> last(x + (n - left), left, padding);
            Lanes of_last;
            of_last.update(Elements(last.at));
            lanes.merge(of_last);
        }
    }
    return lanes;
}

/* Folds the elements' parts in lanes, as a tree; `padding` is the neutral element. */
template <class V, template <class> class Fold, class Transform, class In>
FORCEINLINE V reduce_array(const In *elements, size_t n, real_of<In> padding = {})
{
    using in = real_of<In>;
    return reduce_to_lanes<sum_lanes<in, real_of<V>, Fold, Transform>>(
               reinterpret_cast<const in *>(elements), n * parts_of<In>::count, padding)
        .template total_as<V>();
}

template <class V, class In>
FORCEINLINE V float_sum(const In *x, size_t n)
{
    return reduce_array<V, sum, no_transform>(x, n, additive_identity<real_of<In>>());
}

template <class V, class In>
FORCEINLINE state_of<nansum<V>> nansum_state(const In *x, size_t n)
{
    constexpr unsigned parts = parts_of<V>::count;
    using in = real_of<In>;
    const auto lanes = reduce_to_lanes<nansum_lanes<in, real_of<V>, parts>>(
        reinterpret_cast<const in *>(x), n * parts, nan_element<in>());
    return {lanes.template total_as<V>(), lanes.count()};
}

template <class In, class V>
void nansum_loop(const void *elements, size_t n, uint64_t, void *state)
{
    store_state<nansum<V>>(state, nansum_state<V>(static_cast<const In *>(elements), n));
}

/* ---- integers ---- */

/* Adds adjacent elements in twice as many bits. */
template <class U, class Wide = bits_of<2 * sizeof(U)>>
FORCEINLINE vector<Wide> add_pairs(vector<U> x)
{
    const vector<Wide> pairs = vector<Wide>(x);
    return (pairs & Wide(U(-1))) + (pairs >> 8 * sizeof(U));
}

template <class U>
FORCEINLINE uint64_t horizontal_sum(vector<U> x)
{
    if constexpr (sizeof(U) < sizeof(uint64_t)) {
        return horizontal_sum<bits_of<2 * sizeof(U)>>(add_pairs<U>(x));
    } else {
        uint64_t total = 0;
        UNROLLED_FOR(unsigned k = 0; k < vector_lanes<U>; k++)
        total += x[k];
        return total;
    }
}

/* Maps signed integers to unsigned ones: by adding `bias`, ... */
template <class In>
struct biased {
    using bits = bits_of<sizeof(In)>;
    static constexpr bits bias =
        std::is_signed_v<In> && sizeof(In) < sizeof(uint64_t) ? bits(1) << (8 * sizeof(In) - 1) : 0;

    template <class Bits>
    FORCEINLINE static Bits apply(Bits x)
    {
        return x ^ bias;
    }
};

/* ... or by taking magnitudes. */
template <class In>
struct unsigned_magnitude {
    static constexpr bits_of<sizeof(In)> bias = 0;

    template <class Bits>
    FORCEINLINE static Bits apply(Bits x)
    {
        if constexpr (std::is_signed_v<In>) {
            const Bits sign = Bits(vector<In>(x) < 0);
            return (x ^ sign) - sign;
        } else {
            return x;
        }
    }
};

/* Adds unsigned integers: adjacent ones in pairs, if there is a wider type. */
template <template <class> class Map, bool Widens>
struct pair_sums {
    static constexpr unsigned elements = Widens ? 2 : 1;

    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        using bits = bits_of<sizeof(In)>;
        const auto values = Map<In>::apply(load<vector<bits>>(x));
        if constexpr (Widens)
            return add_pairs<bits>(values);
        else
            return values;
    }
};

/* The total of the lanes, of unsigned type T, in 64 bits. */
template <class T, class Transform, class In>
FORCEINLINE uint64_t unsigned_total(const In *x, size_t n, In padding)
{
    uint64_t all = 0;
    sum_lanes<In, T, sum, Transform> lanes;
    accumulate(lanes, x, n, padding);
    UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
    all += horizontal_sum<T>(lanes.totals.at[r]);
    return all;
}

/* Negative sums wrap around. */
template <class In, template <class> class Map = biased>
NOINLINE uint64_t packed_sum(const In *x, size_t n)
{
    constexpr bool widens = sizeof(In) < sizeof(uint64_t);
    constexpr auto bias = Map<In>::bias;
    using total = bits_of<widens ? 2 * sizeof(In) : sizeof(In)>;
    constexpr uint64_t rows = CHUNK_MAX * sizeof(In) / lanes_bytes;
    static_assert(!widens || rows * 2 * bits_of<sizeof(In)>(-1) <= total(-1),
                  "a loop's sums need more bits");
    return unsigned_total<total, pair_sums<Map, widens>>(x, n, In(bias)) - uint64_t(bias) * n;
}

/* ---- counts of nonzero elements, by their bits ---- */

/* The bits that are significant for truth: all except the signs of floats. */
template <class In>
struct truth_mask {
    using type = bits_of<sizeof(In)>;
    static constexpr type all = type(-1), no_sign = all >> 1;
    static constexpr type bits = is_complex<In> ? type(no_sign ^ uint64_t(1) << 31)
                                 : is_float<In> ? no_sign
                                                : all;
};

struct truths : elementwise {
    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        using bits = typename truth_mask<In>::type;
        const auto set = load<narrow_vector<T, bits>>(x) & truth_mask<In>::bits;
        using flags = std::make_signed_t<bits>;
        return -cast_lanes<T>(narrow_vector<T, flags>(set != 0));
    }
};

/* Truth of complex numbers, in the lanes of both parts: true if either part is. */
struct complex_truths : elementwise {
    template <class T, class In>
    FORCEINLINE static vector<T> apply(const In *x)
    {
        const vector<T> part = truths::apply<T>(x);
        constexpr auto all = std::make_index_sequence<sizeof part / sizeof(T)>();
        return part | swap_pairs(part, all);
    }
};

template <class In>
NOINLINE uint64_t count_nonzero(const void *elements, size_t n)
{
    const In *const x = static_cast<const In *>(elements);
    if constexpr (std::is_same_v<In, complex<double>>) {
        return unsigned_total<uint64_t, complex_truths>(static_cast<const double *>(elements),
                                                        2 * n, 0.0) /
               2;
    } else {
        using count = typename truth_mask<In>::type;
        static_assert(CHUNK_MAX * sizeof(In) / lanes_bytes <= count(-1),
                      "a loop's counts need more bits");
        return unsigned_total<count, truths>(x, n, In{});
    }
}

/* ---- loops ---- */

template <class In, class V>
void sum_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    if constexpr (is_truth<In>)
        store_state<sum<V>>(state, V(count_nonzero<In>(x, n)));
    else if constexpr (is_float<In> || (sizeof(In) == 8 && std::is_same_v<V, double>))
        store_state<sum<V>>(state, float_sum<V>(x, n));
    else
        store_state<sum<V>>(state, V(wide_integer<In>(packed_sum(x, n))));
}

template <class In, class V>
void count_loop(const void *elements, size_t n, uint64_t, void *state)
{
    store_state<nonzero<V>>(state, count_nonzero<In>(elements, n));
}

} // namespace
} // namespace KERNELS
