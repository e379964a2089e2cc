/* The host's loops: one table of them for each set of instructions. Each entry looks a loop up by
 * types that are known when a call is made; NULL: there is none of these. */
#pragma once

#include "common/dots.h"
#include "common/moves.h"
#include "common/slab.h"
#include "common/unrounded.h"
#include "common/windows.h"

struct cpu_kernels {
    /* Of elements that lie one after the other, folded in the accumulator. */
    fold_values *(*values)(enum fold, enum element input, enum element accumulator);

    /* Of results side by side: folded in the accumulator, or results as they are, where that is the
     * elements' own type, or whose truth values' extremes are, where it is ELEMENT_BOOL. */
    const struct slab_loop *(*columns)(enum fold, enum element input, enum element accumulator);

    /* The same of complex numbers that no lanes take: a state each, of at most SLAB_PART_ROWS rows.
     */
    const struct slab_loop *(*columns_of_states)(enum fold, enum element type);

    transpose_rows *(*transpose)(size_t size);

    /* Of elements of so many bytes whose bytes are swapped in every `part` of them; 1: they are
     * not.
     */
    move_tile *(*move)(size_t size, size_t part, bool masked);

    /* To `type`, and then widened to its accumulator. */
    convert_elements *(*convert)(enum element input, enum element type);

    dot_elements *(*dot)(enum element);

    /* Of floats of a real type, in so many windows; NaNs are left out or not. */
    window_values *(*windows)(enum element, unsigned windows, bool leaves_out);
    window_products *(*product_windows)(enum element, unsigned windows);

    /* Where nobody knows how to ask the processor, these say that something was rounded. */
    unrounded_values *(*unrounded_sums)(enum element, bool leaves_out);
    unrounded_columns *(*unrounded_column_sums)(enum element);
};

#define CPU_KERNELS_OF(instructions) cpu_kernels_##instructions
#define CPU_KERNELS(instructions)    CPU_KERNELS_OF(instructions)

#ifdef __cplusplus
extern "C" {
#endif

#define DECLARE_CPU_KERNELS(name) extern const struct cpu_kernels CPU_KERNELS(name);
INSTRUCTION_SETS(DECLARE_CPU_KERNELS)
#undef DECLARE_CPU_KERNELS

const struct cpu_kernels *cpu_kernels(enum instructions);

#ifdef __cplusplus
}
#endif
