#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/cuda_interface.h"
#include "arrays/name.h"
#include "arrays/protocol.h"
#include "arrays/stream.h"
#include "arrays/torch.h"
#include "common/newer_python.h"

#include <string.h>

#define INTERFACE "__cuda_array_interface__"

/* The names that are looked up: made at import, constant from then on. Looking up an interned
 * string compares pointers. */
#define KEYS(KEY)                                                                                  \
    KEY(shape)                                                                                     \
    KEY(typestr) KEY(data) KEY(version) KEY(strides) KEY(stream) KEY(mask) KEY(descr) KEY(dtype)
static struct {
    PyObject *interface;
#define KEY(key) PyObject *key;
    KEYS(KEY)
#undef KEY
} names;

int cuda_interface_setup(void)
{
#define KEY(key) &&name_intern(&names.key, #key)
    return name_intern(&names.interface, INTERFACE) KEYS(KEY) ? 0 : -1;
#undef KEY
}

static const struct protocol_terms terms = {
    .shape = INTERFACE "['shape']",
    .strides = INTERFACE "['strides']",
    .data = INTERFACE "['data']",
};

static const char says_read_only[] = "its " INTERFACE "['data'] says so";

/* What is being read, and where to. */
struct reading {
    PyObject *object, *interface;
    const char *name; /* the argument's, for messages */
    struct view *view;
};

/* ---- entries ---- */

/* Values' methods are anybody's code, and may take values out of the dictionary: all references are
 * new ones. NULL with a ValueError if there is no such entry. */
static PyObject *needed_entry(const struct reading *reading, PyObject *key)
{
    PyObject *value;
    if (PyDict_GetItemRef(reading->interface, key, &value) == 0)
        PyErr_Format(PyExc_ValueError,
                     "%s: " INTERFACE " has no %R; it needs shape, typestr, data and version",
                     reading->name, key);
    return value;
}

/* 1 with a new reference, 0 if there is no such entry or it is None, -1 with an exception set. */
static int optional_entry(const struct reading *reading, PyObject *key, PyObject **value)
{
    const int found = PyDict_GetItemRef(reading->interface, key, value);
    if (found <= 0 || *value != Py_None)
        return found;
    Py_CLEAR(*value);
    return 0;
}

static bool wrong_type(const struct reading *reading, PyObject *key, const char *expected,
                       PyObject *given)
{
    PyErr_Format(PyExc_TypeError, "%s: " INTERFACE "[%R] must be %s, not %.200s", reading->name,
                 key, expected, Py_TYPE(given)->tp_name);
    return false;
}

/* ---- numbers ---- */

/* One entry of a tuple: anything that Python takes for an index. */
static bool parse_integer(const struct reading *reading, PyObject *key, PyObject *item,
                          int64_t *value)
{
    PyObject *number = protocol_integer(item);
    if (!number)
        return PyErr_ExceptionMatches(PyExc_TypeError) &&
               wrong_type(reading, key, "a tuple of integers", item);
    int overflow;
    *value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow)
        PyErr_Format(PyExc_ValueError, "%s: " INTERFACE "[%R] has %R, which does not fit 64 bits",
                     reading->name, key, number);
    Py_DECREF(number);
    return !overflow;
}

/* A tuple of integers, one a dimension. */
static bool parse_integers(const struct reading *reading, PyObject *key, PyObject *tuple,
                           int64_t *values, unsigned *count)
{
    if (!PyTuple_Check(tuple))
        return wrong_type(reading, key, "a tuple of integers", tuple);
    const Py_ssize_t length = PyTuple_GET_SIZE(tuple);
    if (length > DIMENSIONS_MAX) {
        PyErr_Format(PyExc_ValueError,
                     "%s: " INTERFACE "[%R] has %zd dimensions; at most %d are possible",
                     reading->name, key, length, DIMENSIONS_MAX);
        return false;
    }
    for (Py_ssize_t k = 0; k < length; k++)
        if (!parse_integer(reading, key, PyTuple_GET_ITEM(tuple, k), &values[k]))
            return false;
    *count = (unsigned)length;
    return true;
}

