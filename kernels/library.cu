/* The yardstick: CUB's DeviceReduce, with gred's ops, as a library_reduce. The simulated device has
 * no library. */
#include "common/kernels.h"
#include "ops.cuh"

#ifdef __CUDACC__

#include <cub/device/device_reduce.cuh>

namespace KERNELS
{
namespace
{

template <class Op, class T>
struct functor {
    __device__ T operator()(T a, T b) const
    {
        return Op::combine(a, b);
    }
};

template <class Op, class In, class Acc>
int reduce(void *workspace, size_t *workspace_bytes, const void *data, void *result, int64_t n,
           void *stream)
{
    return cub::DeviceReduce::Reduce(
        workspace, *workspace_bytes, static_cast<const In *>(data), static_cast<Acc *>(result), n,
        functor<Op, Acc>(), Op::template identity<Acc>(), static_cast<cudaStream_t>(stream));
}

template <class Op>
library_reduce *of_same_type(enum element element)
{
    switch (element) {
    case ELEMENT_INT32:
        return reduce<Op, int32_t, int32_t>;
    case ELEMENT_INT64:
        return reduce<Op, int64_t, int64_t>;
    case ELEMENT_UINT64:
        return reduce<Op, uint64_t, uint64_t>;
    case ELEMENT_FLOAT32:
        return reduce<Op, float, float>;
    case ELEMENT_FLOAT64:
        return reduce<Op, double, double>;
    default:
        return nullptr;
    }
}

} // namespace

library_reduce *library_entry(enum op op, enum element input, enum element accumulator)
{
    if (op == OP_SUM && input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return reduce<sum, int32_t, int64_t>;
    if (op == OP_PROD && input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return reduce<prod, int32_t, int64_t>;
    static decltype(&of_same_type<sum>) const of_op[OPS] = {of_same_type<sum>, of_same_type<prod>,
                                                            of_same_type<min>, of_same_type<max>};
    return input == accumulator ? of_op[op](input) : nullptr;
}

} // namespace KERNELS

#else

namespace KERNELS
{

library_reduce *library_entry(enum op, enum element, enum element)
{
    return nullptr;
}

} // namespace KERNELS

#endif
