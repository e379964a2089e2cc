/* The sets of instructions that there are loops for, and what those loops are found by. */
#pragma once

#include "common/instructions.h"
#include "common/reduction.h"

#define VECTOR_LOOP_OF(instructions) vector_loop_##instructions
#define VECTOR_LOOP(instructions)    VECTOR_LOOP_OF(instructions)

#ifdef __cplusplus
extern "C" {
#endif

/* NULL: there is none in vectors. */
#define DECLARE(name)                                                                              \
    fold_values *VECTOR_LOOP(name)(enum fold, enum element input, enum element accumulator);
INSTRUCTION_SETS(DECLARE)
#undef DECLARE

#ifdef __cplusplus
}
#endif
