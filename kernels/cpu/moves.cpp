/* Loops that gather and convert elements, compiled once per instruction set, like vectors.cpp. */
#include "moves.cuh"
#include "table.h"
#include "types.cuh"

#include <math.h>

namespace KERNELS
{
namespace
{

/* Elements are converted as they are copied to a buffer: to the requested type, like NumPy, and
 * from there to its accumulator. All steps compile to branch-free code, which compilers
 * vectorize. */

/* ---- elements as arithmetic types ---- */

/* Tests truth without a comparison, which GCC does not vectorize for floats. */
template <class In>
FORCEINLINE auto real_part(In x)
{
    if constexpr (is_truth<In>)
        return -uint32_t(x.byte) >> 31;
    else if constexpr (std::is_arithmetic_v<In>)
        return x;
    else
        return float(x);
}

template <class T>
FORCEINLINE T real_part(complex<T> x)
{
    return x.real;
}

template <class In>
FORCEINLINE auto imaginary_part(In x)
{
    if constexpr (is_complex<In>)
        return x.imag;
    else
        return 0;
}

/* ---- to a type ---- */

/* See scalar.h. */
template <class Integer>
FORCEINLINE Integer to_integer(double x)
{
    if constexpr (std::is_same_v<Integer, uint64_t>)
        return uint64_of_double(x);
    else if constexpr (sizeof(Integer) == sizeof(int64_t) || std::is_same_v<Integer, uint32_t>)
        return Integer(int64_of_double(x));
    else
        return Integer(int32_of_double(x));
}

/* A number rounded to float16 like half_of_double, but as a float. Subnormal results are rounded by
 * adding and subtracting a number that leaves no room for smaller bits. */
FORCEINLINE float round_to_half(double x)
{
    constexpr uint64_t sign = uint64_t(1) << 63, unit = uint64_t(1) << 42;
    const uint64_t bits = load<uint64_t>(&x), magnitude = bits & ~sign,
                   rounded = (magnitude + unit / 2 - 1 + (magnitude / unit & 1)) & ~(unit - 1);
    const double absolute = load<double>(&magnitude), normal = load<double>(&rounded),
                 subnormal = (absolute + 0x1p28) - 0x1p28,
                 finite = absolute < 0x1p-14 ? subnormal : normal,
                 half = finite >= 0x1p16 ? double(INFINITY) : finite;
    const uint64_t result = load<uint64_t>(&half) | (bits & sign);
    return float(absolute <= double(INFINITY) ? load<double>(&result) : x);
}

template <class Type, class Real, class Imag>
FORCEINLINE auto cast_to(Real real, Imag imag)
{
    if constexpr (is_truth<Type>)
        return boolean{uint8_t(real != 0 || imag != 0)};
    else if constexpr (std::is_same_v<Type, float16> && std::is_same_v<Real, double>)
        return round_to_half(real);
    else if constexpr (std::is_same_v<Type, float16>)
        return round_to_half(double(float(real)));
    else if constexpr (std::is_same_v<Type, bfloat16>)
        return bfloat16{bfloat_of_float(float(real))};
    else if constexpr (is_complex<Type>)
        return Type(real_of<Type>(real), real_of<Type>(imag));
    else if constexpr (std::is_integral_v<Type> && std::is_floating_point_v<Real>)
        return to_integer<Type>(double(real));
    else
        return Type(real);
}

/* ---- loops ---- */

template <class In, class Type, class Accumulator>
void convert(const char *__restrict__ from, uint64_t n, char *__restrict__ to)
{
    for (uint64_t i = 0; i < n; i++) {
        const In x = load<In>(from + i * sizeof(In));
        const Accumulator value = Accumulator(cast_to<Type>(real_part(x), imaginary_part(x)));
        memcpy(to + i * sizeof value, &value, sizeof value);
    }
}

/* ---- moves ---- */

/* The loops for elements of `size` bytes; each `part` is byte-swapped, unless `part` is 1. */
struct copier {
    size_t size, part;
    move_tile *all, *valid;
};

template <class Part, unsigned Parts, bool Swapped>
constexpr copier copier_of = {sizeof(Part) * Parts, Swapped ? sizeof(Part) : 1,
                              copy_all<Part, Parts, Swapped>, copy_valid<Part, Parts, Swapped>};

constexpr copier copiers[] = {copier_of<uint8_t, 1, false>,  copier_of<uint16_t, 1, false>,
                              copier_of<uint32_t, 1, false>, copier_of<uint64_t, 1, false>,
                              copier_of<uint64_t, 2, false>, copier_of<uint16_t, 1, true>,
                              copier_of<uint32_t, 1, true>,  copier_of<uint64_t, 1, true>,
                              copier_of<uint32_t, 2, true>,  copier_of<uint64_t, 2, true>};

} // namespace
} // namespace KERNELS

using namespace KERNELS;

move_tile *KERNELS::find_move(size_t size, size_t part, bool masked)
{
    const copier *copier = copiers;
    while (copier->size != size || copier->part != part)
        copier++;
    return masked ? copier->valid : copier->all;
}

fill_masked *KERNELS::find_fill(size_t size)
{
    return size == sizeof(unsigned __int128)
               ? fill<unsigned __int128>
               : visit_words(size, [](auto word) { return fill<decltype(word)>; });
}

convert_elements *KERNELS::find_convert(enum element input, enum element type)
{
    return visit_elements(input, [=](auto in, auto) {
        return visit_elements(type, [](auto to, auto v) -> convert_elements * {
            return convert<type_in<decltype(in)>, type_in<decltype(to)>, type_in<decltype(v)>>;
        });
    });
}
