/* Least and greatest elements, and where they are. Lanes compare elements as they lie, without a
 * thought of NaN, and note on the side whether there was one; so there is no branch in the loop. */
#pragma once

#include "../reductions.cuh"
#include "registers.cuh"

namespace KERNELS
{
namespace
{

/* ---- what lanes compare ---- */

/* Elements by themselves. `flags` are lanes that are not 0 where x is NaN. */
template <class In>
struct key_of {
    using type = In;
    static constexpr bool has_nan = !std::is_integral_v<In>;
    static constexpr bool nan_loses = true; /* in any comparison */

    LANES_FUNCTION static vector<In> of(vector<In> x)
    {
        return x;
    }

    LANES_FUNCTION static auto nan(vector<In> x)
    {
        return x != x;
    }

    /* The same for equals. */
    template <class Key>
    LANES_FUNCTION static Key rank(Key key)
    {
        return key;
    }

    LANES_FUNCTION static In element(In key)
    {
        return key;
    }
};

/* Any byte but 0 is as true as another: the least and the greatest byte tell what there is. */
template <>
struct key_of<boolean> : key_of<uint8_t> {
    template <class Bytes>
    LANES_FUNCTION static Bytes rank(Bytes key)
    {
        return Bytes(key != 0);
    }

    LANES_FUNCTION static boolean element(uint8_t key)
    {
        return {key};
    }
};

/* Floats of 16 bits by integers that are in the same order. */
template <class In, int16_t Infinity>
struct key_of_half {
    using type = int16_t;
    static constexpr bool has_nan = true, nan_loses = false;

    template <class Bits>
    LANES_FUNCTION static Bits of(Bits x)
    {
        return x ^ ((x >> 15) & int16_t(INT16_MAX));
    }

    LANES_FUNCTION static auto nan(vector<int16_t> key)
    {
        return (of(key) & INT16_MAX) > Infinity;
    }

    /* Both zeros are one. */
    template <class Key>
    LANES_FUNCTION static Key rank(Key key)
    {
        return key - (key >> 15);
    }

