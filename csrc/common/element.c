#include "common/element.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} elements[ELEMENTS] = {
#define ROW(NAME, type, name, member) [ELEMENT_##NAME] = {#name, sizeof(type)},
    ELEMENT_TYPES(ROW)
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
    switch (element) {
    case ELEMENT_UINT32:
        return ELEMENT_INT64;
    case ELEMENT_FLOAT16:
    case ELEMENT_BFLOAT16:
        return ELEMENT_FLOAT32;
    case ELEMENT_INT64:
    case ELEMENT_UINT64:
        return element;
    default:
        return element_is_integer(element) ? ELEMENT_INT32 : element;
    }
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

const char *element_names(void)
{
#define ELEMENT_LISTED(NAME, type, name, member) ", " #name
    static const char names[] = ELEMENT_TYPES(ELEMENT_LISTED);
#undef ELEMENT_LISTED
    return names + strlen(", ");
}
