#include "python/arguments.h"

#include "arrays/objects.h"

static const char *const argument_names[ARGUMENTS_END] = {
#define ARGUMENT(NAME, name, missing) [NAME] = name,
    ARGUMENTS(ARGUMENT)
#undef ARGUMENT
};

struct signature {
    const char *function;
    unsigned char required;   /* positional, and needed */
    unsigned char positional; /* those that may be given by position, the required ones first */
    unsigned char unnamed;    /* of the positional ones: the first that have no keyword */
    unsigned char order[16];  /* all arguments in order, NO_ARGUMENT at the end */
};

/* A reduction, how many arguments can be given by position, how many of them have no keyword, and
 * all in order: NumPy's in its own, and gred's after them. */
#define ROW(name, positional, unnamed, ...)                                                        \
    [REDUCTION_##name] = {                                                                         \
        #name, 1, positional, unnamed, {__VA_ARGS__, METHOD, BLOCK_SIZE, DEVICE, STREAM}},
#define FOLDED   7, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE
#define EXTREME  6, 0, A, AXIS, OUT, KEEPDIMS, INITIAL, WHERE, DTYPE
#define AVERAGED 5, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, WHERE, WEIGHTS
#define SPREAD   6, 0, A, AXIS, DTYPE, OUT, DDOF, KEEPDIMS, WHERE, MEAN, CORRECTION, WEIGHTS
#define TRUTH    4, 0, A, AXIS, OUT, KEEPDIMS, WHERE
#define POSITION 3, 0, A, AXIS, OUT, KEEPDIMS, WHERE
#define REDUCED(name, kind) ROW(name, kind)

static const struct signature signatures[SIGNATURES] = {
    /* clang-format off */
    [SIGNATURE_dot] = {"dot", 2, 2, 0, {A, B, AXIS, OUT, METHOD, DEVICE, STREAM}},
    [SIGNATURE_kernel_time] = {"kernel_time", 1, 2, 2,
        {A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, SAMPLES, WARMUP, COLD}},
    [SIGNATURE_read_limit] = {"read_limit", 0, 2, 2, {DEVICE, NBYTES, SAMPLES, COLD}},
    [SIGNATURE_launch_limit] = {"launch_limit", 0, 1, 1, {DEVICE, SAMPLES}},
    [SIGNATURE_reduceat] = {"reduceat", 11, 11, 11,
        {OP, VALUES, OFFSETS, DTYPE, OUT, MAY_BE_EMPTY, DEVICE, STREAM, ORD, DDOF, METHOD}},
    [SIGNATURE_by_key] = {"by_key", 8, 8, 8,
        {OP, KEYS, VALUES, NUM_KEYS, DROPS, DTYPE, DDOF, METHOD}},
    [SIGNATURE_select_rows] = {"select_rows", 4, 4, 4, {VALUES, NUM_KEYS, OP, DTYPE}},
    [SIGNATURE_each] = {"each", 9, 9, 9,
        {OP, A, DTYPE, OUT, ORD, DDOF, INITIAL, METHOD, STREAM}},
    [SIGNATURE_settle] = {"settle", 7, 7, 7, {A, OP, AXIS, DTYPE, ORD, DDOF, METHOD}},
    [SIGNATURE_counters] = {"counters", 1, 2, 2,
        {A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, MULTIPROCESSORS, ROOM, CHECKED}},
    [SIGNATURE_explain] = {"explain", 1, 2, 2,
        {A, OP, AXIS, KEEPDIMS, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT, INITIAL}},
    REDUCED(sum, FOLDED)
    REDUCED(prod, FOLDED)
    REDUCED(nansum, FOLDED)
    REDUCED(nanprod, FOLDED)
    REDUCED(min, EXTREME)
    REDUCED(max, EXTREME)
    REDUCED(nanmin, EXTREME)
    REDUCED(nanmax, EXTREME)
    REDUCED(mean, AVERAGED)
    REDUCED(nanmean, AVERAGED)
    REDUCED(var, SPREAD)
    REDUCED(std, SPREAD)
    REDUCED(any, TRUTH)
    REDUCED(all, TRUTH)
    REDUCED(argmin, POSITION)
    REDUCED(argmax, POSITION)
    ROW(count_nonzero, 2, 0, A, AXIS, KEEPDIMS, OUT, WHERE)
    ROW(ptp, 4, 0, A, AXIS, OUT, KEEPDIMS, DTYPE, WHERE)
    ROW(norm, 4, 0, X, ORD, AXIS, KEEPDIMS, DTYPE, OUT, WHERE)
    ROW(logsumexp, 4, 0, A, AXIS, OUT, KEEPDIMS, DTYPE, WHERE)
    ROW(minmax, 2, 0, A, AXIS, KEEPDIMS, DTYPE, WHERE)
    ROW(describe, 2, 1, A, DDOF, AXIS, DTYPE, KEEPDIMS, WHERE)
    /* clang-format on */
};

/* ---- arguments ---- */

/* The same as Python's strings, which keywords mostly are: made at import, constant from then on.
 */
static PyObject *argument_keywords[ARGUMENTS_END];

/* PyTorch's names of arguments. */
static const struct {
    const char *name;
    enum argument argument;
} other_names[] = {{"dim", AXIS}, {"keepdim", KEEPDIMS}};

/* Most keywords are told apart by how they begin. */
static bool is_keyword(PyObject *name, const char *keyword)
{
    return PyUnicode_READ_CHAR(name, 0) == (Py_UCS4)(unsigned char)*keyword &&
           PyUnicode_CompareWithASCIIString(name, keyword) == 0;
}

/* NO_ARGUMENT with an exception set, which says which there are, if there is no such keyword. */
static enum argument argument_named(const struct signature *signature, PyObject *name)
{
    const unsigned char *const first = signature->order + signature->unnamed;
    enum argument other = NO_ARGUMENT;
    for (const unsigned char *k = first; *k; k++)
        if (argument_keywords[*k] == name)
            return (enum argument) * k;
    for (const unsigned char *k = first; *k; k++)
        if (is_keyword(name, argument_names[*k]))
            return (enum argument) * k;
    for (size_t k = 0; k < sizeof other_names / sizeof *other_names; k++)
        if (is_keyword(name, other_names[k].name))
            other = other_names[k].argument;
    for (const unsigned char *k = first; other && *k; k++)
        if (*k == other)
            return other;
    OWNED *accepted = PyUnicode_FromString("");
    for (const unsigned char *k = first; accepted && *k; k++)
        Py_SETREF(accepted, PyUnicode_FromFormat("%U%s%s", accepted, k == first ? "" : ", ",
                                                 argument_names[*k]));
    if (accepted)
        type_error("%s() has no keyword argument %R; it has %U", signature->function, name,
                   accepted);
    return NO_ARGUMENT;
}

bool arguments_parse(enum signature_index which, PyObject *const *arguments, Py_ssize_t count,
                     PyObject *names, PyObject *slots[ARGUMENTS_END])
{
    const struct signature *signature = &signatures[which];
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    memset(slots, 0, ARGUMENTS_END * sizeof *slots);
    for (Py_ssize_t k = 0; k < count && k < signature->positional; k++)
        slots[signature->order[k]] = arguments[k];
    for (Py_ssize_t k = 0; k < named && count <= signature->positional; k++) {
        PyObject *const name = PyTuple_GET_ITEM(names, k);
        const enum argument argument = argument_named(signature, name);
        if (argument == NO_ARGUMENT)
            return false;
        if (slots[argument])
            return type_error("%s() got %s twice, also as %R", signature->function,
                              argument_names[argument], name);
        slots[argument] = arguments[count + k];
    }
    bool complete = count <= signature->positional;
    for (int k = 0; k < signature->required; k++)
        complete = complete && slots[signature->order[k]];
    const int least = signature->required, most = signature->positional;
    if (complete)
        return true;
    if (least == most)
        return type_error("%s() takes %d positional argument%s; got %zd", signature->function, most,
                          most == 1 ? "" : "s", count);
    return type_error("%s() takes %d to %d positional arguments; got %zd", signature->function,
                      least, most, count);
}

bool reduction_parse(PyObject *op, enum reduction *reduction)
{
    *reduction = REDUCTION_sum;
    if (!op)
        return true;
    const char *text = PyUnicode_Check(op) ? PyUnicode_AsUTF8(op) : NULL;
    PyErr_Clear();
    if (text && reduction_find(text, reduction))
        return true;
    return PyErr_Format(
        PyUnicode_Check(op) ? PyExc_ValueError : PyExc_TypeError,
        "op must be the name of a reduction, such as 'sum' (gred.reductions() lists them); got %R",
        op);
}

/* ---- docstrings ---- */

/* A new str, which begins with a signature, as inspect and help read it: "sum($module, a,
 * axis=None,
 * ...)". NULL with an exception set. */
static PyObject *docstring(PyObject *module, unsigned which)
{
    static const char *const defaults[ARGUMENTS_END] = {
#define ARGUMENT(NAME, name, missing) [NAME] = missing,
        ARGUMENTS(ARGUMENT)
#undef ARGUMENT
    };
    static const char *const nothing[] = {[NOTHING_value] = "value",
                                          [NOTHING_initial] = "initial",
                                          [NOTHING_nan] = "nan",
                                          [NOTHING_error] = "error"};
    const struct signature *signature = &signatures[which];
    const struct reduction_row *row = reduction_row(which == SIGNATURE_dot ? REDUCTION_sum : which);
    PyObject *names = PyList_New(0);
    OWNED *text = PyUnicode_FromFormat("%s($module", signature->function);
    for (int k = 0; text && signature->order[k]; k++) {
        const enum argument argument = signature->order[k];
        const char *const marks = k == 0                       ? ""
                                  : k == signature->unnamed    ? ", /"
                                  : k == signature->positional ? ", *"
                                                               : "";
        Py_SETREF(text, PyUnicode_FromFormat("%U%s, %s%s%s", text, marks, argument_names[argument],
                                             *defaults[argument] ? "=" : "", defaults[argument]));
        list_append(&names, PyUnicode_FromString(argument_names[argument]));
    }
    OWNED *arguments = list_to_tuple(names);
    OWNED *rest =
        text && arguments
            ? PyObject_CallMethod(module, "docstring", "ssOOs", signature->function, row->summary,
                                  arguments, fold_is_on_ladder(row->fold) ? Py_True : Py_False,
                                  nothing[row->nothing])
            : NULL;
    return rest ? PyUnicode_FromFormat("%U)\n--\n\n%U", text, rest) : NULL;
}

/* Copies last as long as the process: functions refer to them. */
bool signatures_document(PyMethodDef *functions)
{
    for (unsigned k = NO_ARGUMENT + 1; k < ARGUMENTS_END; k++)
        if (!argument_keywords[k] &&
            !(argument_keywords[k] = PyUnicode_InternFromString(argument_names[k])))
            return false;
    OWNED *module = PyImport_ImportModule("gred.docstrings");
    for (unsigned k = 0; module && k <= SIGNATURE_dot; k++) {
        if (functions[k].ml_doc)
            continue;
        OWNED *text = docstring(module, k);
        const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
        functions[k].ml_doc = utf8 ? strdup(utf8) : NULL;
        if (utf8 && !functions[k].ml_doc)
            PyErr_NoMemory();
        if (!functions[k].ml_doc)
            return false;
    }
    return module;
}
