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

struct as_they_are : elementwise {
    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        return converted<T>(x);
    }
};

/* A fold of values, independent in each lane. */
template <class T, template <class> class Fold>
struct folded_lanes {
    lanes<T> totals;

    LANES_FUNCTION folded_lanes()
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = in_all_lanes(Fold<T>::identity());
    }

    LANES_FUNCTION void join(const folded_lanes &other)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = merged(totals.at[r], other.totals.at[r]);
    }

    template <unsigned Parts>
    LANES_FUNCTION void total(T *parts) const
    {
        totals.template merged<Parts>(parts, [](auto a, auto b) { return merged(a, b); });
    }

    template <class V>
    LANES_FUNCTION V total_as() const
    {
        V all;
        total<parts_of<V>::count>(reinterpret_cast<T *>(&all));
        return all;
    }

    /* Uses unsigned vectors, since signed integers would not wrap around. */
    template <class Values>
    LANES_FUNCTION static Values merged(Values a, Values b)
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
template <class In, class T, template <class> class Fold = sum, class Of = as_they_are>
struct sum_lanes : folded_lanes<T, Fold> {
    using element = In;
    using folded_lanes<T, Fold>::totals;
    /* Rounding errors of a loop are too small to matter in the elements' precision. */
    static constexpr bool is_wide = std::is_same_v<T, double> && sizeof(In) < sizeof(T);
    static constexpr unsigned of_register = Of::elements * in_register<T>,
                              step = lanes_registers * of_register;

    LANES_FUNCTION void take(const In *x, const Of &of = {})
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        totals.at[r] = this->merged(totals.at[r], of.template of<T>(x + r * of_register));
    }
};

/* The lanes of values none of whose parts is NaN. */
template <unsigned Parts, class Values>
LANES_FUNCTION auto where_numbers(Values values)
{
    if constexpr (Parts == 1) {
        return values == values;
    } else {
        constexpr auto all = std::make_index_sequence<sizeof values / sizeof values[0]>();
        const Values others = neighbours(values, all);
        return (values == values) & (others == others);
    }
}

/* Sums without NaNs, with a count of the other elements: for all lanes together, or, with a counter
 * per register, for each lane. */
template <class In, class T, unsigned Parts, unsigned Counters = 1>
struct number_sum_lanes : sum_lanes<In, T> {
    using sums = sum_lanes<In, T>;
    using sums::totals;
    decltype(vector<T>{} == vector<T>{}) numbers[Counters] = {};

    LANES_FUNCTION void take(const In *x)
    {
        const vector<T> nothing = in_all_lanes(sum<T>::identity());
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<T> values = converted<T>(x + r * in_register<T>);
            const auto is_number = where_numbers<Parts>(values);
            numbers[r % Counters] -= is_number;
            totals.at[r] = added(totals.at[r], is_number ? values : nothing);
        }
    }

    LANES_FUNCTION void join(const number_sum_lanes &other)
    {
        sums::join(other);
        EACH_REGISTER(unsigned r = 0; r < Counters; r++)
        numbers[r] += other.numbers[r];
    }

    LANES_FUNCTION uint64_t count() const
    {
        uint64_t count = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register<T>; k++)
        count += numbers[0][k];
        return count / Parts;
    }
};

/* Steps that are added sequentially, a run. Memory is read in order. Processors look ahead over
 * several runs, and so start the next ones while the dependent additions of one are in progress
 * ("runs" in benchmarks/tuning/host.json). */
constexpr size_t steps_per_run = 8;

template <class Lanes, class Elements>
LANES_FUNCTION Lanes run_added(Elements x, size_t steps)
{
    Lanes lanes;
    for (size_t k = 0; k < steps; k++, x = x + Lanes::step)
        lanes.take(x);
    return lanes;
}

