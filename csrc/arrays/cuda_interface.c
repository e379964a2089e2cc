#include "arrays/protocols.h"

#include <string.h>

#define INTERFACE "__cuda_array_interface__"

static const struct view_terms terms = {
    .shape = INTERFACE "['shape']",
    .strides = INTERFACE "['strides']",
    .data = INTERFACE "['data']",
};

static const char read_only_reason[] = "its " INTERFACE "['data'] says so";

/* A type string, such as "<f4": byte order, kind, bytes. */
struct typestr {
    char order, kind;
    size_t size;
};

/* The interface being read and the view it is read into. */
struct reader {
    PyObject *object;
    const char *name; /* the argument's name, for messages */
    struct view *view;
    struct typestr typestr;
};

static bool wrong_type(const struct reader *reader, PyObject *key, const char *expected,
                       PyObject *value)
{
    return type_error("%s: " INTERFACE "[%R] must be %s, not %.200s", reader->name, key, expected,
                      Py_TYPE(value)->tp_name);
}

/* Reads any object with __index__: an entry of a tuple, which may be negative, or an address, which
 * may be up to 2^64 - 1 and must not be a bool. */
static bool parse_integer(const struct reader *reader, PyObject *key, PyObject *object,
                          bool is_address, int64_t *value)
{
    OWNED *number = is_address && PyBool_Check(object) ? NULL : PyNumber_Index(object);
    if (!number)
        return (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) &&
               wrong_type(reader, key, is_address ? "an integer" : "a tuple of integers", object);
    *value = is_address ? (int64_t)PyLong_AsUnsignedLongLong(number) : PyLong_AsLongLong(number);
    if (*value != -1 || !PyErr_Occurred())
        return true;
    PyErr_Clear();
    return value_error("%s: " INTERFACE "[%R] has %R, which %s", reader->name, key, number,
                       is_address ? "is no address" : "does not fit 64 bits");
}

/* Reads a tuple of integers, one per dimension. */
static bool parse_integers(const struct reader *reader, PyObject *key, PyObject *tuple,
                           int64_t *values, unsigned *count)
{
    if (!PyTuple_Check(tuple))
        return wrong_type(reader, key, "a tuple of integers", tuple);
    const Py_ssize_t length = PyTuple_GET_SIZE(tuple);
    if (length > DIMENSIONS_MAX)
        return value_error("%s: " INTERFACE "[%R] has %zd dimensions; at most %d are supported",
                           reader->name, key, length, DIMENSIONS_MAX);
    for (Py_ssize_t k = 0; k < length; k++)
        if (!parse_integer(reader, key, PyTuple_GET_ITEM(tuple, k), false, &values[k]))
            return false;
    *count = (unsigned)length;
    return true;
}

/* ---- element type ---- */

/* False without an exception if the string is malformed, with one if memory runs out. */
static bool parse_typestr(PyObject *string, struct typestr *typestr)
{
    Py_ssize_t length;
    const char *text = PyUnicode_AsUTF8AndSize(string, &length);
    if (!text && PyErr_ExceptionMatches(PyExc_UnicodeError))
        PyErr_Clear();
    if (!text || length < 3 || length > 4 || !memchr("<|=>", text[0], 4) || text[2] == '0')
        return false;
    *typestr = (struct typestr){text[0], text[1], 0};
    for (Py_ssize_t k = 2; k < length; k++) {
        if (text[k] < '0' || text[k] > '9')
            return false;
        typestr->size = typestr->size * 10 + (size_t)(text[k] - '0');
    }
    return true;
}

/* Whether the array's dtype is bfloat16. NumPy lacks bfloat16, so other libraries give it the type
 * string of two raw bytes, and only the dtype tells. -1 with an exception set. */
static int has_bfloat16(PyObject *object)
{
    OWNED *dtype = NULL;
    const int found = PyObject_GetOptionalAttr(object, names.dtype, &dtype);
    if (found <= 0)
        return found;
    OWNED *text = PyObject_Str(dtype);
    if (!text)
        return -1;
    return PyUnicode_CompareWithASCIIString(text, "bfloat16") == 0 ||
           PyUnicode_CompareWithASCIIString(text, "torch.bfloat16") == 0;
}