/* A pointer or a handle, as a Python integer, may be anything up to 2^64 - 1. */
static bool parse_address(const struct reading *reading, PyObject *key, PyObject *object,
                          uintptr_t *address)
{
    PyObject *number = PyBool_Check(object) ? NULL : protocol_integer(object);
    if (!number)
        return (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) &&
               wrong_type(reading, key, "an integer", object);
    const unsigned long long value = PyLong_AsUnsignedLongLong(number);
    const bool fits = value != (unsigned long long)-1 || !PyErr_Occurred();
    if (!fits) {
        PyErr_Clear();
        PyErr_Format(PyExc_ValueError, "%s: " INTERFACE "[%R] has %R, which is no address",
                     reading->name, key, number);
    }
    Py_DECREF(number);
    *address = (uintptr_t)value;
    return fits;
}

/* ---- shape and strides ---- */

static bool parse_shape(const struct reading *reading)
{
    struct layout *layout = &reading->view->layout;
    PyObject *shape = needed_entry(reading, names.shape);
    const bool parsed = shape && parse_integers(reading, names.shape, shape,
                                                (int64_t *)layout->shape, &layout->dimensions);
    Py_XDECREF(shape);
    return parsed && protocol_count(reading->view, reading->name, &terms);
}

static bool parse_strides(const struct reading *reading)
{
    struct layout *layout = &reading->view->layout;
    PyObject *strides;
    unsigned count;
    const int found = optional_entry(reading, names.strides, &strides);
    if (found == 0)
        protocol_in_c_order(layout);
    if (found <= 0)
        return found == 0;
    const bool parsed = parse_integers(reading, names.strides, strides, layout->strides, &count);
    Py_DECREF(strides);
    if (parsed && count != layout->dimensions)
        PyErr_Format(PyExc_ValueError, "%s: %s has %u entries for %u dimensions", reading->name,
                     terms.strides, count, layout->dimensions);
    return parsed && count == layout->dimensions;
}

/* ---- element type ---- */

/* "<f4": byte order, kind, bytes. */
struct typestr {
    char order, kind;
    size_t size;
};

/* False without an exception if it is not of this form, and with one if memory is short. */
static bool read_typestr(PyObject *string, struct typestr *read)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text && PyErr_ExceptionMatches(PyExc_UnicodeError))
        PyErr_Clear();
    if (!text || length < 3 || length > 4 || !memchr("<|=>", text[0], 4) || text[2] == '0')
        return false;
    *read = (struct typestr){text[0], text[1], 0};
    for (Py_ssize_t k = 2; k < length; k++) {
        if (text[k] < '0' || text[k] > '9')
            return false;
        read->size = read->size * 10 + (size_t)(text[k] - '0');
    }
    return true;
}

/* NumPy has no bfloat16: the type string of those that others have is that of any two bytes, and
 * only the array's own dtype knows. -1 with an exception set. */
static int has_bfloat16(PyObject *object)
{
    static const char name[] = "bfloat16", torch_name[] = "torch.bfloat16";
    PyObject *dtype;
    const int found = PyObject_GetOptionalAttr(object, names.dtype, &dtype);
    if (found <= 0)
        return found;
    PyObject *text = PyObject_Str(dtype);
    Py_DECREF(dtype);
    if (!text)
        return -1;
    const bool is = PyUnicode_CompareWithASCIIString(text, name) == 0 ||
                    PyUnicode_CompareWithASCIIString(text, torch_name) == 0;
    Py_DECREF(text);
    return is;
}

static bool unsupported(const struct reading *reading, PyObject *string)
{
    PyErr_Format(PyExc_TypeError,
                 "%s: " INTERFACE "['typestr'] is %R; the supported element types are %s",
                 reading->name, string, element_names());
    return false;
}

