/* Element types: what arrays hold and what reductions accumulate in. One table instead of chains of
 * ifs. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* ELEMENT_TYPE(enumerator, C type, NumPy's name, member of union scalar) */
#define ELEMENT_TYPES(ELEMENT_TYPE)                                                                \
    ELEMENT_TYPE(INT32, int32_t, int32, i32)                                                       \
    ELEMENT_TYPE(INT64, int64_t, int64, i64)                                                       \
    ELEMENT_TYPE(UINT64, uint64_t, uint64, u64)                                                    \
    ELEMENT_TYPE(FLOAT32, float, float32, f32)                                                     \
    ELEMENT_TYPE(FLOAT64, double, float64, f64)

#define ELEMENT_ENUMERATOR(NAME, type, name, member) ELEMENT_##NAME,
enum element { ELEMENT_TYPES(ELEMENT_ENUMERATOR) ELEMENTS };
#undef ELEMENT_ENUMERATOR

/* One value of any element type. */
union scalar {
#define ELEMENT_MEMBER(NAME, type, name, member) type member;
    ELEMENT_TYPES(ELEMENT_MEMBER)
#undef ELEMENT_MEMBER
};

size_t element_size(enum element);
const char *element_name(enum element);

/* The names of all, for messages: "int32, int64, ...". */
const char *element_names(void);
