/* Kernels along axes of elements of a known type, for one fold, GRED_FOLD. One fold a compilation,
 * so that they can be compiled side by side. */
#include "../axes/typed.cuh"
#include "../axes/typed_columns.cuh"
#include "../axes/typed_rows.cuh"
#include "../axes/typed_short_rows.cuh"

namespace KERNELS
{
namespace
{

/* Listed by whether elements have stride 2. */
template <class Fold, class In>
struct columns {
    static const void *entry(bool strided)
    {
        return strided ? KERNEL_ENTRY(fold_columns_of_type<Fold, In, true>)
                       : KERNEL_ENTRY(fold_columns_of_type<Fold, In, false>);
    }
};

template <class Fold, class In>
struct unsplit_columns {
    static const void *entry(bool)
    {
        return KERNEL_ENTRY(fold_unsplit_columns<Fold, In>);
    }
};

template <class Fold, class In>
struct rows {
    static const void *entry(bool strided)
    {
        return strided ? KERNEL_ENTRY(fold_rows_of_type<Fold, In, true>)
                       : KERNEL_ENTRY(fold_rows_of_type<Fold, In, false>);
    }
};

template <class Fold, class In>
struct short_rows {
    static const void *entry(bool strided)
    {
        return strided ? KERNEL_ENTRY(fold_short_rows<Fold, In, true>)
                       : KERNEL_ENTRY(fold_short_rows<Fold, In, false>);
    }
};

} // namespace

const void *OF_FOLD(typed_kernel)(kernel_key key)
{
    const bool strided = key.variant == ACCESS_STRIDED;
    switch (key.kind) {
    case KERNEL_TYPED_COLUMNS:
        return of_type<columns, GRED_FOLD>(key.input, key.accumulator, strided);
    case KERNEL_UNSPLIT_COLUMNS:
        return of_type<unsplit_columns, GRED_FOLD>(key.input, key.accumulator, strided);
    case KERNEL_TYPED_ROWS:
        return of_type<rows, GRED_FOLD>(key.input, key.accumulator, strided);
    default:
        return of_type<short_rows, GRED_FOLD>(key.input, key.accumulator, strided);
    }
}

} // namespace KERNELS
