/* Columns along axes, of elements of a known type. */
#include "typed_columns.cuh"

#include "typed.cuh"

namespace KERNELS
{
namespace
{

template <class Fold, class In>
struct columns_of_type {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_columns_of_type<Fold, In, false>);
    }
};

template <class Fold, class In>
struct columns_apart {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_columns_of_type<Fold, In, true>);
    }
};

} // namespace

const void *typed_columns(enum fold fold, enum element input, enum element accumulator, bool apart)
{
    return apart ? of_fold_and_type<columns_apart>(fold, input, accumulator)
                 : of_fold_and_type<columns_of_type>(fold, input, accumulator);
}

} // namespace KERNELS