    LANES_FUNCTION static In element(int16_t key)
    {
        return {uint16_t(of(key))};
    }
};

template <>
struct key_of<float16> : key_of_half<float16, 0x7c00> {};

template <>
struct key_of<bfloat16> : key_of_half<bfloat16, 0x7f80> {};

template <class In>
using key = typename key_of<In>::type;

/* Registers of floats by themselves: GCC would make one mask of this and of another comparison of
 * the same, and each row wait for that of the row before, which takes longer. */
#if defined(__AVX512BW__)
#define FLOAT_REGISTERS(name)                                                                      \
    LANES_FUNCTION vector<float> operator()(vector<float> x, vector<float> best) const             \
    {                                                                                              \
        return vector<float>(_mm512_maskz_##name##_ps(__mmask16(-1), __m512(x), __m512(best)));    \
    }                                                                                              \
    LANES_FUNCTION vector<double> operator()(vector<double> x, vector<double> best) const          \
    {                                                                                              \
        return vector<double>(_mm512_maskz_##name##_pd(__mmask8(-1), __m512d(x), __m512d(best)));  \
    }
#elif defined(__AVX2__)
#define FLOAT_REGISTERS(name)                                                                      \
    LANES_FUNCTION vector<float> operator()(vector<float> x, vector<float> best) const             \
    {                                                                                              \
        return vector<float>(_mm256_##name##_ps(__m256(x), __m256(best)));                         \
    }                                                                                              \
    LANES_FUNCTION vector<double> operator()(vector<double> x, vector<double> best) const          \
    {                                                                                              \
        return vector<double>(_mm256_##name##_pd(__m256d(x), __m256d(best)));                      \
    }
#else
#define FLOAT_REGISTERS(name)
#endif

struct least {
    template <class T>
    static constexpr T worst = ends<T>::greatest;

    FLOAT_REGISTERS(min)

    template <class T>
    LANES_FUNCTION T operator()(T x, T best) const
    {
        return least_number(x, best);
    }

    template <class T>
    LANES_FUNCTION static auto better(T x, T best)
    {
        return x < best;
    }
};

struct greatest {
    template <class T>
    static constexpr T worst = ends<T>::least;

    FLOAT_REGISTERS(max)

    template <class T>
    LANES_FUNCTION T operator()(T x, T best) const
    {
        return greatest_number(x, best);
    }

    template <class T>
    LANES_FUNCTION static auto better(T x, T best)
    {
        return x > best;
    }
};

#undef FLOAT_REGISTERS

/* ---- lanes ---- */

/* Whether NaN is what is looked for, or what is left out. */
enum class nan_is { noted, left_out };

/* The best of all numbers. */
template <class In, class Order>
struct best_lanes {
    lanes<key<In>> best;

    LANES_FUNCTION best_lanes()
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        best.at[r] = in_all(Order::template worst<key<In>>);
    }

    LANES_FUNCTION void take(unsigned r, vector<key<In>> x)
    {
        best.at[r] = Order()(x, best.at[r]);
    }

    LANES_FUNCTION key<In> result() const
    {
        key<In> found;
        best.template merged<1>(&found, Order());
        return found;
    }
};

template <class In, nan_is Nan, class... Orders>
struct extreme_lanes : best_lanes<In, Orders>... {
    using element = In;
    using keys = key_of<In>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    decltype(vector<key<In>>{} < vector<key<In>>{}) flags = {}; /* of NaN, or of numbers */

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        take(r, keys::of(loaded<vector<key<In>>>(x + r * in_register)));
    }

  private:
    LANES_FUNCTION void take(unsigned r, vector<key<In>> x)
    {
        if constexpr (keys::has_nan)
            flags |= Nan == nan_is::left_out ? ~keys::nan(x) : keys::nan(x);
        if constexpr (Nan == nan_is::left_out && !keys::nan_loses)
            (best_lanes<In, Orders>::take(r, keys::nan(x) ? best_lanes<In, Orders>::best.at[r] : x),
             ...);
        else
            (best_lanes<In, Orders>::take(r, x), ...);
    }
};

/* ---- complex numbers, by their real parts and then by the imaginary ones ---- */

template <class T>
struct key_of<complex<T>> {
    using type = complex<T>;

    LANES_FUNCTION static complex<T> element(complex<T> key)
    {
        return key;
    }
};

constexpr unsigned complex_registers = lanes_registers > 1 ? lanes_registers / 2 : 1;

template <class T, class Order>
struct best_lanes<complex<T>, Order> {
    vector<T> real[complex_registers], imag[complex_registers];

    LANES_FUNCTION best_lanes()
    {
        EACH_REGISTER(unsigned r = 0; r < complex_registers; r++)
        real[r] = imag[r] = in_all(Order::template worst<T>);
    }

    LANES_FUNCTION void take(unsigned r, const apart<T> &x)
    {
        const auto better = Order::better(x.first, real[r]) |
                            ((x.first == real[r]) & Order::better(x.second, imag[r]));
        real[r] = better ? x.first : real[r];
        imag[r] = better ? x.second : imag[r];
    }

    LANES_FUNCTION complex<T> result() const
    {
        complex<T> best = {real[0][0], imag[0][0]};
        for (unsigned r = 0; r < complex_registers; r++)
            for (unsigned k = 0; k < apart<T>::count; k++)
                best = Order()(complex<T>(real[r][k], imag[r][k]), best);
        return best;
    }
};

template <class T, nan_is Nan, class... Orders>
struct extreme_lanes<complex<T>, Nan, Orders...> : best_lanes<complex<T>, Orders>... {
    using element = complex<T>;
    static constexpr unsigned step = complex_registers * apart<T>::count;
    decltype(vector<T>{} < vector<T>{}) flags = {}; /* of NaN, or of numbers */

    LANES_FUNCTION void take(const complex<T> *x)
    {
        EACH_REGISTER(unsigned r = 0; r < complex_registers; r++)
        {
            apart<T> parts(x + r * apart<T>::count);
            /* A real part that is NaN loses, so it becomes NaN where the imaginary one is. */
            if constexpr (Nan == nan_is::left_out) {
                parts.first = parts.second == parts.second ? parts.first : parts.second;
                flags |= parts.first == parts.first;
            } else {
                flags |= (parts.first != parts.first) | (parts.second != parts.second);
            }
            (best_lanes<complex<T>, Orders>::take(r, parts), ...);
        }
    }
};

/* ---- loops ---- */

/* The best of each order; whether there was any NaN or, where that is left out, any number. */
template <class In, nan_is Nan, class... Orders>
SHARED_FUNCTION bool find_best(const In *x, size_t n, key<In> *best)
{
    extreme_lanes<In, Nan, Orders...> lanes;
    take_all(lanes, x, n, x[0]);
    ((*best++ = static_cast<const best_lanes<In, Orders> &>(lanes).result()), ...);
    return is_any(lanes.flags);
}

/* The position of the first element that `wanted` says yes to, of lanes and of one; there is one.
 */
template <class In, class Wanted>
LANES_FUNCTION size_t find(const In *x, size_t n, Wanted wanted)
{
    constexpr unsigned step = register_bytes / sizeof(In), several = lanes_registers * step;
    const auto wanted_from = [=](const In *at) {
        return wanted(key_of<In>::of(loaded<vector<key<In>>>(at)));
    };
    const auto wanted_of_several = [=](const In *at) {
        auto any = wanted_from(at);
        EACH_REGISTER(unsigned r = 1; r < lanes_registers; r++)
        any |= wanted_from(at + r * step);
        return any;
    };
    size_t i = 0;
    while (i + several <= n && !is_any(wanted_of_several(x + i)))
        i += several;
    while (i + step <= n && !is_any(wanted_from(x + i)))
        i += step;
    if (i + step <= n)
        return i + first_lane(wanted_from(x + i));
    const filled_up<In, step> rest(x + i, n - i, x[0]);
    return i + first_lane(wanted_from(rest.at));
}

template <class In>
SHARED_FUNCTION size_t find_nan(const In *x, size_t n)
{
    return find(x, n, [](vector<key<In>> k) { return key_of<In>::nan(k); });
}

template <class T>
size_t find_nan(const complex<T> *x, size_t n)
{
    return find_nan(reinterpret_cast<const T *>(x), 2 * n) / 2;
}

template <class In>
SHARED_FUNCTION size_t find_equal(const In *x, size_t n, key<In> best)
{
    const auto wanted = key_of<In>::rank(in_all(best));
    return find(x, n, [=](vector<key<In>> k) { return key_of<In>::rank(k) == wanted; });
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
LANES_FUNCTION V value(key<In> best)
{
    return V(key_of<In>::element(best));
}

template <class T>
LANES_FUNCTION bool has_zero(T x)
{
    return x == 0;
}

template <class T>
LANES_FUNCTION bool has_zero(complex<T> x)
{
    return x.real == 0 || x.imag == 0;
}

/* Lanes do not tell which of several equals came first, which matters where there are two zeros. */
template <class V, class In>
LANES_FUNCTION V first_value(const In *x, size_t n, key<In> best)
{
    const V found = value<V, In>(best);
    return !std::is_integral_v<V> && has_zero(found) ? V(x[find_equal(x, n, best)]) : found;
}

template <class In, class V, class Order, class Fold>
void extreme_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    key<In> best;
    const bool nan = find_best<In, nan_is::noted, Order>(x, n, &best);
    put_state<Fold>(state, nan ? V(x[find_nan(x, n)]) : first_value<V>(x, n, best));
}

template <class In, class V, class Fold>
void range_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    key<In> best[2];
    if (find_best<In, nan_is::noted, least, greatest>(x, n, best))
        put_state<Fold>(state, Fold::lift(V(x[find_nan(x, n)]), 0));
    else
        put_state<Fold>(state, {first_value<V>(x, n, best[0]), first_value<V>(x, n, best[1])});
}

/* Among no number, any NaN will do. */
template <class In, class V, class Order, class Fold>
void extreme_number_loop(const void *elements, size_t n, uint64_t, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    key<In> best;
    const bool number = find_best<In, nan_is::left_out, Order>(x, n, &best);
    put_state<Fold>(state, number ? first_value<V>(x, n, best) : V(x[0]));
}

/* ---- positions ---- */

/* The best of all numbers, and at which step each lane had it first. */
template <class In, class Order>
struct position_lanes {
    using element = In;
    using keys = key_of<In>;
    using K = key<In>;
    using position = bits_of<sizeof(In)>;
    static constexpr unsigned in_register = register_bytes / sizeof(In),
                              step = lanes_registers * in_register;
    /* Elements. Of arrays of many chunks hardly one is better than those before it, and to look for
     * where it is costs less than to know all along. */
    static constexpr size_t most = sizeof(In) == 1 ? 2047 : LOOP_MOST - 1;
    static_assert(most / step <= position(-1), "steps need more bits");
    best_lanes<In, Order> all;
    lanes<position> where = {};
    vector<position> now = {};
    decltype(vector<K>{} < vector<K>{}) nans = {};

    LANES_FUNCTION void take(const In *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<K> key = keys::of(loaded<vector<K>>(x + r * in_register));
            const auto better = Order::better(keys::rank(key), keys::rank(all.best.at[r]));
            if constexpr (keys::has_nan)
                nans |= keys::nan(key);
            all.take(r, key);
            where.at[r] = better ? now : where.at[r];
        }
        now += 1;
    }

    /* Of equals the first. */
    LANES_FUNCTION size_t result(K *best) const
    {
        constexpr auto all_lanes = std::make_index_sequence<in_register>();
        constexpr bool has_room = position(-1) >= most;
        *best = all.result();
        const auto wanted = keys::rank(in_all(*best));
        lanes<position> places;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const vector<position> place =
                has_room ? where.at[r] * position(step) + numbered(r * in_register, all_lanes)
                         : where.at[r];
            places.at[r] = keys::rank(all.best.at[r]) == wanted ? place : in_all(position(-1));
        }
        position first;
        places.template merged<1>(&first, least());
        if constexpr (has_room)
            return first;
        unsigned r = 0;
        while (!is_any(places.at[r] == in_all(first)))
            r++;
        return size_t(first) * step + r * in_register + first_lane(places.at[r] == in_all(first));
    }

