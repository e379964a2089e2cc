/* Loops for every op, element type and accumulator that are worth a loop of their own. */
#include "host/fold.h"

#include "common/scalar.h"

#define DEFINE_ELEMENT(NAME, type, name, member) typedef type element_##NAME;
ELEMENT_TYPES(DEFINE_ELEMENT)

/* ---- combination: a is what was folded so far ---- */

#define DEFINE_COMBINE(op, NAME, expression)                                                       \
    SCALAR element_##NAME op##_##NAME(element_##NAME a, element_##NAME b)                          \
    {                                                                                              \
        return expression;                                                                         \
    }

/* Signed integers wrap around, so they are added and multiplied as unsigned ones. NaN wins every
 * comparison. */
#define DEFINE_REAL(NAME, wrap)                                                                    \
    DEFINE_COMBINE(SUM, NAME, (element_##NAME)((wrap)a + (wrap)b))                                 \
    DEFINE_COMBINE(PROD, NAME, (element_##NAME)((wrap)a * (wrap)b))                                \
    DEFINE_COMBINE(MIN, NAME, a < b || a != a ? a : b)                                             \
    DEFINE_COMBINE(MAX, NAME, a > b || a != a ? a : b)

DEFINE_REAL(INT32, uint32_t)
DEFINE_REAL(INT64, uint64_t)
DEFINE_REAL(UINT64, uint64_t)
DEFINE_REAL(FLOAT32, float)
DEFINE_REAL(FLOAT64, double)

/* Complex numbers are ordered by their real parts, then by their imaginary ones; one with a NaN in
 * it wins. */
#define HAS_NAN(a) ((a).real != (a).real || (a).imag != (a).imag)
#define COMES_FIRST(a, b, less)                                                                    \
    ((a).real less(b).real || ((a).real == (b).real && !((b).imag less(a).imag)))
#define DEFINE_COMPLEX(NAME)                                                                       \
    DEFINE_COMBINE(SUM, NAME, ((element_##NAME){a.real + b.real, a.imag + b.imag}))                \
    DEFINE_COMBINE(                                                                                \
        PROD, NAME,                                                                                \
        ((element_##NAME){a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real}))  \
    DEFINE_COMBINE(MIN, NAME, HAS_NAN(a) || (COMES_FIRST(a, b, <) && !HAS_NAN(b)) ? a : b)         \
    DEFINE_COMBINE(MAX, NAME, HAS_NAN(a) || (COMES_FIRST(a, b, >) && !HAS_NAN(b)) ? a : b)

DEFINE_COMPLEX(COMPLEX64)
DEFINE_COMPLEX(COMPLEX128)

/* ---- loops ---- */

/* An element's value as C converts it further. */
#define VALUE_BOOL(x)       ((x) != 0)
#define VALUE_INT8(x)       (x)
#define VALUE_INT16(x)      (x)
#define VALUE_INT32(x)      (x)
#define VALUE_INT64(x)      (x)
#define VALUE_UINT8(x)      (x)
#define VALUE_UINT16(x)     (x)
#define VALUE_UINT32(x)     (x)
#define VALUE_UINT64(x)     (x)
#define VALUE_FLOAT16(x)    half_to_float(x)
#define VALUE_BFLOAT16(x)   bfloat_to_float(x)
#define VALUE_FLOAT32(x)    (x)
#define VALUE_FLOAT64(x)    (x)
#define VALUE_COMPLEX64(x)  (x)
#define VALUE_COMPLEX128(x) (x)

/* Independent accumulators of a loop, for the compiler to vectorise. The least and greatest complex
 * numbers do without: of several with a NaN the first is meant. */
enum { LANES = 8 };
enum {
    COMPLEX_LANES_SUM = 4,
    COMPLEX_LANES_PROD = 4,
    COMPLEX_LANES_MIN = 1,
    COMPLEX_LANES_MAX = 1
};

#define DEFINE_FOLD(OP, IN, ACC, lanes_used)                                                       \
    static void fold_##OP##_##IN##_##ACC(const void *elements, size_t n, void *result)             \
    {                                                                                              \
        enum { WIDTH = lanes_used };                                                               \
        const element_##IN *x = elements;                                                          \
        element_##ACC lanes[WIDTH] = {VALUE_##IN(x[0])};                                           \
        const size_t used = n < WIDTH ? n : WIDTH;                                                 \
        for (size_t k = 1; k < used; k++)                                                          \
            lanes[k] = VALUE_##IN(x[k]);                                                           \
        size_t i = WIDTH;                                                                          \
        for (; i + WIDTH <= n; i += WIDTH)                                                         \
            for (size_t k = 0; k < WIDTH; k++)                                                     \
                lanes[k] = OP##_##ACC(lanes[k], VALUE_##IN(x[i + k]));                             \
        for (; i < n; i++)                                                                         \
            lanes[i % WIDTH] = OP##_##ACC(lanes[i % WIDTH], VALUE_##IN(x[i]));                     \
        for (size_t k = 1; k < used; k++)                                                          \
            lanes[0] = OP##_##ACC(lanes[0], lanes[k]);                                             \
        memcpy(result, lanes, sizeof *lanes);                                                      \
    }

#define DEFINE_PAIRS(OP, ACC)                                                                      \
    static void pairs_##OP##_##ACC(void *onto, const void *values, size_t n)                       \
    {                                                                                              \
        element_##ACC *x = onto;                                                                   \
        const element_##ACC *y = values;                                                           \
        for (size_t i = 0; i < n; i++)                                                             \
            x[i] = OP##_##ACC(x[i], y[i]);                                                         \
    }

/* FOLD(OP, element type, accumulator, lanes): every element type into its own accumulator, and
 * those that NumPy's sums and means ask for. */
#define EACH_FOLD(FOLD, OP)                                                                        \
    FOLD(OP, BOOL, INT32, LANES)                                                                   \
    FOLD(OP, INT8, INT32, LANES)                                                                   \
    FOLD(OP, INT16, INT32, LANES)                                                                  \
    FOLD(OP, INT32, INT32, LANES)                                                                  \
    FOLD(OP, UINT8, INT32, LANES)                                                                  \
    FOLD(OP, UINT16, INT32, LANES)                                                                 \
    FOLD(OP, BOOL, INT64, LANES)                                                                   \
    FOLD(OP, INT8, INT64, LANES)                                                                   \
    FOLD(OP, INT16, INT64, LANES)                                                                  \
    FOLD(OP, INT32, INT64, LANES)                                                                  \
    FOLD(OP, INT64, INT64, LANES)                                                                  \
    FOLD(OP, UINT32, INT64, LANES)                                                                 \
    FOLD(OP, UINT8, UINT64, LANES)                                                                 \
    FOLD(OP, UINT16, UINT64, LANES)                                                                \
    FOLD(OP, UINT32, UINT64, LANES)                                                                \
    FOLD(OP, UINT64, UINT64, LANES)                                                                \
    FOLD(OP, FLOAT16, FLOAT32, LANES)                                                              \
    FOLD(OP, BFLOAT16, FLOAT32, LANES)                                                             \
    FOLD(OP, FLOAT32, FLOAT32, LANES)                                                              \
    FOLD(OP, BOOL, FLOAT64, LANES)                                                                 \
    FOLD(OP, INT8, FLOAT64, LANES)                                                                 \
    FOLD(OP, INT16, FLOAT64, LANES)                                                                \
    FOLD(OP, INT32, FLOAT64, LANES)                                                                \
    FOLD(OP, INT64, FLOAT64, LANES)                                                                \
    FOLD(OP, UINT8, FLOAT64, LANES)                                                                \
    FOLD(OP, UINT16, FLOAT64, LANES)                                                               \
    FOLD(OP, UINT32, FLOAT64, LANES)                                                               \
    FOLD(OP, UINT64, FLOAT64, LANES)                                                               \
    FOLD(OP, FLOAT32, FLOAT64, LANES)                                                              \
    FOLD(OP, FLOAT64, FLOAT64, LANES)                                                              \
    FOLD(OP, COMPLEX64, COMPLEX64, COMPLEX_LANES_##OP)                                             \
    FOLD(OP, COMPLEX128, COMPLEX128, COMPLEX_LANES_##OP)

EACH_FOLD(DEFINE_FOLD, SUM)
EACH_FOLD(DEFINE_FOLD, PROD)
EACH_FOLD(DEFINE_FOLD, MIN)
EACH_FOLD(DEFINE_FOLD, MAX)

#define DEFINE_PAIRS_OF(NAME, type, name, member)                                                  \
    DEFINE_PAIRS(SUM, NAME)                                                                        \
    DEFINE_PAIRS(PROD, NAME)                                                                       \
    DEFINE_PAIRS(MIN, NAME)                                                                        \
    DEFINE_PAIRS(MAX, NAME)
ACCUMULATOR_TYPES(DEFINE_PAIRS_OF)

/* ---- the tables ---- */

#define FOLD_ENTRY(OP, IN, ACC, lanes)                                                             \
    [OP_##OP][ELEMENT_##IN][ELEMENT_##ACC] = fold_##OP##_##IN##_##ACC,
static fold *const folds[OPS][ELEMENTS][ELEMENTS] = {EACH_FOLD(FOLD_ENTRY, SUM) EACH_FOLD(
    FOLD_ENTRY, PROD) EACH_FOLD(FOLD_ENTRY, MIN) EACH_FOLD(FOLD_ENTRY, MAX)};

#define PAIRS_ENTRIES(NAME, type, name, member)                                                    \
    [OP_SUM][ELEMENT_##NAME] = pairs_SUM_##NAME, [OP_PROD][ELEMENT_##NAME] = pairs_PROD_##NAME,    \
    [OP_MIN][ELEMENT_##NAME] = pairs_MIN_##NAME, [OP_MAX][ELEMENT_##NAME] = pairs_MAX_##NAME,
static fold_pairs *const pairs[OPS][ELEMENTS] = {ACCUMULATOR_TYPES(PAIRS_ENTRIES)};

/* A loop converts elements to the accumulator, so it must be the type asked for, or that type must
 * be the elements' own. */
fold *fold_find(enum op op, enum element input, enum element type)
{
    const enum element accumulator = element_accumulator(type);
    return type == accumulator || type == input ? folds[op][input][accumulator] : NULL;
}

fold *fold_of_accumulators(enum op op, enum element accumulator)
{
    return folds[op][accumulator][accumulator];
}

fold_pairs *fold_pairs_find(enum op op, enum element accumulator)
{
    return pairs[op][accumulator];
}
