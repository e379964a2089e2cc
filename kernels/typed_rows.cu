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
        return KERNEL_ENTRY(fold_rows_of_type<Fold, In, false>);
    }
};

template <class Fold, class In>
struct rows_apart {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_rows_of_type<Fold, In, true>);
    }
};

} // namespace

const void *typed_rows(enum fold fold, enum element input, enum element accumulator, bool apart)
{
    return apart ? of_fold_and_type<rows_apart>(fold, input, accumulator)
                 : of_fold_and_type<rows_of_type>(fold, input, accumulator);
}

} // namespace KERNELS