/* Whether a field of 'descr' is that of an array without named fields: ("", typestr). */
static bool is_unstructured(PyObject *field, const struct typestr *expected)
{
    struct typestr typestr;
    return PyTuple_Check(field) && PyTuple_GET_SIZE(field) == 2 &&
           PyUnicode_Check(PyTuple_GET_ITEM(field, 1)) &&
           parse_typestr(PyTuple_GET_ITEM(field, 1), &typestr) && typestr.kind == expected->kind &&
           typestr.size == expected->size && (typestr.order == '>') == (expected->order == '>');
}

/* ---- entries: each is read from its value, which is NULL if it is missing or None ---- */

static bool read_version(struct reader *reader, PyObject *version)
{
    if (!PyLong_Check(version))
        return wrong_type(reader, names.version, "an integer", version);
    int overflow;
    const long value = PyLong_AsLongAndOverflow(version, &overflow);
    return overflow > 0 || (overflow == 0 && value >= 2) ||
           value_error("%s: " INTERFACE "['version'] is %R; 2 and 3 are supported", reader->name,
                       version);
}

static bool read_shape(struct reader *reader, PyObject *shape)
{
    struct layout *layout = &reader->view->layout;
    return parse_integers(reader, names.shape, shape, (int64_t *)layout->shape,
                          &layout->dimensions) &&
           view_set_size(reader->view, reader->name, &terms);
}

static bool read_type(struct reader *reader, PyObject *string)
{
    struct typestr *const typestr = &reader->typestr;
    enum element element = ELEMENTS;
    if (!PyUnicode_Check(string))
        return wrong_type(reader, names.typestr, "a string", string);
    if (parse_typestr(string, typestr))
        element = view_element(typestr->kind, typestr->size);
    if (element == ELEMENT_BFLOAT16 && has_bfloat16(reader->object) <= 0)
        element = ELEMENTS;
    reader->view->layout.input = reader->view->layout.type = element;
    if (PyErr_Occurred())
        return false;
    if (element == ELEMENTS)
        return type_error("%s: " INTERFACE "['typestr'] is %R; the supported element types are %s",
                          reader->name, string, element_names());
    return typestr->order != '>' || typestr->size == 1 ||
           type_error("%s: " INTERFACE "['typestr'] is %R; GPU arrays must have native byte order",
                      reader->name, string);
}

/* 'descr' must be the type in 'typestr', which has been read before. */
static bool read_descr(struct reader *reader, PyObject *descr)
{
    if (!descr)
        return true;
    if (!PyList_Check(descr))
        return wrong_type(reader, names.descr, "a list", descr);
    OWNED *field = PyList_GET_SIZE(descr) == 1 ? PySequence_GetItem(descr, 0) : NULL;
    if (field && is_unstructured(field, &reader->typestr))
        return true;
    return !PyErr_Occurred() &&
           type_error("%s: " INTERFACE "['descr'] is not one field of the type in 'typestr'; "
                      "structured arrays are not supported",
                      reader->name);
}

static bool read_strides(struct reader *reader, PyObject *strides)
{
    struct layout *layout = &reader->view->layout;
    unsigned count = layout->dimensions;
    if (!strides)
        view_set_c_order(layout);
    else if (!parse_integers(reader, names.strides, strides, layout->strides, &count))
        return false;
    return count == layout->dimensions ||
           value_error("%s: %s has %u entries for %u dimensions", reader->name, terms.strides,
                       count, layout->dimensions);
}

static bool read_data(struct reader *reader, PyObject *data)
{
    int64_t address = 0;
    if (!PyTuple_Check(data) || PyTuple_GET_SIZE(data) != 2)
        return wrong_type(reader, names.data, "a tuple (pointer, read-only flag)", data);
    if (!parse_integer(reader, names.data, PyTuple_GET_ITEM(data, 0), true, &address))
        return false;
    const int read_only = PyObject_IsTrue(PyTuple_GET_ITEM(data, 1));
    reader->view->layout.data = (const void *)(uintptr_t)address;
    reader->view->read_only = read_only > 0 ? read_only_reason : NULL;
    return read_only >= 0;
}

