/* Short rows along axes, of elements of a known type. */
#include "typed.cuh"
#include "typed_short_rows.cuh"

namespace KERNELS
{
namespace
{

template <class Fold, class In>
struct short_rows_of_type {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_short_rows<Fold, In, false>);
    }
};

template <class Fold, class In>
struct short_rows_apart {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_short_rows<Fold, In, true>);
    }
};

} // namespace

const void *typed_short_rows(enum fold fold, enum element input, enum element accumulator,
                             bool apart)
{
    return apart ? of_fold_and_type<short_rows_apart>(fold, input, accumulator)
                 : of_fold_and_type<short_rows_of_type>(fold, input, accumulator);
}

} // namespace KERNELS
