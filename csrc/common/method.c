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

enum { NAME_MAX_COMPARED = 32 };

/* Levenshtein's distance, of names no longer than NAME_MAX_COMPARED. */
static size_t distance(const char *a, const char *b)
{
    size_t row[NAME_MAX_COMPARED + 1];
    const size_t length = strlen(b);
    for (size_t j = 0; j <= length; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1]; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= length; j++) {
            const size_t replaced = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            const size_t edited = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            row[j] = replaced < edited ? replaced : edited;
        }
    }
    return row[length];
}

/* Keeps a candidate that is nearer than the nearest so far. */
static void consider(const char *candidate, const char *name, const char **nearest, size_t *least)
{
    const size_t d = distance(candidate, name);
    if (*candidate && d < *least) {
        *least = d;
        *nearest = candidate;
    }
}

const char *method_nearest(const char *name)
{
    if (strlen(name) > NAME_MAX_COMPARED)
        return NULL;
    const char *nearest = NULL;
    size_t least = strlen(name) / 2 + 1;
    consider("auto", name, &nearest, &least);
    consider("exact", name, &nearest, &least);
    consider("batch_invariant", name, &nearest, &least);
    for (const struct method *m = methods; m < methods + METHODS; m++) {
        consider(m->name, name, &nearest, &least);
        consider(m->alias, name, &nearest, &least);
    }
    return nearest;
}

bool method_works_in_place(const struct method *method)
{
    return method->style == STYLE_levels || method->style == STYLE_in_place;
}

bool method_has_last_block(const struct method *method)
{
    return method->style == STYLE_last_block || method->style == STYLE_bulk ||
           method->style == STYLE_clusters;
}

int method_capability(const struct method *method)
{
    enum { HOPPER = 90 };
    return method->style == STYLE_bulk || method->style == STYLE_clusters ? HOPPER : 0;
}
