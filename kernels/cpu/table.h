/* Functions for the table of one instruction set, named by GRED_INSTRUCTIONS; see
 * common/cpu_kernels.h. */
#pragma once

#include "../device.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{

fold_values *find_values(enum fold, enum element input, enum element accumulator);
const struct slab_loop *find_columns(enum fold, enum element input, enum element accumulator,
                                     bool few, bool masked);
transpose_tile *find_transpose(size_t size);
move_tile *find_move(size_t size, size_t part, bool masked);
fill_masked *find_fill(size_t size);
convert_elements *find_convert(enum element input, enum element type);
dot_elements *find_dot(enum element);
add_dot_slab *find_dot_slabs(enum element, bool columns, bool exactly);
window_values *find_windows(enum element, unsigned windows, bool skips_nan);
window_products *find_product_windows(enum element, unsigned windows);
unrounded_values *find_unrounded(enum element, bool skips_nan);
unrounded_columns *find_unrounded_columns(enum element);
sort_columns *find_sort(size_t size);

} // namespace KERNELS