static bool interpret_typestr(const struct reading *reading, PyObject *string,
                              const struct typestr *typestr)
{
    enum element element = protocol_element(typestr->kind, typestr->size);
    if (element == ELEMENT_BFLOAT16) {
        const int is = has_bfloat16(reading->object);
        if (is < 0)
            return false;
        element = is ? ELEMENT_BFLOAT16 : ELEMENTS;
    }
    if (element == ELEMENTS)
        return unsupported(reading, string);
    if (typestr->order == '>' && typestr->size > 1) {
        PyErr_Format(PyExc_TypeError,
                     "%s: " INTERFACE "['typestr'] is %R; GPU arrays are supported in this "
                     "machine's byte order only",
                     reading->name, string);
        return false;
    }
    reading->view->layout.input = reading->view->layout.type = element;
    return true;
}

/* The one field of an array without named ones: ("", typestr). */
static bool is_plain_descr(PyObject *field, const struct typestr *expected)
{
    struct typestr typestr;
    if (!PyTuple_Check(field) || PyTuple_GET_SIZE(field) != 2 ||
        !PyUnicode_Check(PyTuple_GET_ITEM(field, 1)) ||
        !read_typestr(PyTuple_GET_ITEM(field, 1), &typestr))
        return false;
    return typestr.kind == expected->kind && typestr.size == expected->size &&
           (typestr.order == '>') == (expected->order == '>');
}

static bool check_descr(const struct reading *reading, const struct typestr *typestr)
{
    PyObject *descr;
    const int found = optional_entry(reading, names.descr, &descr);
    if (found <= 0)
        return found == 0;
    PyObject *field = NULL;
    if (!PyList_Check(descr))
        wrong_type(reading, names.descr, "a list", descr);
    else if (PyList_GET_SIZE(descr) == 1)
        field = PyList_GetItemRef(descr, 0);
    const bool plain = field && is_plain_descr(field, typestr);
    if (!plain && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "%s: " INTERFACE "['descr'] is not one field of the type in 'typestr'; "
                     "structured arrays are not supported",
                     reading->name);
    Py_XDECREF(field);
    Py_DECREF(descr);
    return plain;
}

static bool parse_type(const struct reading *reading)
{
    struct typestr typestr;
    PyObject *string = needed_entry(reading, names.typestr);
    bool parsed = false;
    if (!string)
        return false;
    if (!PyUnicode_Check(string))
        wrong_type(reading, names.typestr, "a string", string);
    else if (read_typestr(string, &typestr))
        parsed = interpret_typestr(reading, string, &typestr) && check_descr(reading, &typestr);
    else if (!PyErr_Occurred())
        unsupported(reading, string);
    Py_DECREF(string);
    return parsed;
}

/* ---- the other entries ---- */

static bool parse_data(const struct reading *reading)
{
    uintptr_t address;
    PyObject *data = needed_entry(reading, names.data);
    if (!data)
        return false;
    bool parsed = PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2;
    if (!parsed)
        wrong_type(reading, names.data, "a tuple (pointer, read-only flag)", data);
    parsed = parsed && parse_address(reading, names.data, PyTuple_GET_ITEM(data, 0), &address);
    if (parsed) {
        const int read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
        parsed = read_only >= 0;
        reading->view->layout.data = (const void *)address;
        reading->view->read_only = read_only > 0 ? says_read_only : NULL;
    }
    Py_DECREF(data);
    return parsed;
}

static bool parse_version(const struct reading *reading)
{
    PyObject *version = needed_entry(reading, names.version);
    if (!version)
        return false;
    int overflow = 0;
    long value = 0;
    if (PyLong_Check(version))
        value = PyLong_AsLongAndOverflow(version, &overflow);
    else
        wrong_type(reading, names.version, "an integer", version);
    const bool known = overflow > 0 || (overflow == 0 && value >= 2);
    if (!known && !PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: " INTERFACE "['version'] is %R; 2 and 3 are supported",
                     reading->name, version);
    Py_DECREF(version);
    return known;
}

/* Producers that name no stream work on the legacy default one as a rule, and those that say None
 * do: it is what has to be waited for. */
