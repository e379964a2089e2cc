#include "common/method.h"

#include <string.h>

static const struct method methods[METHODS] = {
#define RUNG(number, name, alias, style, blocks, data_blocks, threads, block_size, source, title,  \
             idea)                                                                                 \
    {number,      #name,   alias,      STYLE_##style, METHOD_ON_SIMULATED | METHOD_ON_CUDA,        \
     data_blocks, threads, block_size, source,        title,                                       \
     idea},
#define HOST_METHOD(name, source, title, idea)                                                     \
    {-1, #name, "", STYLE_recursion, METHOD_ON_HOST, 1, 0, 0, source, title, idea},
#define LIBRARY_METHOD(name, source, title, idea)                                                  \
    {-1, #name, "", STYLE_library, METHOD_ON_CUDA, 1, 0, 0, source, title, idea},
#include "common/ladder.def"
};

const struct method *method_at(enum method_index index)
{
    return &methods[index];
}

enum method_index method_index_of(const struct method *method)
{
    return (enum method_index)(method - methods);
}

const struct method *method_find(const char *name)
{
    for (const struct method *m = methods; m < methods + METHODS; m++)
        if (strcmp(name, m->name) == 0 || (*m->alias && strcmp(name, m->alias) == 0))
            return m;
    return NULL;
}

static const struct {
    unsigned holds;
    int capability;
} styles[] = {
#define STYLE(name, holds, capability) {holds, capability},
    STYLES(STYLE)
#undef STYLE
};

bool method_is(const struct method *method, unsigned holds)
{
    return (styles[method->style].holds & holds) == holds;
}

int method_capability(const struct method *method)
{
    return styles[method->style].capability;
}
