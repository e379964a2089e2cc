#include "arrays/cuda_interface.h"

#include "arrays/libraries.h"
#include "arrays/objects.h"
#include "arrays/stream.h"

#include <string.h>

#define INTERFACE "__cuda_array_interface__"

static const struct view_terms terms = {
    .shape = INTERFACE "['shape']",
    .strides = INTERFACE "['strides']",
    .data = INTERFACE "['data']",
};

static const char says_read_only[] = "its " INTERFACE "['data'] says so";

/* "<f4": byte order, kind, bytes. */
struct typestr {
    char order, kind;
    size_t size;
};

/* What is being read, and where to. */
struct reading {
    PyObject *object, *interface;
    const char *name; /* the argument's, for messages */
    struct view *view;
    struct typestr *typestr;
};

static bool wrong_type(const struct reading *reading, PyObject *key, const char *expected,
                       PyObject *given)
{
    return PyErr_Format(PyExc_TypeError, "%s: " INTERFACE "[%R] must be %s, not %.200s",
                        reading->name, key, expected, Py_TYPE(given)->tp_name);
}

/* ---- numbers ---- */

/* One entry of a tuple: anything that Python takes for an index. */
static bool parse_integer(const struct reading *reading, PyObject *key, PyObject *item,
                          int64_t *value)
{
    PyObject *number = view_integer(item);
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
    if (length > DIMENSIONS_MAX)
        return PyErr_Format(PyExc_ValueError,
                            "%s: " INTERFACE "[%R] has %zd dimensions; at most %d are possible",
                            reading->name, key, length, DIMENSIONS_MAX);
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
    PyObject *number = PyBool_Check(object) ? NULL : view_integer(object);
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

/* ---- element type ---- */

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
    return PyErr_Format(PyExc_TypeError,
                        "%s: " INTERFACE "['typestr'] is %R; the supported element types are %s",
                        reading->name, string, element_names());
}

static bool interpret_typestr(const struct reading *reading, PyObject *string,
                              const struct typestr *typestr)
{
    enum element element = view_element(typestr->kind, typestr->size);
    if (element == ELEMENT_BFLOAT16) {
        const int is = has_bfloat16(reading->object);
        if (is < 0)
            return false;
        element = is ? ELEMENT_BFLOAT16 : ELEMENTS;
    }
    if (element == ELEMENTS)
        return unsupported(reading, string);
    if (typestr->order == '>' && typestr->size > 1)
        return PyErr_Format(PyExc_TypeError,
                            "%s: " INTERFACE "['typestr'] is %R; GPU arrays are supported in this "
                            "machine's byte order only",
                            reading->name, string);
    reading->view->layout.input = reading->view->layout.type = element;
    return true;
}

/* The one field of an array without named ones: ("", typestr). */
static bool is_plain_descr(PyObject *field, const struct reading *reading)
{
    const struct typestr *const expected = reading->typestr;
    struct typestr typestr;
    if (!PyTuple_Check(field) || PyTuple_GET_SIZE(field) != 2 ||
        !PyUnicode_Check(PyTuple_GET_ITEM(field, 1)) ||
        !read_typestr(PyTuple_GET_ITEM(field, 1), &typestr))
        return false;
    return typestr.kind == expected->kind && typestr.size == expected->size &&
           (typestr.order == '>') == (expected->order == '>');
}

/* ---- entries: what each says, given its value; NULL: it is left out, or None ---- */

static bool read_version(const struct reading *reading, PyObject *version)
{
    int overflow = 0;
    long value = 0;
    if (!PyLong_Check(version))
        return wrong_type(reading, names.version, "an integer", version);
    value = PyLong_AsLongAndOverflow(version, &overflow);
    if (overflow > 0 || (overflow == 0 && value >= 2))
        return true;
    if (!PyErr_Occurred())
        PyErr_Format(PyExc_ValueError, "%s: " INTERFACE "['version'] is %R; 2 and 3 are supported",
                     reading->name, version);
    return false;
}

static bool read_shape(const struct reading *reading, PyObject *shape)
{
    struct layout *layout = &reading->view->layout;
    return parse_integers(reading, names.shape, shape, (int64_t *)layout->shape,
                          &layout->dimensions) &&
           view_count(reading->view, reading->name, &terms);
}

static bool read_type(const struct reading *reading, PyObject *string)
{
    if (!PyUnicode_Check(string))
        return wrong_type(reading, names.typestr, "a string", string);
    if (read_typestr(string, reading->typestr))
        return interpret_typestr(reading, string, reading->typestr);
    return !PyErr_Occurred() && unsupported(reading, string);
}

