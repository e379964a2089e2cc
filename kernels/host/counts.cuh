/* How many elements are not zero: of bits, whatever they mean, but for signs. */
#pragma once

#include "../reductions.cuh"
#include "sums.cuh"

namespace KERNELS
{
namespace
{

/* Bits of which one at least is set in what is not zero. */
template <class In>
struct telling {
    using type = bits_of<sizeof(In)>;
    static constexpr type bits = type(-1);
};

template <class Bits, Bits Telling>
struct telling_bits {
    using type = Bits;
    static constexpr Bits bits = Telling;
};

template <>
struct telling<float16> : telling_bits<uint16_t, INT16_MAX> {};

template <>
struct telling<bfloat16> : telling<float16> {};

template <>
struct telling<float> : telling_bits<uint32_t, INT32_MAX> {};

template <>
struct telling<double> : telling_bits<uint64_t, INT64_MAX> {};

template <>
struct telling<complex<float>> : telling_bits<uint64_t, INT64_MAX ^ uint64_t(1) << 31> {};

template <class In>
struct count_lanes {
    using element = typename telling<In>::type;
    static constexpr unsigned step = lanes_bytes / sizeof(element);
    static_assert(LOOP_MOST / step <= element(-1), "a loop's counts need more bits");
    lanes<element> counts = {};

    LANES_FUNCTION void take(const element *x)
    {
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        {
            const auto bits = loaded<vector<element>>(x + r * (register_bytes / sizeof(element)));
            counts.at[r] -= vector<element>((bits & telling<In>::bits) != 0);
        }
    }

    LANES_FUNCTION uint64_t count() const
    {
        uint64_t all = 0;
        EACH_REGISTER(unsigned r = 0; r < lanes_registers; r++)
        all += total_of<element>(counts.at[r]);
        return all;
    }
};

/* A complex number is as true as either of its parts. */
template <>
struct count_lanes<complex<double>> {
    using element = complex<double>;
    static constexpr unsigned step = apart<uint64_t>::count;
    vector<uint64_t> counts = {};

    LANES_FUNCTION void take(const element *x)
    {
        const apart<uint64_t> bits(x);
        const auto either = (bits.first | bits.second) & telling<double>::bits;
        counts -= vector<uint64_t>(either != 0);
    }

    LANES_FUNCTION uint64_t count() const
    {
        return total_of<uint64_t>(counts);
    }
};

template <class In>
SHARED_FUNCTION uint64_t count_of(const void *elements, size_t n)
{
    count_lanes<In> lanes;
    take_all(lanes, static_cast<const typename count_lanes<In>::element *>(elements), n, 0);
    return lanes.count();
}

template <class In, class V, class Fold>
void count_loop(const void *elements, size_t n, uint64_t, void *state)
{
    put_state<Fold>(state, V(count_of<In>(elements, n)));
}

} // namespace
} // namespace KERNELS
