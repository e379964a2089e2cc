/* The default method, last_block, for one op, GRED_OP: compiled for every element type, flat and
 * strided, and for the complex accumulators that no other rung has. */
#include "entries.h"
#include "entry.cuh"
#include "strided.cuh"

#include "ladder/21_last_block.cuh"

namespace KERNELS
{
namespace
{

struct default_entry {
    enum element input, accumulator;
    const void *flat, *strided;
};

#define DEFAULT(IN, In, ACC, Acc)                                                                  \
    {ELEMENT_##IN, ELEMENT_##ACC, KERNEL_ENTRY(last_block<Op, global<const In>, Acc>),             \
     KERNEL_ENTRY(last_block<Op, strided<In>, Acc>)}

/* Flat ones that are compiled with the other rungs. */
#define DEFAULT_STRIDED(IN, In, ACC, Acc)                                                          \
    {ELEMENT_##IN, ELEMENT_##ACC, nullptr, KERNEL_ENTRY(last_block<Op, strided<In>, Acc>)}

template <size_t N>
const default_entry *find(const default_entry (&entries)[N], enum element input,
                          enum element accumulator)
{
    for (const default_entry &entry : entries)
        if (entry.input == input && entry.accumulator == accumulator)
            return &entry;
    return nullptr;
}

/* Means of integers are float64. */
template <class Op>
const default_entry *find_averaging(enum element input, enum element accumulator)
{
    static const default_entry entries[] = {
        DEFAULT(BOOL, boolean, FLOAT64, double),    DEFAULT(INT8, int8_t, FLOAT64, double),
        DEFAULT(INT16, int16_t, FLOAT64, double),   DEFAULT(INT32, int32_t, FLOAT64, double),
        DEFAULT(INT64, int64_t, FLOAT64, double),   DEFAULT(UINT8, uint8_t, FLOAT64, double),
        DEFAULT(UINT16, uint16_t, FLOAT64, double), DEFAULT(UINT32, uint32_t, FLOAT64, double),
        DEFAULT(UINT64, uint64_t, FLOAT64, double),
    };
    return find(entries, input, accumulator);
}

/* The default types of sums and products; unsigned 64-bit ones are the same bits as signed. */
template <class Op>
const default_entry *find_widening(enum element input, enum element accumulator)
{
    static const default_entry entries[] = {
        DEFAULT(BOOL, boolean, INT64, int64_t),
        DEFAULT(INT8, int8_t, INT64, int64_t),
        DEFAULT(INT16, int16_t, INT64, int64_t),
        DEFAULT_STRIDED(INT32, int32_t, INT64, int64_t),
        DEFAULT(UINT8, uint8_t, UINT64, int64_t),
        DEFAULT(UINT16, uint16_t, UINT64, int64_t),
        DEFAULT(UINT32, uint32_t, UINT64, int64_t),
        DEFAULT_STRIDED(UINT64, int64_t, UINT64, int64_t),
    };
    return find(entries, input, accumulator);
}

/* Least and greatest elements need no more than the least accumulator. */
template <class Op>
const default_entry *find_keeping(enum element input, enum element accumulator)
{
    static const default_entry entries[] = {
        DEFAULT(BOOL, boolean, INT32, int32_t),
        DEFAULT(INT8, int8_t, INT32, int32_t),
        DEFAULT(INT16, int16_t, INT32, int32_t),
        DEFAULT(UINT8, uint8_t, INT32, int32_t),
        DEFAULT(UINT16, uint16_t, INT32, int32_t),
        DEFAULT(UINT32, uint32_t, INT64, int64_t),
        DEFAULT_STRIDED(UINT64, uint64_t, UINT64, uint64_t),
    };
    return find(entries, input, accumulator);
}

template <class Op>
const default_entry *find_of_any_op(enum element input, enum element accumulator)
{
    static const default_entry entries[] = {
        DEFAULT_STRIDED(INT32, int32_t, INT32, int32_t),
        DEFAULT_STRIDED(INT64, int64_t, INT64, int64_t),
        DEFAULT(FLOAT16, float16, FLOAT32, float),
        DEFAULT(BFLOAT16, bfloat16, FLOAT32, float),
        DEFAULT_STRIDED(FLOAT32, float, FLOAT32, float),
        DEFAULT_STRIDED(FLOAT64, double, FLOAT64, double),
        DEFAULT(COMPLEX64, complex<float>, COMPLEX64, complex<float>),
        DEFAULT(COMPLEX128, complex<double>, COMPLEX128, complex<double>),
    };
    return find(entries, input, accumulator);
}

template <class Op>
const default_entry *find_default(enum element input, enum element accumulator)
{
    constexpr bool widens = std::is_same_v<Op, sum> || std::is_same_v<Op, prod>;
    const default_entry *entry = find_of_any_op<Op>(input, accumulator);
    if constexpr (std::is_same_v<Op, sum>)
        entry = entry ? entry : find_averaging<Op>(input, accumulator);
    if constexpr (widens)
        return entry ? entry : find_widening<Op>(input, accumulator);
    else
        return entry ? entry : find_keeping<Op>(input, accumulator);
}

} // namespace

const void *OF_OP(default_flat)(enum element input, enum element accumulator)
{
    const default_entry *entry = find_default<GRED_OP>(input, accumulator);
    return entry ? entry->flat : nullptr;
}

const void *OF_OP(default_strided)(enum element input, enum element accumulator)
{
    const default_entry *entry = find_default<GRED_OP>(input, accumulator);
    return entry ? entry->strided : nullptr;
}

const void *OF_OP(default_gathered)(enum element accumulator)
{
    if (accumulator == ELEMENT_COMPLEX64)
        return KERNEL_ENTRY(last_block<GRED_OP, gathered, complex<float>>);
    if (accumulator == ELEMENT_COMPLEX128)
        return KERNEL_ENTRY(last_block<GRED_OP, gathered, complex<double>>);
    return nullptr;
}

} // namespace KERNELS
