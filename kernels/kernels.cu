/* The kernels beside the rungs, and the table through which the host's C code finds all of them. */
#include "common/kernels.h"
#include "entry.cuh"
#include "finish.cuh"
#include "read.cuh"
#include "working_copy.cuh"

namespace KERNELS
{

#define DECLARE(op)                                                                                \
    const void *op##_flat(enum method_index, enum element input, enum element accumulator,         \
                          unsigned block);                                                         \
    const void *op##_strided(enum method_index, enum element input, enum element accumulator);     \
    const void *op##_gathered(enum method_index, enum element accumulator)
DECLARE(sum);
DECLARE(prod);
DECLARE(min);
DECLARE(max);

library_reduce *library_entry(enum op, enum element input, enum element accumulator);

namespace
{

#define OPS_OF(what) {sum_##what, prod_##what, min_##what, max_##what}

const void *flat_entry(enum op op, enum method_index method, enum element input,
                       enum element accumulator, unsigned block)
{
    static decltype(&sum_flat) const of_op[OPS] = OPS_OF(flat);
    return of_op[op](method, input, accumulator, block);
}

const void *strided_entry(enum op op, enum method_index method, enum element input,
                          enum element accumulator)
{
    static decltype(&sum_strided) const of_op[OPS] = OPS_OF(strided);
    return of_op[op](method, input, accumulator);
}

const void *gathered_entry(enum op op, enum method_index method, enum element accumulator)
{
    static decltype(&sum_gathered) const of_op[OPS] = OPS_OF(gathered);
    return of_op[op](method, accumulator);
}

/* Flat arrays have no mask, so any op will do. */
template <class In, class Acc>
const void *flat_copy()
{
    return KERNEL_ENTRY(working_copy<sum, global<const In>, Acc>);
}

/* What a mask hides becomes the op's identity. */
template <class Acc>
const void *gathered_copy(enum op op)
{
    static const void *const entries[OPS] = {KERNEL_ENTRY(working_copy<sum, gathered, Acc>),
                                             KERNEL_ENTRY(working_copy<prod, gathered, Acc>),
                                             KERNEL_ENTRY(working_copy<min, gathered, Acc>),
                                             KERNEL_ENTRY(working_copy<max, gathered, Acc>)};
    return entries[op];
}

const void *copy_flat_entry(enum element input, enum element accumulator)
{
    if (input == ELEMENT_INT32 && accumulator == ELEMENT_INT64)
        return flat_copy<int32_t, int64_t>();
    if (input != accumulator)
        return nullptr;
    switch (input) {
    case ELEMENT_INT32:
        return flat_copy<int32_t, int32_t>();
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return flat_copy<int64_t, int64_t>();
    case ELEMENT_FLOAT32:
        return flat_copy<float, float>();
    case ELEMENT_FLOAT64:
        return flat_copy<double, double>();
    default:
        return nullptr;
    }
}

const void *copy_gathered_entry(enum op op, enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_INT64:
        return gathered_copy<int64_t>(op);
    case ELEMENT_UINT64:
        return gathered_copy<uint64_t>(op);
    case ELEMENT_FLOAT64:
        return gathered_copy<double>(op);
    default:
        return nullptr;
    }
}

const void *finish_entry()
{
    return KERNEL_ENTRY(finish_on_device);
}

const void *count_entry()
{
    return KERNEL_ENTRY(count_selected);
}

const void *read_entry(unsigned shape)
{
    static const void *const entries[READ_SHAPES] = {KERNEL_ENTRY(read<2>), KERNEL_ENTRY(read<4>),
                                                     KERNEL_ENTRY(read<8>)};
    return entries[shape];
}

} // namespace
} // namespace KERNELS

const struct kernels GRED_TABLE = {
    KERNELS::flat_entry,    KERNELS::gathered_entry,  KERNELS::strided_entry,
    KERNELS::library_entry, KERNELS::copy_flat_entry, KERNELS::copy_gathered_entry,
    KERNELS::finish_entry,  KERNELS::count_entry,     KERNELS::read_entry,
};
