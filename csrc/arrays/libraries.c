#include "arrays/objects.h"

#include "arrays/operands.h"
#include "arrays/protocols.h"

#include <stdarg.h>

struct names names;

static bool intern(PyObject **constant, const char *text)
{
    return *constant || (*constant = PyUnicode_InternFromString(text));
}

int objects_setup(void)
{
#define NAME(name) &&intern(&names.name, #name)
    return true NAMES(NAME) ? 0 : -1;
#undef NAME
}

PyObject *class_own_attribute(PyObject *class, PyObject *name)
{
    OWNED *dict = PyType_GetDict((PyTypeObject *)class);
    PyObject *value = NULL;
    if (!dict || PyDict_GetItemRef(dict, name, &value) < 0)
        PyErr_Clear();
    return value;
}

PyObject *classes_attribute(PyObject *classes, PyObject *name, Py_ssize_t *which)
{
    PyObject *found = NULL;
    const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
    for (*which = 0; *which < count; ++*which)
        if ((found = class_own_attribute(PyTuple_GET_ITEM(classes, *which), name)))
            break;
    return found;
}

PyObject *python_call(const char *module, const char *function, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    OWNED *arguments = Py_VaBuildValue(format, values);
    va_end(values);
    OWNED *name = arguments ? PyUnicode_FromString(module) : NULL;
    OWNED *imported = name ? PyImport_GetModule(name) : NULL; /* faster than an import */
    if (name && !imported && !PyErr_Occurred())
        imported = PyImport_Import(name);
    OWNED *called = imported ? PyObject_GetAttrString(imported, function) : NULL;
    return called ? PyObject_CallObject(called, arguments) : NULL;
}

PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths)
{
    PyObject *shape = PyList_New(0);
    for (unsigned k = 0; k < dimensions; k++)
        list_append(&shape, PyLong_FromUnsignedLongLong(lengths[k]));
    return list_to_tuple(shape);
}

PyObject *integer_or_none(uint64_t value)
{
    return value ? PyLong_FromUnsignedLongLong(value) : Py_NewRef(Py_None);
}

void list_append(PyObject **list, PyObject *item)
{
    if (*list && (!item || PyList_Append(*list, item) < 0))
        Py_CLEAR(*list);
    Py_XDECREF(item);
}

PyObject *list_to_tuple(PyObject *list)
{
    OWNED *owned = list;
    return owned ? PyList_AsTuple(owned) : NULL;
}

/* ---- PyTorch ---- */

/* The library's module, if it is imported and the array is of its class; a new reference, else
 * NULL. `asked`: the class is not a base of its arrays' types, so isinstance decides, which may set
 * an exception. This runs for every array, so it has to be fast. */
static PyObject *library_of(PyObject *array, PyObject *name, PyObject *class_name, bool asked)
{
    OWNED *class = NULL;
    PyObject *module = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), name, &module) > 0 && PyModule_Check(module))
        PyDict_GetItemRef(PyModule_GetDict(module), class_name, &class);
    PyErr_Clear(); /* failed look-ups do not matter */
    int is = class && PyType_Check(class);
    if (is)
        is = asked ? PyObject_IsInstance(array, class)
                   : PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)class);
    if (is <= 0)
        Py_CLEAR(module);
    return module;
}

static PyObject *torch_of(PyObject *array)
{
    return library_of(array, names.torch, names.Tensor, false);
}

bool torch_is_tensor(PyObject *array)
{
    OWNED *torch = torch_of(array);
    return torch;
}

bool torch_stream(PyObject *array, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    OWNED *torch = torch_of(array), *handle = NULL;
    if (!torch)
        return true;
    OWNED *cuda = PyObject_GetAttr(torch, names.cuda);
    OWNED *device = cuda ? PyObject_GetAttr(array, names.device) : NULL;
    OWNED *current = device ? PyObject_CallMethodOneArg(cuda, names.current_stream, device) : NULL;
    const int found = current ? PyObject_GetOptionalAttr(current, names.cuda_stream, &handle) : -1;
    return found > 0 ? stream_parse_handle(handle, stream) : found == 0;
}

