#include "common/op.h"

#include <math.h>

static const char *const names[OPS] = {
    [OP_SUM] = "sum", [OP_PROD] = "prod", [OP_MIN] = "min", [OP_MAX] = "max"};

const char *op_name(enum op op)
{
    return names[op];
}

bool op_has_value_of_nothing(enum op op)
{
    return op == OP_SUM || op == OP_PROD;
}

/* What is left out is zero. A sum begins with negative zero, which leaves every float what it is;
 * finish.h makes it zero in the end. */
union scalar op_identity(enum op op, enum element accumulator)
{
    static const union scalar identities[OPS][ELEMENTS] = {
        [OP_SUM] = {[ELEMENT_FLOAT32] = {.f32 = -0.0f},
                    [ELEMENT_FLOAT64] = {.f64 = -0.0},
                    [ELEMENT_COMPLEX64] = {.c64 = {-0.0f, -0.0f}},
                    [ELEMENT_COMPLEX128] = {.c128 = {-0.0, -0.0}}},
        [OP_PROD] = {[ELEMENT_INT32] = {.i32 = 1},
                     [ELEMENT_INT64] = {.i64 = 1},
                     [ELEMENT_UINT64] = {.u64 = 1},
                     [ELEMENT_FLOAT32] = {.f32 = 1},
                     [ELEMENT_FLOAT64] = {.f64 = 1},
                     [ELEMENT_COMPLEX64] = {.c64 = {1, 0}},
                     [ELEMENT_COMPLEX128] = {.c128 = {1, 0}}},
        [OP_MIN] = {[ELEMENT_INT32] = {.i32 = INT32_MAX},
                    [ELEMENT_INT64] = {.i64 = INT64_MAX},
                    [ELEMENT_UINT64] = {.u64 = UINT64_MAX},
                    [ELEMENT_FLOAT32] = {.f32 = INFINITY},
                    [ELEMENT_FLOAT64] = {.f64 = INFINITY},
                    [ELEMENT_COMPLEX64] = {.c64 = {INFINITY, INFINITY}},
                    [ELEMENT_COMPLEX128] = {.c128 = {INFINITY, INFINITY}}},
        [OP_MAX] = {[ELEMENT_INT32] = {.i32 = INT32_MIN},
                    [ELEMENT_INT64] = {.i64 = INT64_MIN},
                    [ELEMENT_FLOAT32] = {.f32 = -INFINITY},
                    [ELEMENT_FLOAT64] = {.f64 = -INFINITY},
                    [ELEMENT_COMPLEX64] = {.c64 = {-INFINITY, -INFINITY}},
                    [ELEMENT_COMPLEX128] = {.c128 = {-INFINITY, -INFINITY}}},
    };
    return identities[op][accumulator];
}

static enum element widened(enum element integer)
{
    const bool is_signed = integer <= ELEMENT_INT64;
    return is_signed ? ELEMENT_INT64 : ELEMENT_UINT64;
}

enum element op_default_type(enum op op, bool mean, enum element input)
{
    if (!element_is_integer(input))
        return input;
    if (mean)
        return ELEMENT_FLOAT64;
    return op == OP_SUM || op == OP_PROD ? widened(input) : input;
}
