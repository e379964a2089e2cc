/* The kernels beside the rungs, and the table through which the host's C code finds all of them. */
#include "entries.h"
#include "entry.cuh"
#include "read.cuh"
#include "working_copy.cuh"

namespace KERNELS
{

#define DECLARE(op)                                                                                \
    const void *op##_entry(enum method_index, enum element input, enum element accumulator,        \
                           unsigned block)
DECLARE(sum);
DECLARE(prod);
DECLARE(min);
DECLARE(max);

library_reduce *library_entry(enum op, enum element input, enum element accumulator);

namespace
{

const void *of_method(enum op op, enum method_index method, enum element input,
                      enum element accumulator, unsigned block)
{
    static decltype(&sum_entry) const of_op[OPS] = {sum_entry, prod_entry, min_entry, max_entry};
    return of_op[op](method, input, accumulator, block);
}

#define COPIES_FROM(In)                                                                            \
    {KERNEL_ENTRY(working_copy<In, int32_t>), KERNEL_ENTRY(working_copy<In, int64_t>),             \
     KERNEL_ENTRY(working_copy<In, uint64_t>), KERNEL_ENTRY(working_copy<In, float>),              \
     KERNEL_ENTRY(working_copy<In, double>)}

const void *working_copy_entry(enum element input, enum element accumulator)
{
    static const void *const entries[ELEMENTS][ELEMENTS] = {
        COPIES_FROM(int32_t), COPIES_FROM(int64_t), COPIES_FROM(uint64_t), COPIES_FROM(float),
        COPIES_FROM(double)};
    return entries[input][accumulator];
}

const void *read_entry(unsigned shape)
{
    static const void *const entries[READ_SHAPES] = {KERNEL_ENTRY(read<2>), KERNEL_ENTRY(read<4>),
                                                     KERNEL_ENTRY(read<8>)};
    return entries[shape];
}

} // namespace
} // namespace KERNELS

const struct kernels GRED_TABLE = {KERNELS::of_method, KERNELS::library_entry,
                                   KERNELS::working_copy_entry, KERNELS::read_entry};