PyObject *torch_resolve(PyObject *array)
{
    if (!torch_is_tensor(array))
        return Py_NewRef(array);
    OWNED *conjugated = PyObject_CallMethodNoArgs(array, names.resolve_conj);
    return conjugated ? PyObject_CallMethodNoArgs(conjugated, names.resolve_neg) : NULL;
}

/* The truth value as 1, 0 or -1; steals the reference. */
static int is_true(PyObject *answer)
{
    OWNED *owned = answer;
    return owned ? PyObject_IsTrue(owned) : -1;
}

/* Conjugation does not affect real numbers. */
int torch_is_plain(PyObject *array, bool is_complex)
{
    int more = is_true(PyObject_GetAttr(array, names.requires_grad));
    if (more == 0)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_neg));
    if (more == 0 && is_complex)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_conj));
    return more < 0 ? -1 : !more;
}

bool library_check_writable(PyObject *array, const char *name)
{
    const int keeps_history =
        torch_is_tensor(array) ? is_true(PyObject_GetAttr(array, names.requires_grad)) : 0;
    if (keeps_history > 0)
        value_error("%s requires grad, and autograd would not see the write; pass %s.detach(), "
                    "which shares its memory",
                    name, name);
    if (keeps_history)
        return false;
    OWNED *jax = library_of(array, names.jax, names.Array, true);
    if (jax)
        value_error("%s is a JAX array, which is immutable; use the result that the call returns",
                    name);
    return !PyErr_Occurred();
}

void library_explain_failure(PyObject *object, const char *name)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return;
    const struct raised raised = exception_save();
    OWNED *fine = python_call("gred.checks", "raise_unreadable", "(Os)", object, name);
    const bool said = !fine && !PyErr_ExceptionMatches(PyExc_AttributeError) &&
                      !PyErr_ExceptionMatches(PyExc_ImportError);
    exception_restore_or_drop(raised, !said);
}

/* ---- units ---- */

/* Which of two names the class, not the instance, has as an attribute; NULL: neither. */
static PyObject *name_in(PyTypeObject *type, PyObject *name, PyObject *other)
{
    Py_ssize_t which;
    OWNED *classes = Py_XNewRef(type->tp_mro);
    OWNED *found = classes_attribute(classes, name, &which);
    OWNED *found_other = found ? NULL : classes_attribute(classes, other, &which);
    return found ? name : found_other ? other : NULL;
}

/* Quantity types name the unit `units` or `unit`, and the numbers `magnitude` or `value`. */
bool library_check_unitless(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *unit = name_in(type, names.units, names.unit);
    PyObject *number = unit ? name_in(type, names.magnitude, names.value) : NULL;
    if (number)
        type_error("%s: a %.200s has a unit, which would be lost; pass its values, %s.%U, and "
                   "derive the result's unit from %s.%U",
                   name, type->tp_name, name, number, name, unit);
    return !number;
}

/* ---- CuPy ---- */

/* cupy.cuda.alloc(bytes), which uses the current allocator. NULL with an exception set. */
static PyObject *call_allocator(PyObject *cupy, const struct result_request *request)
{
    size_t bytes = element_size(request->type);
    for (unsigned k = 0; k < request->dimensions; k++)
        bytes *= request->shape[k];
    OWNED *cuda = PyObject_GetAttr(cupy, names.cuda);
    OWNED *size = cuda ? PyLong_FromSize_t(bytes) : NULL;
    return size ? PyObject_CallMethodOneArg(cuda, names.alloc, size) : NULL;
}

/* Whether CuPy's current device is known to be another one. Keeps a set exception. */
static bool is_elsewhere(PyObject *cupy, long device)
{
    const struct raised under_way = exception_save();
    OWNED *cuda = PyObject_GetAttr(cupy, names.cuda);
    OWNED *runtime = cuda ? PyObject_GetAttr(cuda, names.runtime) : NULL;
    OWNED *current = runtime ? PyObject_CallMethodNoArgs(runtime, names.getDevice) : NULL;
    const long number = current ? PyLong_AsLong(current) : -1;
    const bool known = !PyErr_Occurred();
    exception_restore_or_drop(under_way, true);
    return known && number != device;
}