  private:
    template <size_t... Lanes>
    LANES_FUNCTION static vector<position> numbered(unsigned from, std::index_sequence<Lanes...>)
    {
        return vector<position>{position(Lanes)...} + in_all(position(from));
    }
};

/* False: there is a NaN. */
template <class In, class Order>
SHARED_FUNCTION bool find_position(const In *x, size_t n, key<In> *best, size_t *at)
{
    position_lanes<In, Order> lanes;
    take_all(lanes, x, n, x[0]);
    if (is_any(lanes.nans))
        return false;
    *at = lanes.result(best);
    return true;
}

/* Elements that are worth another look if the best is among them. */
template <class In>
constexpr size_t position_block = 8192 / (sizeof(In) > 2 ? sizeof(In) : 2);

/* Where the best is, is looked for in the last block that had a better one than all before. */
template <class In, class V, class Order, class Fold>
void position_loop(const void *elements, size_t n, uint64_t first, void *state)
{
    const In *const x = static_cast<const In *>(elements);
    constexpr size_t most = position_block<In>;
    auto found = loaded<state_of<Fold>>(state);
    if (is_nan(found.value))
        return;
    if constexpr (std::is_arithmetic_v<key<In>>) {
        key<In> here;
        size_t at;
        if (n <= position_lanes<In, Order>::most && find_position<In, Order>(x, n, &here, &at)) {
            const V of_here = value<V, In>(here);
            if (found.index == UINT64_MAX || Order::better(of_here, found.value))
                put_state<Fold>(state, Fold::lift(of_here, first + at));
            return;
        }
    }
    bool any = false;
    size_t block = 0;
    key<In> best;
    for (size_t at = 0; at < n; at += most) {
        const size_t length = n - at < most ? n - at : most;
        key<In> here;
        if (find_best<In, nan_is::noted, Order>(x + at, length, &here)) {
            const size_t nan = at + find_nan(x + at, length);
            return put_state<Fold>(state, Fold::lift(V(x[nan]), first + nan));
        }
        const V of_here = value<V, In>(here);
        if (found.index != UINT64_MAX && !Order::better(of_here, found.value))
            continue;
        found = Fold::lift(of_here, first + at);
        best = here;
        block = at;
        any = true;
    }
    if (!any)
        return;
    const size_t length = n - block < most ? n - block : most;
    found.index = first + block + find_equal(x + block, length, best);
    put_state<Fold>(state, found);
}

} // namespace
} // namespace KERNELS
