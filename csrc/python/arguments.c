#include "python/arguments.h"

/* Says which keywords there are. */
static void unknown_keyword(const struct signature *signature, PyObject *name)
{
    PyObject *accepted = PyUnicode_FromString("");
    for (int k = 0; accepted && signature->keywords[k]; k++)
        if (*signature->keywords[k])
            Py_SETREF(accepted, PyUnicode_FromFormat("%U%s%s", accepted,
                                                     PyUnicode_GET_LENGTH(accepted) ? ", " : "",
                                                     signature->keywords[k]));
    if (accepted)
        PyErr_Format(PyExc_TypeError, "%s() has no keyword argument %R; it has %U",
                     signature->function, name, accepted);
    Py_XDECREF(accepted);
}

static int slot_at(const struct signature *signature, int position)
{
    return signature->slots ? signature->slots[position] : position;
}

/* Most keywords are told apart by how they begin. */
static bool is_keyword(PyObject *name, const char *keyword)
{
    return *keyword && PyUnicode_READ_CHAR(name, 0) == (Py_UCS4)(unsigned char)*keyword &&
           PyUnicode_CompareWithASCIIString(name, keyword) == 0;
}

/* -1 with an exception set if there is no such keyword. */
static int keyword_slot(const struct signature *signature, PyObject *name)
{
    for (int k = 0; signature->keywords[k]; k++)
        if (is_keyword(name, signature->keywords[k]))
            return slot_at(signature, signature->unnamed + k);
    unknown_keyword(signature, name);
    return -1;
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

static bool check_required(const struct signature *signature, PyObject *const *slots,
                           Py_ssize_t count)
{
    for (int k = 0; k < signature->required; k++)
        if (!slots[slot_at(signature, k)]) {
            wrong_count(signature, count);
            return false;
        }
    return true;
}

bool arguments_parse(const struct signature *signature, PyObject *const *arguments,
                     Py_ssize_t count, PyObject *names, PyObject *slots[ARGUMENTS_MAX])
{
    for (int k = 0; k < ARGUMENTS_MAX; k++)
        slots[k] = NULL;
    if (count > signature->positional) {
        wrong_count(signature, count);
        return false;
    }
    for (Py_ssize_t k = 0; k < count; k++)
        slots[slot_at(signature, (int)k)] = arguments[k];
    const Py_ssize_t named = names ? PyTuple_GET_SIZE(names) : 0;
    for (Py_ssize_t k = 0; k < named; k++) {
        const int slot = keyword_slot(signature, PyTuple_GET_ITEM(names, k));
        if (slot < 0)
            return false;
        if (slots[slot]) {
            PyErr_Format(PyExc_TypeError, "%s() got %R twice", signature->function,
                         PyTuple_GET_ITEM(names, k));
            return false;
        }
        slots[slot] = arguments[count + k];
    }
    return check_required(signature, slots, count);
}
