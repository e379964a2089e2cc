/* Long rows along axes, of elements of a known type. */
#include "typed_rows.cuh"

#include "typed.cuh"

namespace KERNELS
{
namespace
{

template <class Fold, class In>
struct rows_of_type {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_rows_of_type<Fold, In>);
    }
};

/* Spreads of bytes are of float64. */
template <>
struct rows_of_type<variance<int64_t>, int8_t> {
    static const void *entry()
    {
        return nullptr;
    }
};

} // namespace

/* Means of integers are made of their sums as float64. */
const void *typed_rows(enum fold fold, enum element input, enum element accumulator)
{
    if (fold == FOLD_sum && input == ELEMENT_INT8 && accumulator == ELEMENT_FLOAT64)
        return rows_of_type<sum<double>, int8_t>::entry();
    return of_fold_and_type<rows_of_type>(fold, input, accumulator);
}

} // namespace KERNELS