static bool reject_mask(struct reader *reader, PyObject *mask)
{
    return !mask || value_error("%s: " INTERFACE " has a mask; masked arrays are not supported",
                                reader->name);
}

/* Producers that name no stream usually work on the legacy default stream, and those that say None
 * always do, so that is the stream to wait for. */
static bool read_stream(struct reader *reader, PyObject *stream)
{
    int64_t handle = LEGACY_DEFAULT_STREAM;
    if (stream && !parse_integer(reader, names.stream, stream, true, &handle))
        return false;
    reader->view->producer = (struct stream){.given = true, .handle = (uintptr_t)handle};
    return handle ||
           value_error("%s: " INTERFACE "['stream'] is 0, which the interface forbids: 1 is the "
                       "legacy default stream, 2 the per-thread one",
                       reader->name);
}

/* In reading order: some entries depend on earlier ones. */
static const struct {
    PyObject *const *key;
    bool required;
    bool (*read)(struct reader *, PyObject *value);
} entries[] = {
    {&names.version, true, read_version},  {&names.shape, true, read_shape},
    {&names.typestr, true, read_type},     {&names.descr, false, read_descr},
    {&names.strides, false, read_strides}, {&names.data, true, read_data},
    {&names.mask, false, reject_mask},     {&names.stream, false, read_stream},
};

/* The values' methods may remove entries from the dict, so the references are owned. */
static bool read_interface(struct reader *reader, PyObject *interface)
{
    view_init(reader->view, true);
    if (!PyDict_Check(interface))
        return type_error("%s: " INTERFACE " must be a dict, not %.200s", reader->name,
                          Py_TYPE(interface)->tp_name);
    for (size_t k = 0; k < sizeof entries / sizeof *entries; k++) {
        OWNED *value = NULL;
        const int found = PyDict_GetItemRef(interface, *entries[k].key, &value);
        if (!found && entries[k].required)
            value_error("%s: " INTERFACE " has no %R; it needs shape, typestr, data and version",
                        reader->name, *entries[k].key);
        const bool is_none = value == Py_None && !entries[k].required;
        if (found < 0 || (!found && entries[k].required) ||
            !entries[k].read(reader, is_none ? NULL : value))
            return false;
    }
    return view_validate(reader->view, reader->name, &terms);
}

/* 1 if the stream is known from the interface or from the array's library, which sets *library;
 * else 0, or -1 with an exception set. A value that is not a dict gives 1 and is refused later. */
static int find_stream(PyObject *object, PyObject *interface, struct stream *library)
{
    const int has_stream = PyDict_Check(interface) ? PyDict_Contains(interface, names.stream) : 1;
    if (has_stream)
        return has_stream;
    return torch_stream(object, library) ? library->given : -1;
}

int cuda_interface_view(PyObject *object, const struct view_request *request, bool require_stream,
                        struct view *view)
{
    struct reader reader = {.object = object, .name = request->name, .view = view};
    struct stream library = {.given = false};
    OWNED *interface = NULL;
    int viewed = PyObject_GetOptionalAttr(object, names.__cuda_array_interface__, &interface);
    if (viewed > 0 && require_stream)
        viewed = find_stream(object, interface, &library);
    if (viewed <= 0)
        return viewed;
    if (!read_interface(&reader, interface))
        return -1;
    view->held.owner = Py_NewRef(object);
    if (library.given)
        view->producer = library;
    return 1;
}

/* Reads the flag after the pointer. An interface that cannot be read is ignored. */
bool cuda_interface_mark_read_only(PyObject *object, struct view *view)
{
    OWNED *interface = NULL;
    PyObject *pointer;
    int flag;
    PyObject_GetOptionalAttr(object, names.__cuda_array_interface__, &interface);
    OWNED *data = interface ? PyObject_GetItem(interface, names.data) : NULL;
    if (data && PyTuple_Check(data) && PyArg_ParseTuple(data, "Op", &pointer, &flag) && flag)
        view->read_only = read_only_reason;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_Exception))
        return false;
    PyErr_Clear();
    return true;
}
