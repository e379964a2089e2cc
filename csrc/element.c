#include "element.h"

#include <string.h>

static const struct {
    const char *name;
    size_t size;
} elements[ELEMENTS] = {
#define ELEMENT_ROW(NAME, type, name, member) [ELEMENT_##NAME] = {#name, sizeof(type)},
    ELEMENT_TYPES(ELEMENT_ROW)
#undef ELEMENT_ROW
};

size_t element_size(enum element element)
{
    return elements[element].size;
}

const char *element_name(enum element element)
{
    return elements[element].name;
}

const char *element_names(void)
{
#define ELEMENT_LISTED(NAME, type, name, member) ", " #name
    static const char names[] = ELEMENT_TYPES(ELEMENT_LISTED);
#undef ELEMENT_LISTED
    return names + strlen(", ");
}
