#include "common/element.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
    enum element accumulator;
} elements[ELEMENTS] = {
#define ROW(NAME, type, name, accumulator) [ELEMENT_##NAME] = {#name, sizeof(type), accumulator}
    ROW(BOOL, uint8_t, bool, ELEMENT_INT32),
    ROW(INT8, int8_t, int8, ELEMENT_INT32),
    ROW(INT16, int16_t, int16, ELEMENT_INT32),
    ROW(INT32, int32_t, int32, ELEMENT_INT32),
    ROW(INT64, int64_t, int64, ELEMENT_INT64),
    ROW(UINT8, uint8_t, uint8, ELEMENT_INT32),
    ROW(UINT16, uint16_t, uint16, ELEMENT_INT32),
    ROW(UINT32, uint32_t, uint32, ELEMENT_INT64),
    ROW(UINT64, uint64_t, uint64, ELEMENT_UINT64),
    ROW(FLOAT16, uint16_t, float16, ELEMENT_FLOAT32),
    ROW(BFLOAT16, uint16_t, bfloat16, ELEMENT_FLOAT32),
    ROW(FLOAT32, float, float32, ELEMENT_FLOAT32),
    ROW(FLOAT64, double, float64, ELEMENT_FLOAT64),
    ROW(COMPLEX64, struct complex64, complex64, ELEMENT_COMPLEX64),
    ROW(COMPLEX128, struct complex128, complex128, ELEMENT_COMPLEX128),
#undef ROW
};

size_t element_size(enum element element)
{
    return elements[element].size;
}

const char *element_name(enum element element)
{
    return elements[element].name;
}

enum element element_accumulator(enum element element)
{
    return elements[element].accumulator;
}

bool element_is_integer(enum element element)
{
    return element <= ELEMENT_UINT64;
}

bool element_is_complex(enum element element)
{
    return element >= ELEMENT_COMPLEX64;
}

static bool is_signed(enum element type)
{
    return type >= ELEMENT_INT8 && type <= ELEMENT_INT64;
}

bool element_holds(enum element type, enum element other)
{
    if (type == ELEMENT_BOOL || !element_is_integer(type) || !element_is_integer(other))
        return false;
    if (other == ELEMENT_BOOL)
        return true;
    if (is_signed(type) == is_signed(other))
        return element_size(type) >= element_size(other);
    return is_signed(type) && element_size(type) > element_size(other);
}

enum element element_real_part(enum element type)
{
    return type == ELEMENT_COMPLEX64    ? ELEMENT_FLOAT32
           : type == ELEMENT_COMPLEX128 ? ELEMENT_FLOAT64
                                        : type;
}

const char *element_names(void)
{
#define ELEMENT_LISTED(NAME, type, name, member) ", " #name
    static const char names[] = ELEMENT_TYPES(ELEMENT_LISTED);
#undef ELEMENT_LISTED
    return names + strlen(", ");
}
