/* The table of the loops of one set of instructions. */
#include "table.h"

using namespace KERNELS;

const struct cpu_kernels CPU_KERNELS(GRED_INSTRUCTIONS) = {
    find_values,
    find_columns,
    find_columns_of_states,
    find_transpose,
    find_move,
    find_convert,
    find_dot,
    find_windows,
    find_product_windows,
    find_unrounded,
    find_unrounded_columns,
};
