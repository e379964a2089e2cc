/* Element types of arrays. Reductions use a few accumulator types and convert on load. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Qualifies functions that are compiled for the host and, by nvcc, for GPUs too. */
#ifdef __CUDACC__
#define SCALAR static __host__ __device__ __forceinline__
#else
#define SCALAR static inline __attribute__((always_inline, unused))
#endif

struct complex64 {
    float real, imag;
};

struct complex128 {
    double real, imag;
};

/* ELEMENT_TYPE(enumerator, C type, NumPy's name, member of union scalar). float16 and bfloat16 are
 * stored as bits; a bool is a byte that is true if nonzero. */
#define ELEMENT_TYPES(ELEMENT_TYPE)                                                                \
    ELEMENT_TYPE(BOOL, uint8_t, bool, b8)                                                          \
    ELEMENT_TYPE(INT8, int8_t, int8, i8)                                                           \
    ELEMENT_TYPE(INT16, int16_t, int16, i16)                                                       \
    ELEMENT_TYPE(INT32, int32_t, int32, i32)                                                       \
    ELEMENT_TYPE(INT64, int64_t, int64, i64)                                                       \
    ELEMENT_TYPE(UINT8, uint8_t, uint8, u8)                                                        \
    ELEMENT_TYPE(UINT16, uint16_t, uint16, u16)                                                    \
    ELEMENT_TYPE(UINT32, uint32_t, uint32, u32)                                                    \
    ELEMENT_TYPE(UINT64, uint64_t, uint64, u64)                                                    \
    ELEMENT_TYPE(FLOAT16, uint16_t, float16, f16)                                                  \
    ELEMENT_TYPE(BFLOAT16, uint16_t, bfloat16, bf16)                                               \
    ELEMENT_TYPE(FLOAT32, float, float32, f32)                                                     \
    ELEMENT_TYPE(FLOAT64, double, float64, f64)                                                    \
    ELEMENT_TYPE(COMPLEX64, struct complex64, complex64, c64)                                      \
    ELEMENT_TYPE(COMPLEX128, struct complex128, complex128, c128)

#define ELEMENT_ENUMERATOR(NAME, type, name, member) ELEMENT_##NAME,
enum element { ELEMENT_TYPES(ELEMENT_ENUMERATOR) ELEMENTS };
#undef ELEMENT_ENUMERATOR

/* One value of any element type. */
union scalar {
#define ELEMENT_MEMBER(NAME, type, name, member) type member;
    ELEMENT_TYPES(ELEMENT_MEMBER)
#undef ELEMENT_MEMBER
};

#ifdef __cplusplus
extern "C" {
#endif

size_t element_size(enum element);
const char *element_name(enum element);

/* The smallest accumulator that holds all values of a type. */
enum element element_accumulator(enum element);

/* Whether integer type `type` holds all values of `other`, an integer type or bool. */
bool element_holds(enum element type, enum element other);

/* The names of all types, for messages: "bool, int8, ...". */
const char *element_names(void);

#ifdef __cplusplus
}
#endif

/* Includes bool. */
SCALAR bool element_is_integer(enum element type)
{
    return type <= ELEMENT_UINT64;
}

SCALAR bool element_is_signed(enum element type)
{
    return type >= ELEMENT_INT8 && type <= ELEMENT_INT64;
}

SCALAR bool element_is_complex(enum element type)
{
    return type >= ELEMENT_COMPLEX64;
}

/* The type of a complex type's parts; any other type itself. */
SCALAR enum element element_real_part(enum element type)
{
    return type == ELEMENT_COMPLEX64    ? ELEMENT_FLOAT32
           : type == ELEMENT_COMPLEX128 ? ELEMENT_FLOAT64
                                        : type;
}
