/* The tables of element types, methods and reductions. */
#include "common/element.h"
#include "common/method.h"
#include "common/reduction.h"

#include <string.h>

/* ---- element types ---- */

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

bool element_holds(enum element type, enum element other)
{
    if (type == ELEMENT_BOOL || !element_is_integer(type) || !element_is_integer(other))
        return false;
    if (other == ELEMENT_BOOL)
        return true;
    if (element_is_signed(type) == element_is_signed(other))
        return element_size(type) >= element_size(other);
    return element_is_signed(type) && element_size(type) > element_size(other);
}

const char *element_names(void)
{
#define ELEMENT_LISTED(NAME, type, name, member) ", " #name
    static const char names[] = ELEMENT_TYPES(ELEMENT_LISTED);
#undef ELEMENT_LISTED
    return names + strlen(", ");
}

/* ---- methods ---- */

#define STYLED(style) STYLE_##style, HOLDS_##style, CAPABILITY_##style

static const struct method methods[METHODS] = {
#define RUNG(number, name, alias, style, blocks, data_blocks, threads, block_size, source, title,  \
             idea)                                                                                 \
    {number,      #name,   alias,      STYLED(style), METHOD_ON_SIMULATED | METHOD_ON_CUDA,        \
     data_blocks, threads, block_size, source,        title,                                       \
     idea},
#define HOST_METHOD(name, source, title, idea)                                                     \
    {-1, #name, "", STYLED(recursion), METHOD_ON_HOST, 1, 0, 0, source, title, idea},
#define LIBRARY_METHOD(name, source, title, idea)                                                  \
    {-1, #name, "", STYLED(library), METHOD_ON_CUDA, 1, 0, 0, source, title, idea},
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

/* ---- reductions ---- */

static const bool on_ladder[FOLDS] = {
#define FOLD(name, ladder, indexed, types) [FOLD_##name] = ladder,
#include "common/reductions.def"
};

/* Pastes names before they are macro-expanded: bool is a macro in C. */
static const struct reduction_row rows[REDUCTIONS] = {
#define ROW(name, called, ...) [REDUCTION_##name] = {#name, called, __VA_ARGS__},
#define REDUCTION(name, fold, plain, bools, values, result, nothing, counts, summary)              \
    ROW(name, #name, FOLD_##fold, REDUCTION_##plain, REDUCTION_##bools, VALUES_##values,           \
        RESULT_##result, NOTHING_##nothing, counts, summary)
#define VARIANT(called, name, fold, plain, bools, values, result, nothing, counts, summary)        \
    ROW(name, called, FOLD_##fold, REDUCTION_##plain, REDUCTION_##bools, VALUES_##values,          \
        RESULT_##result, NOTHING_##nothing, counts, summary)
#include "common/reductions.def"
};

bool reduction_find(const char *name, enum reduction *found)
{
    for (int r = 0; r < FIRST_VARIANT; r++)
        if (strcmp(name, rows[r].name) == 0) {
            *found = (enum reduction)r;
            return true;
        }
    return false;
}

const struct reduction_row *reduction_row(enum reduction reduction)
{
    return &rows[reduction];
}

bool fold_is_on_ladder(enum fold fold)
{
    return on_ladder[fold];
}

bool fold_is_extreme(enum fold fold)
{
    return fold == FOLD_min || fold == FOLD_max || fold == FOLD_nanmin || fold == FOLD_nanmax;
}

bool fold_gives_mean(enum fold fold, enum element accumulator)
{
    return fold == FOLD_sum && !element_is_integer(accumulator);
}