/* Merges runs as a tree: two of equal length as soon as both are complete. */
template <class Lanes, class Elements>
SHARED_FUNCTION Lanes added_as_tree(Elements x, size_t steps)
{
    constexpr unsigned levels_most = 8;
    static_assert(2 * LOOP_MOST / Lanes::step <= steps_per_run << (levels_most - 1),
                  "a tree needs more levels");
    struct {
        alignas(64) char at[sizeof(Lanes)];
    } levels[levels_most];
    const auto level = [&](unsigned k) { return reinterpret_cast<Lanes *>(levels[k].at); };
    unsigned top = 0;
    for (size_t run = 0; steps; run++) {
        const size_t taken = steps < steps_per_run ? steps : steps_per_run;
        Lanes lanes = run_added<Lanes>(x, taken);
        x = x + taken * Lanes::step;
        steps -= taken;
        for (size_t done = run; done & 1; done >>= 1) {
            level(--top)->join(lanes);
            lanes = *level(top);
        }
        *level(top++) = lanes;
    }
    for (; top > 1; top--)
        level(top - 2)->join(*level(top - 1));
    return *level(0);
}

template <class Lanes, class Elements>
SHARED_FUNCTION Lanes added_up(Elements x, size_t n, typename Lanes::element nothing)
{
    Lanes lanes;
    if constexpr (Lanes::is_wide) {
        take_all(lanes, x, n, nothing);
    } else {
        const size_t left = n % Lanes::step, steps = n / Lanes::step;
        lanes =
            steps <= steps_per_run ? run_added<Lanes>(x, steps) : added_as_tree<Lanes>(x, steps);
        if (left) {
            const padded_elements<Elements, Lanes::step> last(x + (n - left), left, nothing);
            Lanes of_last;
            of_last.take(Elements(last.at));
            lanes.join(of_last);
        }
    }
    return lanes;
}

/* Folds the elements' parts in lanes, as a tree; `nothing` is the neutral element. */
template <class V, template <class> class Fold, class Of, class In>
LANES_FUNCTION V folded(const In *elements, size_t n, real_of<In> nothing = {})
{
    using in = real_of<In>;
    return added_up<sum_lanes<in, real_of<V>, Fold, Of>>(reinterpret_cast<const in *>(elements),
                                                         n * parts_of<In>::count, nothing)
        .template total_as<V>();
}

template <class V, class In>
LANES_FUNCTION V float_sum(const In *x, size_t n)
{
    return folded<V, sum, as_they_are>(x, n, neutral_addend<real_of<In>>());
}

template <class V, class In>
LANES_FUNCTION state_of<nansum<V>> number_sum(const In *x, size_t n)
{
    constexpr unsigned parts = parts_of<V>::count;
    using in = real_of<In>;
    const auto lanes = added_up<number_sum_lanes<in, real_of<V>, parts>>(
        reinterpret_cast<const in *>(x), n * parts, nan_element<in>());
    return {lanes.template total_as<V>(), lanes.count()};
}

template <class In, class V>
void number_sum_loop(const void *elements, size_t n, uint64_t, void *state)
{
    put_state<nansum<V>>(state, number_sum<V>(static_cast<const In *>(elements), n));
}

/* ---- integers ---- */

/* Adds adjacent elements in twice as many bits. */
template <class U, class Wide = bits_of<2 * sizeof(U)>>
LANES_FUNCTION vector<Wide> pairs_added(vector<U> x)
{
    const vector<Wide> pairs = vector<Wide>(x);
    return (pairs & Wide(U(-1))) + (pairs >> 8 * sizeof(U));
}

template <class U>
LANES_FUNCTION uint64_t total_of(vector<U> x)
{
    if constexpr (sizeof(U) < sizeof(uint64_t)) {
        return total_of<bits_of<2 * sizeof(U)>>(pairs_added<U>(x));
    } else {
        uint64_t total = 0;
        EACH_REGISTER(unsigned k = 0; k < in_register<U>; k++)
        total += x[k];
        return total;
    }
}

/* Maps signed integers to unsigned ones: by adding `bias`, ... */
template <class In>
struct raised {
    using bits = bits_of<sizeof(In)>;
    static constexpr bits bias =
        std::is_signed_v<In> && sizeof(In) < sizeof(uint64_t) ? bits(1) << (8 * sizeof(In) - 1) : 0;

