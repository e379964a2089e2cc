/* Minima and maxima. Lanes compare elements without regard to NaN and record separately whether
 * there was one, so the loop has no branch. They compare keys: key_of detects NaN, ranks equal keys
 * alike, and converts a key back to its element. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

namespace KERNELS
{
namespace
{

/* ---- keys, and the two orders ---- */

/* Elements are their own keys. nan() returns a mask of lanes that are NaN. */
template <class In>
struct key_of {
    using type = In;
    static constexpr bool has_nan = !std::is_integral_v<In>;
    static constexpr bool nan_is_unordered = true; /* in all comparisons */

    FORCEINLINE static vector<In> of(vector<In> x)
    {
        return x;
    }

    FORCEINLINE static auto nan(vector<In> x)
    {
        return x != x;
    }

    /* A value that is the same for equal keys. */
    template <class Key>
    FORCEINLINE static Key rank(Key key)
    {
        return key;
    }

    FORCEINLINE static In element(In key)
    {
        return key;
    }
};

/* All bytes except 0 are equally true; the minimum and maximum byte determine the result. */
template <>
struct key_of<boolean> : key_of<uint8_t> {
    template <class Bytes>
    FORCEINLINE static Bytes rank(Bytes key)
    {
        return Bytes(key != 0);
    }

    FORCEINLINE static boolean element(uint8_t key)
    {
        return {key};
    }
};

/* 16-bit floats, by order-preserving integers. */
template <class In, int16_t Infinity>
struct key_of_half {
    using type = int16_t;
    static constexpr bool has_nan = true, nan_is_unordered = false;

    template <class Bits>
    FORCEINLINE static Bits of(Bits x)
    {
        return x ^ ((x >> 15) & int16_t(INT16_MAX));
    }

    FORCEINLINE static auto nan(vector<int16_t> key)
    {
        return (of(key) & INT16_MAX) > Infinity;
    }

    /* Both zeros are equal. */
    template <class Key>
    FORCEINLINE static Key rank(Key key)
    {
        return key - (key >> 15);
    }

    FORCEINLINE static In element(int16_t key)
    {
        return {uint16_t(of(key))};
    }
};

template <>
struct key_of<float16> : key_of_half<float16, 0x7c00> {};

template <>
struct key_of<bfloat16> : key_of_half<bfloat16, 0x7f80> {};

/* Ordered by the real parts, then by the imaginary parts. */
template <class T>
struct key_of<complex<T>> {
    using type = complex<T>;

    FORCEINLINE static complex<T> element(complex<T> key)
    {
        return key;
    }
};

template <class In>
using key = typename key_of<In>::type;

template <bool Greatest>
struct extreme_order {
    template <class T>
    static constexpr T worst = Greatest ? ends<T>::least : ends<T>::greatest;

    template <class T>
    FORCEINLINE T operator()(T x, T best) const
    {
        return Greatest ? max_of_numbers(x, best) : min_of_numbers(x, best);
    }

    template <class T>
    FORCEINLINE static auto better(T x, T best)
    {
        return Greatest ? x > best : x < best;
    }
};

using least = extreme_order<false>;
using greatest = extreme_order<true>;

/* ---- lanes ---- */

/* Whether NaN is the result or is skipped. */
enum class nan_policy { propagate, omit };

/* The best number in each lane. */
template <class In, class Order>
struct best_lanes {
    lanes<key<In>> best;

    FORCEINLINE best_lanes()
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        best.at[r] = broadcast(Order::template worst<key<In>>);
    }

    FORCEINLINE void update(unsigned r, vector<key<In>> x)
    {
        best.at[r] = Order()(x, best.at[r]);
    }

    FORCEINLINE key<In> result() const
    {
        key<In> found;
        best.template reduce<1>(&found, Order());
        return found;
    }
};

template <class In, nan_policy Nan, class... Orders>
struct extreme_lanes : best_lanes<In, Orders>... {
    using element = In;
    using keys = key_of<In>;
    static constexpr unsigned step = lanes_size<key<In>>;
    decltype(vector<key<In>>{} < vector<key<In>>{}) flags = {}; /* NaNs, or, if skipped, numbers */

    FORCEINLINE void update(const In *x)
    {
        UNROLLED_FOR(unsigned r = 0; r < lanes_registers; r++)
        update(r, keys::of(load<vector<key<In>>>(x + r * vector_lanes<key<In>>)));
    }

  private:
    FORCEINLINE void update(unsigned r, vector<key<In>> x)
    {
        if constexpr (keys::has_nan)
            flags |= Nan == nan_policy::omit ? ~keys::nan(x) : keys::nan(x);
        if constexpr (Nan == nan_policy::omit && !keys::nan_is_unordered)
            (best_lanes<In, Orders>::update(r,
                                            keys::nan(x) ? best_lanes<In, Orders>::best.at[r] : x),
             ...);
        else
            (best_lanes<In, Orders>::update(r, x), ...);
    }
};

/* ---- complex numbers, ordered by the real parts, then by the imaginary parts ---- */

constexpr unsigned complex_registers = lanes_registers > 1 ? lanes_registers / 2 : 1;

template <class T, class Order>
struct best_lanes<complex<T>, Order> {
    vector<T> real[complex_registers], imag[complex_registers];

    FORCEINLINE best_lanes()
    {
        UNROLLED_FOR(unsigned r = 0; r < complex_registers; r++)
        real[r] = imag[r] = broadcast(Order::template worst<T>);
    }

