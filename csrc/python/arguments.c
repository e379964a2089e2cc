#include "python/arguments.h"

#include "arrays/objects.h"

static const struct {
    const char *name, *default_text;
} specs[ARGUMENTS_END] = {
#define ARGUMENT(NAME, name, missing) [NAME] = {name, missing},
    ARGUMENTS(ARGUMENT)
#undef ARGUMENT
};

struct signature {
    const char *function;
    unsigned char required;   /* required arguments, which are positional */
    unsigned char positional; /* arguments that may be positional, required ones first */
    unsigned char unnamed;    /* positional arguments, the first ones, without a keyword */
    unsigned char order[16];  /* all arguments in order, NO_ARGUMENT at the end */
};

/* Indices of signatures: first the reductions, by their numbers, then other functions. */
#define NAMED(name, ...) SIGNATURE_##name,
#define PLAIN(...)
enum signature_index { REDUCTIONS_END = FIRST_VARIANT - 1, FUNCTIONS(NAMED, PLAIN) SIGNATURES };
#undef NAMED

/* A reduction's signature: how many arguments may be positional, how many of them have no keyword,
 * and all arguments: NumPy's in NumPy's order, then gred's. */
#define ROW(name, positional, unnamed, ...)                                                        \
    [REDUCTION_##name] = {                                                                         \
        #name, 1, positional, unnamed, {__VA_ARGS__, METHOD, BLOCK_SIZE, DEVICE, STREAM}},
#define SUM_ARGUMENTS    7, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE
#define MIN_ARGUMENTS    6, 0, A, AXIS, OUT, KEEPDIMS, INITIAL, WHERE, DTYPE
#define MEAN_ARGUMENTS   5, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, WHERE, WEIGHTS
#define VAR_ARGUMENTS    6, 0, A, AXIS, DTYPE, OUT, DDOF, KEEPDIMS, WHERE, MEAN, CORRECTION, WEIGHTS
#define ARGMIN_ARGUMENTS 3, 0, A, AXIS, OUT, KEEPDIMS, WHERE
#define REDUCED(name, kind) ROW(name, kind)
#define NAMED(name, required, positional, unnamed, ...)                                            \
    [SIGNATURE_##name] = {#name, required, positional, unnamed, {__VA_ARGS__}},

static const struct signature signatures[SIGNATURES] = {
    /* clang-format off */
    FUNCTIONS(NAMED, PLAIN)
    REDUCED(sum, SUM_ARGUMENTS)
    REDUCED(prod, SUM_ARGUMENTS)
    REDUCED(nansum, SUM_ARGUMENTS)
    REDUCED(nanprod, SUM_ARGUMENTS)
    REDUCED(min, MIN_ARGUMENTS)
    REDUCED(max, MIN_ARGUMENTS)
    REDUCED(nanmin, MIN_ARGUMENTS)
    REDUCED(nanmax, MIN_ARGUMENTS)
    REDUCED(mean, MEAN_ARGUMENTS)
    REDUCED(nanmean, MEAN_ARGUMENTS)
    REDUCED(var, VAR_ARGUMENTS)
    REDUCED(std, VAR_ARGUMENTS)
    REDUCED(nanvar, VAR_ARGUMENTS)
    REDUCED(nanstd, VAR_ARGUMENTS)
    ROW(any, 4, 0, A, AXIS, OUT, KEEPDIMS, WHERE)
    ROW(all, 4, 0, A, AXIS, OUT, KEEPDIMS, WHERE)
    REDUCED(argmin, ARGMIN_ARGUMENTS)
    REDUCED(argmax, ARGMIN_ARGUMENTS)
    REDUCED(nanargmin, ARGMIN_ARGUMENTS)
    REDUCED(nanargmax, ARGMIN_ARGUMENTS)
    ROW(count_nonzero, 2, 0, A, AXIS, KEEPDIMS, OUT, WHERE)
    ROW(ptp, 4, 0, A, AXIS, OUT, KEEPDIMS, DTYPE, WHERE)
    ROW(norm, 4, 0, X, ORD, AXIS, KEEPDIMS, DTYPE, OUT, WHERE)
    ROW(logsumexp, 4, 0, A, AXIS, OUT, KEEPDIMS, DTYPE, WHERE)
    ROW(minmax, 2, 0, A, AXIS, KEEPDIMS, DTYPE, WHERE)
    ROW(describe, 2, 1, A, DDOF, AXIS, DTYPE, KEEPDIMS, WHERE)
    /* clang-format on */
};
#undef NAMED

/* The keywords as interned strings, created at import, which calls mostly pass themselves. */
static PyObject *argument_keywords[ARGUMENTS_END];

/* PyTorch's names of some arguments. */
static const char *const keyword_aliases[ARGUMENTS_END] = {[AXIS] = "dim", [KEEPDIMS] = "keepdim"};

/* The argument of a keyword, or NO_ARGUMENT with an exception set that lists the keywords. */
static enum argument find_argument(const struct signature *signature, PyObject *name)
{
    const unsigned char *const first = signature->order + signature->unnamed;
    for (const unsigned char *k = first; *k; k++)
        if (argument_keywords[*k] == name)
            return (enum argument) * k;
    for (const unsigned char *k = first; *k; k++) {
        const char *const other = keyword_aliases[*k];
        if (!PyUnicode_CompareWithASCIIString(name, specs[*k].name) ||
            (other && !PyUnicode_CompareWithASCIIString(name, other)))
            return (enum argument) * k;
    }
    OWNED *accepted = PyUnicode_FromString("");
    for (const unsigned char *k = first; accepted && *k; k++)
        Py_SETREF(accepted,
                  PyUnicode_FromFormat("%U%s%s", accepted, k == first ? "" : ", ", specs[*k].name));
    if (accepted)
        type_error("%s() got an unexpected keyword argument %.200R; it takes %U",
                   signature->function, name, accepted);
    return NO_ARGUMENT;
}

bool arguments_parse(unsigned which, PyObject *const *arguments, Py_ssize_t count, PyObject *names,
                     PyObject *slots[ARGUMENTS_END])
{
    const struct signature *const signature = &signatures[which];
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    memset(slots, 0, ARGUMENTS_END * sizeof *slots);
    for (Py_ssize_t k = 0; k < count && k < signature->positional; k++)
        slots[signature->order[k]] = arguments[k];
    for (Py_ssize_t k = 0; k < named && count <= signature->positional; k++) {
        PyObject *const name = PyTuple_GET_ITEM(names, k);
        const enum argument argument = find_argument(signature, name);
        if (argument == NO_ARGUMENT)
            return false;
        if (slots[argument])
            return type_error("%s() got %s twice, also as %.200R", signature->function,
                              specs[argument].name, name);
        slots[argument] = arguments[count + k];
    }
    bool complete = count <= signature->positional;
    for (int k = 0; k < signature->required; k++)
        complete = complete && slots[signature->order[k]];
    const int min = signature->required, max = signature->positional;
    if (complete)
        return true;
    if (min == max)
        return type_error("%s() takes %d positional argument%s; got %zd", signature->function, max,
                          max == 1 ? "" : "s", count);
    return type_error("%s() takes %d to %d positional arguments; got %zd", signature->function, min,
                      max, count);
}

#define NAMED(name, ...)                                                                           \
    CORE_FUNCTION(name)                                                                            \
    {                                                                                              \
        PyObject *slots[ARGUMENTS_END];                                                            \
        return arguments_parse(SIGNATURE_##name, arguments, count, names, slots)                   \
                   ? slots_##name(PyModule_GetState(module), slots)                                \
                   : NULL;                                                                         \
    }
FUNCTIONS(NAMED, PLAIN)
#undef NAMED

bool reduction_parse(PyObject *op, enum reduction *reduction)
{
    *reduction = REDUCTION_sum;
    if (!op)
        return true;
    const char *text = PyUnicode_Check(op) ? PyUnicode_AsUTF8(op) : NULL;
    PyErr_Clear();
    if (text && reduction_find(text, reduction))
        return true;
    return PyErr_Format(PyUnicode_Check(op) ? PyExc_ValueError : PyExc_TypeError,
                        "op must be the name of a reduction, such as 'sum' (gred.reductions() "
                        "lists them); got %.200R",
                        op);
}

/* ---- docstrings ---- */

/* A docstring of gred/docstrings.py; a new reference. NULL with an exception set. */
static PyObject *docstring(unsigned which)
{
    static const char *const nothing[] = {[NOTHING_value] = "value",
                                          [NOTHING_initial] = "initial",
                                          [NOTHING_nan] = "nan",
                                          [NOTHING_error] = "error"};
    const struct signature *signature = &signatures[which];
    const struct reduction_row *row = reduction_row(which == SIGNATURE_dot ? REDUCTION_sum : which);
    PyObject *arguments = PyList_New(0);
    for (const unsigned char *k = signature->order; *k; k++)
        list_append(&arguments, Py_BuildValue("ss", specs[*k].name, specs[*k].default_text));
    return python_call("gred.docstrings", "docstring", "(ssNiiOs)", signature->function,
                       row->summary, arguments, signature->positional, signature->unnamed,
                       fold_is_on_ladder(row->fold) ? Py_True : Py_False, nothing[row->nothing]);
}

/* Copies are never freed: functions refer to them. */
bool signatures_document(PyMethodDef *functions)
{
    for (unsigned k = NO_ARGUMENT + 1; k < ARGUMENTS_END; k++)
        if (!argument_keywords[k] &&
            !(argument_keywords[k] = PyUnicode_InternFromString(specs[k].name)))
            return false;
    for (unsigned k = 0; k <= SIGNATURE_dot; k++) {
        if (functions[k].ml_doc)
            continue;
        OWNED *text = docstring(k);
        const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
        functions[k].ml_doc = utf8 ? strdup(utf8) : NULL;
        if (utf8 && !functions[k].ml_doc)
            PyErr_NoMemory();
        if (!functions[k].ml_doc)
            return false;
    }
    return true;
}