    template <class Bits>
    LANES_FUNCTION static Bits of(Bits x)
    {
        return x ^ bias;
    }
};

/* ... or by taking magnitudes. */
template <class In>
struct unsigned_magnitude {
    static constexpr bits_of<sizeof(In)> bias = 0;

    template <class Bits>
    LANES_FUNCTION static Bits of(Bits x)
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
template <template <class> class Of, bool Widens>
struct added_in_pairs {
    static constexpr unsigned elements = Widens ? 2 : 1;

    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        using bits = bits_of<sizeof(In)>;
        const auto values = Of<In>::of(loaded<vector<bits>>(x));
        if constexpr (Widens)
            return pairs_added<bits>(values);
        else
            return values;
    }
};

/* The total of the lanes, of unsigned type T, in 64 bits. */
template <class T, class Of, class In>
LANES_FUNCTION uint64_t unsigned_total(const In *x, size_t n, In nothing)
{
    uint64_t all = 0;
    sum_lanes<In, T, sum, Of> lanes;
    take_all(lanes, x, n, nothing);
    EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
    all += total_of<T>(lanes.totals.at[r]);
    return all;
}

/* Negative sums wrap around. */
template <class In, template <class> class Of = raised>
SHARED_FUNCTION uint64_t packed_sum(const In *x, size_t n)
{
    constexpr bool widens = sizeof(In) < sizeof(uint64_t);
    constexpr auto bias = Of<In>::bias;
    using total = bits_of<widens ? 2 * sizeof(In) : sizeof(In)>;
    constexpr uint64_t rows = LOOP_MOST * sizeof(In) / lanes_bytes;
    static_assert(!widens || rows * 2 * bits_of<sizeof(In)>(-1) <= total(-1),
                  "a loop's sums need more bits");
    return unsigned_total<total, added_in_pairs<Of, widens>>(x, n, In(bias)) - uint64_t(bias) * n;
}

/* ---- counts of nonzero elements, by their bits ---- */

/* The bits that are significant for truth: all except the signs of floats. */
template <class In>
struct telling {
    using type = bits_of<sizeof(In)>;
    static constexpr type all = type(-1), no_sign = all >> 1;
    static constexpr type bits = is_complex<In> ? type(no_sign ^ uint64_t(1) << 31)
                                 : is_float<In> ? no_sign
                                                : all;
};

struct truths : elementwise {
    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        using bits = typename telling<In>::type;
        const auto set = loaded<narrow_vector<T, bits>>(x) & telling<In>::bits;
        using flags = std::make_signed_t<bits>;
        return -as<T>(narrow_vector<T, flags>(set != 0));
    }
};

/* Truth of complex numbers, in the lanes of both parts: true if either part is. */
struct complex_truths : elementwise {
    template <class T, class In>
    LANES_FUNCTION static vector<T> of(const In *x)
    {
        const vector<T> part = truths::of<T>(x);
        constexpr auto all = std::make_index_sequence<sizeof part / sizeof(T)>();
        return part | neighbours(part, all);
    }
};

template <class In>
SHARED_FUNCTION uint64_t count_of(const void *elements, size_t n)
{
    const In *const x = static_cast<const In *>(elements);
    if constexpr (std::is_same_v<In, complex<double>>) {
        return unsigned_total<uint64_t, complex_truths>(static_cast<const double *>(elements),
                                                        2 * n, 0.0) /
               2;
    } else {
        using count = typename telling<In>::type;
        static_assert(LOOP_MOST * sizeof(In) / lanes_bytes <= count(-1),
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
        put_state<sum<V>>(state, V(count_of<In>(x, n)));
    else if constexpr (is_float<In> || (sizeof(In) == 8 && std::is_same_v<V, double>))
        put_state<sum<V>>(state, float_sum<V>(x, n));
    else
        put_state<sum<V>>(state, V(wide_integer<In>(packed_sum(x, n))));
}

template <class In, class V>
void count_loop(const void *elements, size_t n, uint64_t, void *state)
{
    put_state<nonzero<V>>(state, count_of<In>(elements, n));
}

} // namespace
} // namespace KERNELS