    FORCEINLINE void update(unsigned r, const deinterleaved<T> &x)
    {
        const auto better = Order::better(x.first, real[r]) |
                            ((x.first == real[r]) & Order::better(x.second, imag[r]));
        real[r] = better ? x.first : real[r];
        imag[r] = better ? x.second : imag[r];
    }

    FORCEINLINE complex<T> result() const
    {
        complex<T> best = {real[0][0], imag[0][0]};
        for (unsigned r = 0; r < complex_registers; r++)
            for (unsigned k = 0; k < deinterleaved<T>::count; k++)
                best = Order()(complex<T>(real[r][k], imag[r][k]), best);
        return best;
    }
};

template <class T, nan_policy Nan, class... Orders>
struct extreme_lanes<complex<T>, Nan, Orders...> : best_lanes<complex<T>, Orders>... {
    using element = complex<T>;
    static constexpr unsigned step = complex_registers * deinterleaved<T>::count;
    decltype(vector<T>{} < vector<T>{}) flags = {}; /* NaNs, or, if skipped, numbers */

    FORCEINLINE void update(const complex<T> *x)
    {
        UNROLLED_FOR(unsigned r = 0; r < complex_registers; r++)
        {
            deinterleaved<T> parts(x + r * deinterleaved<T>::count);
            /* A NaN real part loses, so it is set to NaN if the imaginary part is. */
            if constexpr (Nan == nan_policy::omit) {
                parts.first = parts.second == parts.second ? parts.first : parts.second;
                flags |= parts.first == parts.first;
            } else {
                flags |= (parts.first != parts.first) | (parts.second != parts.second);
            }
            (best_lanes<complex<T>, Orders>::update(r, parts), ...);
        }
    }
};

/* ---- loops ---- */

/* Finds the best of each order; true if there was a NaN, or a number if NaNs are skipped. */
template <class In, nan_policy Nan, class... Orders>
NOINLINE bool find_best(const In *x, size_t n, key<In> *best)
{
    extreme_lanes<In, Nan, Orders...> lanes;
    accumulate(lanes, x, n, x[0]);
    ((*best++ = static_cast<const best_lanes<In, Orders> &>(lanes).result()), ...);
    return any_lane(lanes.flags);
}

/* The position of the first element for which `predicate` is true; there must be one. */
template <class In, class Predicate>
FORCEINLINE size_t find(const In *x, size_t n, Predicate predicate)
{
    constexpr unsigned step = vector_lanes<In>, group = lanes_registers * step;
    const auto matches = [=](const In *at) {
        return predicate(key_of<In>::of(load<vector<key<In>>>(at)));
    };
    const auto matches_of_group = [=](const In *at) {
        auto any = matches(at);
        UNROLLED_FOR(unsigned r = 1; r < lanes_registers; r++)
        any |= matches(at + r * step);
        return any;
    };
    size_t i = 0;
    while (i + group <= n && !any_lane(matches_of_group(x + i)))
        i += group;
    while (i + step <= n && !any_lane(matches(x + i)))
        i += step;
    if (i + step <= n)
        return i + first_lane(matches(x + i));
    const padded_elements<const In *, step> rest(x + i, n - i, x[0]);
    return i + first_lane(matches(rest.at));
}

template <class In>
NOINLINE size_t find_nan(const In *x, size_t n)
{
    return find(x, n, [](vector<key<In>> k) { return key_of<In>::nan(k); });
}

template <class T>
size_t find_nan(const complex<T> *x, size_t n)
{
    return find_nan(reinterpret_cast<const T *>(x), 2 * n) / 2;
}

template <class In>
NOINLINE size_t find_equal(const In *x, size_t n, key<In> best)
{
    const auto rank = key_of<In>::rank(broadcast(best));
    return find(x, n, [=](vector<key<In>> k) { return key_of<In>::rank(k) == rank; });
}

template <class T>
size_t find_equal(const complex<T> *x, size_t, complex<T> best)
{
    size_t i = 0;
    while (x[i] != best)
        i++;
    return i;
}

template <class V, class In>
FORCEINLINE V value(key<In> best)
{
    return V(key_of<In>::element(best));
}

template <class T>
FORCEINLINE bool has_zero(T x)
{
    return x == 0;
}

template <class T>
FORCEINLINE bool has_zero(complex<T> x)
{
    return x.real == 0 || x.imag == 0;
}

/* Lanes do not record which of several equals came first, which matters for signed zeros. */
template <class V, class In>
FORCEINLINE V first_value(const In *x, size_t n, key<In> best)
{
    const V found = value<V, In>(best);
    return !std::is_integral_v<V> && has_zero(found) ? V(x[find_equal(x, n, best)]) : found;
}

/* If there is no number, the result is any NaN. */
template <class In, class V, class Order, class Fold, nan_policy Nan = nan_policy::propagate>
void extreme_loop(const void *elements, size_t n, uint64_t, void *state)
{
    constexpr bool skipped = Nan == nan_policy::omit;
    const In *const x = static_cast<const In *>(elements);
    key<In> best;
    const bool is_number = find_best<In, Nan, Order>(x, n, &best) == skipped;
    store_state<Fold>(state,
                      is_number ? first_value<V>(x, n, best) : V(x[skipped ? 0 : find_nan(x, n)]));
}

template <class In, class V>
void range_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    key<In> best[2];
    if (find_best<In, nan_policy::propagate, least, greatest>(x, n, best))
        store_state<extremes<V>>(state, extremes<V>::lift(V(x[find_nan(x, n)]), 0));
    else
        store_state<extremes<V>>(state,
                                 {first_value<V>(x, n, best[0]), first_value<V>(x, n, best[1])});
}

} // namespace
} // namespace KERNELS
