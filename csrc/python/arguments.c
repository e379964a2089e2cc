#include "python/arguments.h"

#include "python/tuples.h"

#include <string.h>

static const char *const argument_names[ARGUMENTS_END] = {
#define ARGUMENT(NAME, name, missing) [NAME] = name,
    ARGUMENTS(ARGUMENT)
#undef ARGUMENT
};

/* Says which keywords there are. */
static void unknown_keyword(const struct signature *signature, PyObject *name)
{
    PyObject *accepted = PyUnicode_FromString("");
    for (const unsigned char *k = signature->order + signature->unnamed; accepted && *k; k++)
        Py_SETREF(accepted, PyUnicode_FromFormat("%U%s%s", accepted,
                                                 PyUnicode_GET_LENGTH(accepted) ? ", " : "",
                                                 argument_names[*k]));
    if (accepted)
        PyErr_Format(PyExc_TypeError, "%s() has no keyword argument %R; it has %U",
                     signature->function, name, accepted);
    Py_XDECREF(accepted);
}

/* Most keywords are told apart by how they begin. */
static bool is_keyword(PyObject *name, const char *keyword)
{
    return PyUnicode_READ_CHAR(name, 0) == (Py_UCS4)(unsigned char)*keyword &&
           PyUnicode_CompareWithASCIIString(name, keyword) == 0;
}

/* NO_ARGUMENT with an exception set if there is no such keyword. */
static enum argument argument_named(const struct signature *signature, PyObject *name)
{
    for (const unsigned char *k = signature->order + signature->unnamed; *k; k++)
        if (is_keyword(name, argument_names[*k]))
            return (enum argument) * k;
    unknown_keyword(signature, name);
    return NO_ARGUMENT;
}

static void wrong_count(const struct signature *signature, Py_ssize_t count)
{
    const int least = signature->required, most = signature->positional;
    if (least == most)
        PyErr_Format(PyExc_TypeError, "%s() takes %d positional argument%s; got %zd",
                     signature->function, most, most == 1 ? "" : "s", count);
    else
        PyErr_Format(PyExc_TypeError, "%s() takes %d to %d positional arguments; got %zd",
                     signature->function, least, most, count);
}

bool arguments_parse(const struct signature *signature, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *names, PyObject *slots[ARGUMENTS_END])
{
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
            return PyErr_Format(PyExc_TypeError, "%s() got %R twice", signature->function, name);
        slots[argument] = arguments[count + k];
    }
    bool complete = count <= signature->positional;
    for (int k = 0; k < signature->required; k++)
        complete = complete && slots[signature->order[k]];
    if (!complete)
        wrong_count(signature, count);
    return complete;
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
        "op must be the name of a reduction, such as 'sum' (gred.reductions() lists them); "
        "got %R",
        op);
}

/* ---- the signatures of the reductions ---- */

/* A reduction, how many arguments can be given by position, how many of them have no keyword, and
 * all in order: NumPy's in its own, and gred's after them. */
#define ROW(name, positional, unnamed, ...)                                                        \
    [REDUCTION_##name] = {                                                                         \
        #name, 1, positional, unnamed, {__VA_ARGS__, METHOD, BLOCK_SIZE, DEVICE, STREAM}},
#define FOLDED              7, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, INITIAL, WHERE
#define EXTREME             6, 0, A, AXIS, OUT, KEEPDIMS, INITIAL, WHERE, DTYPE
#define AVERAGED            5, 0, A, AXIS, DTYPE, OUT, KEEPDIMS, WHERE
#define SPREAD              6, 0, A, AXIS, DTYPE, OUT, DDOF, KEEPDIMS, WHERE, MEAN, CORRECTION
#define TRUTH               4, 0, A, AXIS, OUT, KEEPDIMS, WHERE
#define POSITION            3, 0, A, AXIS, OUT, KEEPDIMS, WHERE
#define REDUCED(name, kind) ROW(name, kind)

static const struct signature signatures[SIGNATURES] = {
    [SIGNATURE_dot] = {"dot", 2, 2, 0, {A, B, METHOD, DEVICE, STREAM}},
    /* clang-format off */
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
    ROW(minmax, 2, 0, A, AXIS, KEEPDIMS, DTYPE, WHERE)
    ROW(describe, 2, 1, A, DDOF, AXIS, DTYPE, KEEPDIMS, WHERE)
    /* clang-format on */
};

const struct signature *signature_at(unsigned k)
{
    return &signatures[k];
}

/* ---- their docstrings ---- */

/* "sum($module, a, axis=None, ...)" and the line below it, as inspect and help read them. A new
 * reference. */
static PyObject *signature_text(const struct signature *signature)
{
    static const char *const defaults[ARGUMENTS_END] = {
#define ARGUMENT(NAME, name, missing) [NAME] = missing,
        ARGUMENTS(ARGUMENT)
#undef ARGUMENT
    };
    PyObject *text = PyUnicode_FromFormat("%s($module", signature->function);
    for (int k = 0; text && signature->order[k]; k++) {
        const enum argument argument = signature->order[k];
        const char *const marks = k == 0                       ? ""
                                  : k == signature->unnamed    ? ", /"
                                  : k == signature->positional ? ", *"
                                                               : "";
        Py_SETREF(text, PyUnicode_FromFormat("%U%s, %s%s%s", text, marks, argument_names[argument],
                                             *defaults[argument] ? "=" : "", defaults[argument]));
    }
    if (text)
        Py_SETREF(text, PyUnicode_FromFormat("%U)\n--\n\n", text));
    return text;
}

static PyObject *name_at(const void *order, size_t k)
{
    return PyUnicode_FromString(argument_names[((const unsigned char *)order)[k]]);
}

static PyObject *signature_names(const struct signature *signature)
{
    return tuple_of(strlen((const char *)signature->order), name_at, signature->order);
}

/* A new str. NULL with an exception set. */
static PyObject *docstring(PyObject *module, unsigned k)
{
    static const char *const nothing[] = {[NOTHING_value] = "value",
                                          [NOTHING_initial] = "initial",
                                          [NOTHING_nan] = "nan",
                                          [NOTHING_error] = "error"};
    const struct reduction_row *row = reduction_row(k == SIGNATURE_dot ? REDUCTION_sum : k);
    PyObject *first = signature_text(&signatures[k]);
    PyObject *rest = first
                         ? PyObject_CallMethod(module, "docstring", "ssNOs", signatures[k].function,
                                               row->summary, signature_names(&signatures[k]),
                                               fold_is_on_ladder(row->fold) ? Py_True : Py_False,
                                               nothing[row->nothing])
                         : NULL;
    PyObject *text = rest ? PyUnicode_Concat(first, rest) : NULL;
    Py_XDECREF(rest);
    Py_XDECREF(first);
    return text;
}

/* A copy that lasts as long as the process: functions refer to it. */
static bool keep(PyObject *text, const char **doc)
{
    const char *utf8 = text ? PyUnicode_AsUTF8(text) : NULL;
    *doc = utf8 ? strdup(utf8) : NULL;
    Py_XDECREF(text);
    if (utf8 && !*doc)
        PyErr_NoMemory();
    return *doc;
}

bool signatures_document(PyMethodDef *functions)
{
    PyObject *module = PyImport_ImportModule("gred.docstrings");
    bool done = module;
    for (unsigned k = 0; done && k < SIGNATURES; k++)
        done = functions[k].ml_doc || keep(docstring(module, k), &functions[k].ml_doc);
    Py_XDECREF(module);
    return done;
}
