#include "op.h"

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

union scalar op_identity(enum op op, enum element element)
{
    static const union scalar identities[OPS][ELEMENTS] = {
        [OP_PROD] = {{.i32 = 1}, {.i64 = 1}, {.u64 = 1}, {.f32 = 1}, {.f64 = 1}},
        [OP_MIN] = {{.i32 = INT32_MAX},
                    {.i64 = INT64_MAX},
                    {.u64 = UINT64_MAX},
                    {.f32 = INFINITY},
                    {.f64 = INFINITY}},
        [OP_MAX] = {{.i32 = INT32_MIN},
                    {.i64 = INT64_MIN},
                    {.u64 = 0},
                    {.f32 = -INFINITY},
                    {.f64 = -INFINITY}},
    };
    return identities[op][element];
}

enum element op_accumulator(enum op op, bool mean, enum element input)
{
    const bool integer = input != ELEMENT_FLOAT32 && input != ELEMENT_FLOAT64;
    if (mean)
        return integer ? ELEMENT_FLOAT64 : input;
    if (input == ELEMENT_INT32 && (op == OP_SUM || op == OP_PROD))
        return ELEMENT_INT64;
    return input;
}

union scalar op_finish(enum op op, enum element element, union scalar folded)
{
    if (op == OP_SUM && element == ELEMENT_FLOAT32)
        folded.f32 += 0.0f;
    if (op == OP_SUM && element == ELEMENT_FLOAT64)
        folded.f64 += 0.0;
    return folded;
}

static union scalar mean_of_nothing(enum element element)
{
    static const union scalar means[ELEMENTS] = {{.i32 = INT32_MIN},
                                                 {.i64 = INT64_MIN},
                                                 {.u64 = UINT64_C(1) << 63},
                                                 {.f32 = NAN},
                                                 {.f64 = NAN}};
    return means[element];
}

union scalar op_mean(enum element element, union scalar sum, uint64_t n)
{
    const double divisor = (double)n;
    if (n == 0)
        return mean_of_nothing(element);
    switch (element) {
    case ELEMENT_INT32:
        return (union scalar){.i32 = (int32_t)((double)sum.i32 / divisor)};
    case ELEMENT_INT64:
        return (union scalar){.i64 = (int64_t)((double)sum.i64 / divisor)};
    case ELEMENT_UINT64:
        return (union scalar){.u64 = (uint64_t)((double)sum.u64 / divisor)};
    case ELEMENT_FLOAT32:
        return (union scalar){.f32 = (float)((double)sum.f32 / divisor)};
    default:
        return (union scalar){.f64 = sum.f64 / divisor};
    }
}