static bool parse_stream(const struct reading *reading)
{
    struct stream *producer = &reading->view->producer;
    *producer = (struct stream){.given = true, .handle = LEGACY_DEFAULT_STREAM};
    PyObject *stream;
    const int found = optional_entry(reading, names.stream, &stream);
    if (found <= 0)
        return found == 0;
    const bool parsed = parse_address(reading, names.stream, stream, &producer->handle);
    Py_DECREF(stream);
    if (parsed && producer->handle == 0)
        PyErr_Format(PyExc_ValueError,
                     "%s: " INTERFACE "['stream'] is 0, which the interface forbids: 1 is the "
                     "legacy default stream, 2 the per-thread one",
                     reading->name);
    return parsed && producer->handle != 0;
}

static bool refuse_mask(const struct reading *reading)
{
    PyObject *mask;
    const int found = optional_entry(reading, names.mask, &mask);
    if (found <= 0)
        return found == 0;
    Py_DECREF(mask);
    PyErr_Format(PyExc_ValueError, "%s: " INTERFACE " has a mask; masked arrays are not supported",
                 reading->name);
    return false;
}

/* ---- all of it ---- */

static bool read_interface(const struct reading *reading)
{
    protocol_begin(reading->view, true);
    if (!PyDict_Check(reading->interface)) {
        PyErr_Format(PyExc_TypeError, "%s: " INTERFACE " must be a dict, not %.200s", reading->name,
                     Py_TYPE(reading->interface)->tp_name);
        return false;
    }
    return parse_version(reading) && parse_shape(reading) && parse_type(reading) &&
           parse_strides(reading) && parse_data(reading) && refuse_mask(reading) &&
           parse_stream(reading) && protocol_check(reading->view, reading->name, &terms);
}

/* 1, 0 or -1. A value that is no dict goes on, to be refused with the others. */
static int names_stream(PyObject *interface)
{
    return PyDict_Check(interface) ? PyDict_Contains(interface, names.stream) : 1;
}

/* 1: the stream is known, from the interface or, as *library then is, from the array's library. */
static int knows_stream(PyObject *object, PyObject *interface, struct stream *library)
{
    const int named = names_stream(interface);
    if (named)
        return named;
    return torch_stream(object, library) ? library->given : -1;
}

static int view_object(PyObject *object, const struct view_request *request, struct view *view,
                       bool with_stream)
{
    struct reading reading = {object, NULL, request->name, view};
    struct stream library = {.given = false};
    int viewed = PyObject_GetOptionalAttr(object, names.interface, &reading.interface);
    if (viewed > 0 && with_stream)
        viewed = knows_stream(object, reading.interface, &library);
    if (viewed > 0)
        viewed = read_interface(&reading) ? 1 : -1;
    Py_XDECREF(reading.interface);
    if (viewed > 0)
        view->owner = Py_NewRef(object);
    if (viewed > 0 && library.given)
        view->producer = library;
    return viewed;
}

int cuda_interface_view(PyObject *object, const struct view_request *request, struct view *view)
{
    return view_object(object, request, view, false);
}

int cuda_interface_view_with_stream(PyObject *object, const struct view_request *request,
                                    struct view *view)
{
    return view_object(object, request, view, true);
}

/* The flag after the pointer. 1, 0 also where there is none, -1 with an exception set. */
static int read_flag(PyObject *interface)
{
    PyObject *data = NULL;
    int flag = PyDict_Check(interface) ? PyDict_GetItemRef(interface, names.data, &data) : 0;
    if (flag > 0 && PyTuple_Check(data) && PyTuple_GET_SIZE(data) == 2)
        flag = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    else if (flag > 0)
        flag = 0;
    Py_XDECREF(data);
    return flag;
}

bool cuda_interface_heed_read_only(PyObject *object, struct view *view)
{
    PyObject *interface;
    int flag = PyObject_GetOptionalAttr(object, names.interface, &interface);
    if (flag > 0)
        flag = read_flag(interface);
    Py_XDECREF(interface);
    if (flag > 0)
        view->read_only = says_read_only;
    if (flag >= 0)
        return true;
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return false;
    PyErr_Clear(); /* an interface that cannot be read says nothing */
    return true;
}
