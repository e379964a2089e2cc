/* Columns along axes, of elements of a known type, that a thread makes alone. */
#include "lone_columns.cuh"

#include "typed.cuh"

namespace KERNELS
{
namespace
{

template <class Fold, class In>
struct lone_columns_of_type {
    static const void *entry()
    {
        return KERNEL_ENTRY(fold_lone_columns<Fold, In>);
    }
};

} // namespace

const void *lone_columns(enum fold fold, enum element input, enum element accumulator)
{
    return of_fold_and_type<lone_columns_of_type>(fold, input, accumulator);
}

} // namespace KERNELS
