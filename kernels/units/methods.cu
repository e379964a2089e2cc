/* Instantiates every rung for the fold GRED_FOLD, and looks them up. There is one compilation per
 * fold, so that they run in parallel. */
#include "../load/strided_entry.cuh"
#include "../reductions.cuh"

/* Rungs for later GPUs are compiled by later_methods.cu. */
#define RUNG_FOLD GRED_FOLD
#include "rungs.cuh"

namespace KERNELS
{
namespace
{

/* The other types of the default method. Unsigned 64-bit sums and products have the same bits as
 * signed ones. Minima and maxima use the smallest sufficient accumulator. */
using integers = std::conditional_t<
    widens<GRED_FOLD>,
    concat_pairs<accumulated_in<ELEMENT_INT64, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16>,
                 pairs<pair<ELEMENT_UINT8, ELEMENT_UINT64, int64_t>,
                       pair<ELEMENT_UINT16, ELEMENT_UINT64, int64_t>,
                       pair<ELEMENT_UINT32, ELEMENT_UINT64, int64_t>>>,
    concat_pairs<accumulated_in<ELEMENT_INT32, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16,
                                ELEMENT_UINT8, ELEMENT_UINT16>,
                 accumulated_in<ELEMENT_INT64, ELEMENT_UINT32>>>;
using floats =
    pairs<pair<ELEMENT_FLOAT16, ELEMENT_FLOAT32>, pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT32>,
          pair<ELEMENT_COMPLEX64>, pair<ELEMENT_COMPLEX128>>;
/* Sums for means, in which integers are accumulated as float64. */
using means = std::conditional_t<
    std::is_same_v<GRED_FOLD<double>, sum<double>>,
    concat_pairs<integers_in<ELEMENT_FLOAT64>, accumulated_in<ELEMENT_FLOAT64, ELEMENT_FLOAT32>,
                 integers_in<ELEMENT_FLOAT32>>,
    pairs<>>;

const void *flat_kernel(const kernel_key &key)
{
    if (const void *const rung = rung_kernel<widens<GRED_FOLD>>(key))
        return rung;
    if (key.method != METHOD_last_block)
        return nullptr;
    const auto entry = [](auto in, auto acc) {
        return KERNEL_ENTRY(last_block<GRED_FOLD<decltype(acc)>, global<const decltype(in)>>);
    };
    return concat_pairs<integers, floats, means>::find(key.input, key.accumulator, entry);
}

} // namespace

const void *OF_FOLD(kernel)(kernel_key key)
{
    using unsigned64 = std::conditional_t<widens<GRED_FOLD>, int64_t, uint64_t>;
    return key.kind == KERNEL_FLAT ? flat_kernel(key)
                                   : strided_kernel<GRED_FOLD, all_values<unsigned64>>(key);
}

} // namespace KERNELS