/* To be the type in 'typestr', which has been read. */
static bool read_descr(const struct reading *reading, PyObject *descr)
{
    if (!descr)
        return true;
    if (!PyList_Check(descr))
        return wrong_type(reading, names.descr, "a list", descr);
    PyObject *field = PyList_GET_SIZE(descr) == 1 ? PyList_GetItemRef(descr, 0) : NULL;
    const bool plain = field && is_plain_descr(field, reading);
    if (!plain && !PyErr_Occurred())
        PyErr_Format(PyExc_TypeError,
                     "%s: " INTERFACE "['descr'] is not one field of the type in 'typestr'; "
                     "structured arrays are not supported",
                     reading->name);
    Py_XDECREF(field);
    return plain;
}

static bool read_strides(const struct reading *reading, PyObject *strides)
{
    struct layout *layout = &reading->view->layout;
    unsigned count;
    if (!strides) {
        view_in_c_order(layout);
        return true;
    }
    const bool parsed = parse_integers(reading, names.strides, strides, layout->strides, &count);
    if (parsed && count != layout->dimensions)
        PyErr_Format(PyExc_ValueError, "%s: %s has %u entries for %u dimensions", reading->name,
                     terms.strides, count, layout->dimensions);
    return parsed && count == layout->dimensions;
}

static bool read_data(const struct reading *reading, PyObject *data)
{
    uintptr_t address = 0;
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
        return wrong_type(reading, names.data, "a tuple (pointer, read-only flag)", data);
    if (!parse_address(reading, names.data, PyTuple_GET_ITEM(data, 0), &address))
        return false;
    const int read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    reading->view->layout.data = (const void *)address;
    reading->view->read_only = read_only > 0 ? says_read_only : NULL;
    return read_only >= 0;
}

static bool refuse_mask(const struct reading *reading, PyObject *mask)
{
    if (mask)
        PyErr_Format(PyExc_ValueError,
                     "%s: " INTERFACE " has a mask; masked arrays are not supported",
                     reading->name);
    return !mask;
}

/* Producers that name no stream work on the legacy default one as a rule, and those that say None
 * do: it is what has to be waited for. */
static bool read_stream(const struct reading *reading, PyObject *stream)
{
    struct stream *producer = &reading->view->producer;
    *producer = (struct stream){.given = true, .handle = LEGACY_DEFAULT_STREAM};
    if (!stream)
        return true;
    if (!parse_address(reading, names.stream, stream, &producer->handle))
        return false;
    if (producer->handle == 0)
        PyErr_Format(PyExc_ValueError,
                     "%s: " INTERFACE "['stream'] is 0, which the interface forbids: 1 is the "
                     "legacy default stream, 2 the per-thread one",
                     reading->name);
    return producer->handle != 0;
}

/* In the order in which they are read: some rest on others. */
static const struct {
    PyObject *const *key;
    bool needed;
    bool (*read)(const struct reading *, PyObject *value);
} entries[] = {
    {&names.version, true, read_version},  {&names.shape, true, read_shape},
    {&names.typestr, true, read_type},     {&names.descr, false, read_descr},
    {&names.strides, false, read_strides}, {&names.data, true, read_data},
    {&names.mask, false, refuse_mask},     {&names.stream, false, read_stream},
};

/* ---- all of it ---- */

/* Values' methods are anybody's code, and may take values out of the dictionary, so that references
 * are new ones. */
static bool read_entry(const struct reading *reading, size_t k)
{
    PyObject *value;
    PyObject *const key = *entries[k].key;
    const int found = PyDict_GetItemRef(reading->interface, key, &value);
    if (found < 0)
        return false;
    if (!found && entries[k].needed)
        return PyErr_Format(PyExc_ValueError,
                            "%s: " INTERFACE
                            " has no %R; it needs shape, typestr, data and version",
                            reading->name, key);
    const bool is_none = value == Py_None && !entries[k].needed;
    const bool read = entries[k].read(reading, is_none ? NULL : value);
    Py_XDECREF(value);
    return read;
}

static bool read_interface(const struct reading *reading)
{
    view_begin(reading->view, true);
    if (!PyDict_Check(reading->interface))
        return PyErr_Format(PyExc_TypeError, "%s: " INTERFACE " must be a dict, not %.200s",
                            reading->name, Py_TYPE(reading->interface)->tp_name);
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++)
        if (!read_entry(reading, k))
            return false;
    return view_check(reading->view, reading->name, &terms);
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
    struct typestr typestr;
    struct reading reading = {object, NULL, request->name, view, &typestr};
    struct stream library = {.given = false};
    int viewed =
        PyObject_GetOptionalAttr(object, names.__cuda_array_interface__, &reading.interface);
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
    int flag = PyObject_GetOptionalAttr(object, names.__cuda_array_interface__, &interface);
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