/* Reads CuPy's pointer. 1; 0 if it is on another device; -1 with an exception set. */
static int read_pointer(PyObject *pointer, int wanted, void **at)
{
    OWNED *device = PyObject_GetAttr(pointer, names.device_id);
    OWNED *address = device ? PyObject_GetAttr(pointer, names.ptr) : NULL;
    const long number = address ? PyLong_AsLong(device) : -1;
    *at = address && !PyErr_Occurred() ? PyLong_AsVoidPtr(address) : NULL;
    return PyErr_Occurred() ? -1 : number == wanted;
}

/* As result_allocate. CuPy allocates on its current device, which is queried only if allocation
 * fails, since it is rarely another one than the array's. NumPy has no name for bfloat16. */
static int cupy_allocate(const struct result_request *request, struct result_memory *memory,
                         void **at)
{
    OWNED *cupy = request->type == ELEMENT_BFLOAT16
                      ? NULL
                      : library_of(request->like, names.cupy, names.ndarray, false);
    if (!cupy)
        return 0;
    memory->class = PyObject_GetAttr(cupy, names.ndarray);
    memory->pointer = memory->class ? call_allocator(cupy, request) : NULL;
    int made = memory->pointer ? read_pointer(memory->pointer, request->device, at) : -1;
    if (!memory->pointer && PyErr_ExceptionMatches(PyExc_Exception) &&
        is_elsewhere(cupy, request->device)) {
        PyErr_Clear();
        made = 0;
    }
    if (made <= 0)
        result_release(memory);
    return made;
}

/* ---- results ---- */

static const char device_array[] = "gred.device_array";

/* As result_allocate, by gred/device_array.py. */
static int make_in_python(const struct result_request *request, PyObject **array, void **at)
{
    OWNED *made = python_call(device_array, "empty_like", "(ONsi)", request->like,
                              shape_tuple(request->dimensions, request->shape),
                              element_name(request->type), request->device);
    PyObject *one;
    unsigned long long address;
    if (!made || made == Py_None)
        return made ? 0 : -1;
    if (!PyArg_ParseTuple(made, "OK", &one, &address))
        return -1;
    *array = Py_NewRef(one);
    *at = (void *)(uintptr_t)address;
    return 1;
}

int result_allocate(const struct result_request *request, struct result_memory *result, void **at)
{
    *result = (struct result_memory){.array = NULL};
    int known = exchange_allocate(request, result, at);
    if (known == 0 && request->device == ON_HOST && !torch_is_tensor(request->like))
        return 0; /* all host libraries take NumPy arrays */
    if (known == 0)
        known = cupy_allocate(request, result, at);
    return known ? known : make_in_python(request, &result->array, at);
}

PyObject *result_array(const struct result_request *request, struct result_memory *result)
{
    if (result->offer)
        return exchange_array(result);
    if (result->own)
        return python_call(device_array, "as_jax_array", "(OO)", result->array, request->like);
    OWNED *shape = shape_tuple(request->dimensions, request->shape);
    OWNED *type = PyUnicode_FromString(element_name(request->type));
    PyObject *const arguments[] = {shape, type, result->pointer};
    return shape && type ? PyObject_Vectorcall(result->class, arguments, 3, NULL) : NULL;
}

bool cupy_is_array(PyObject *array)
{
    OWNED *cupy = library_of(array, names.cupy, names.ndarray, false);
    return cupy;
}

PyObject *result_permuted(PyObject *array, unsigned dimensions, const unsigned *from)
{
    OWNED *owned = array, *order = array ? PyList_New(0) : NULL;
    for (unsigned d = 0; d < dimensions; d++)
        list_append(&order, PyLong_FromUnsignedLong(from[d]));
    OWNED *dims = order ? PyList_AsTuple(order) : NULL;
    return dims ? PyObject_CallMethodOneArg(array, names.transpose, dims) : NULL;
}

void result_release(struct result_memory *result)
{
    exchange_release(result);
    Py_CLEAR(result->pointer);
    Py_CLEAR(result->class);
    Py_CLEAR(result->array);
}

PyObject *result_own(const struct result_request *request, PyObject *memory)
{
    return python_call(device_array, "DeviceArray", "(ONs)", memory,
                       shape_tuple(request->dimensions, request->shape),
                       element_name(request->type));
}
