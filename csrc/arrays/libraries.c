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

PyObject *mro_attribute(PyObject *classes, PyObject *name, Py_ssize_t *index)
{
    PyObject *found = NULL;
    const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
    for (*index = 0; *index < count; ++*index)
        if ((found = class_own_attribute(PyTuple_GET_ITEM(classes, *index), name)))
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
 * NULL. `abc`: the class is no base of its arrays' types, so isinstance decides, which may set an
 * exception. This runs for every array, so it has to be fast. */
static PyObject *library_module(PyObject *array, PyObject *name, PyObject *class_name, bool abc)
{
    OWNED *class = NULL;
    PyObject *module = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), name, &module) > 0 && PyModule_Check(module))
        PyDict_GetItemRef(PyModule_GetDict(module), class_name, &class);
    PyErr_Clear(); /* failed look-ups do not matter */
    int matches = class && PyType_Check(class);
    if (matches)
        matches = abc ? PyObject_IsInstance(array, class)
                      : PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)class);
    if (matches <= 0)
        Py_CLEAR(module);
    return module;
}

static PyObject *torch_module(PyObject *array)
{
    return library_module(array, names.torch, names.Tensor, false);
}

bool torch_is_tensor(PyObject *array)
{
    OWNED *torch = torch_module(array);
    return torch;
}

bool torch_stream(PyObject *array, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    OWNED *torch = torch_module(array), *handle = NULL;
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
int torch_is_exportable(PyObject *array, bool is_complex)
{
    int flag = is_true(PyObject_GetAttr(array, names.requires_grad));
    if (flag == 0)
        flag = is_true(PyObject_CallMethodNoArgs(array, names.is_neg));
    if (flag == 0 && is_complex)
        flag = is_true(PyObject_CallMethodNoArgs(array, names.is_conj));
    return flag < 0 ? -1 : !flag;
}

bool library_check_writable(PyObject *array, const char *name)
{
    const int requires_grad =
        torch_is_tensor(array) ? is_true(PyObject_GetAttr(array, names.requires_grad)) : 0;
    if (requires_grad > 0)
        value_error("%s requires grad, and autograd would not see the write; pass %s.detach(), "
                    "which shares its memory",
                    name, name);
    if (requires_grad)
        return false;
    OWNED *jax = library_module(array, names.jax, names.Array, true);
    if (jax)
        value_error("%s is a JAX array, which is immutable; use the result that the call returns",
                    name);
    return !PyErr_Occurred();
}

void library_explain_failure(PyObject *object, const char *name)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception))
        return;
    const struct saved_exception saved = exception_save();
    OWNED *checked = python_call("gred.checks", "raise_unreadable", "(Os)", object, name);
    const bool explained = !checked && !PyErr_ExceptionMatches(PyExc_AttributeError) &&
                           !PyErr_ExceptionMatches(PyExc_ImportError);
    exception_restore(saved, !explained);
}

/* ---- units ---- */

/* Which of two names the class, not the instance, has as an attribute; NULL: neither. */
static PyObject *find_attribute(PyTypeObject *type, PyObject *name, PyObject *other)
{
    Py_ssize_t which;
    OWNED *classes = Py_XNewRef(type->tp_mro);
    OWNED *found = mro_attribute(classes, name, &which);
    OWNED *found_other = found ? NULL : mro_attribute(classes, other, &which);
    return found ? name : found_other ? other : NULL;
}

/* Quantity types name the unit `units` or `unit`, and the numbers `magnitude` or `value`. */
bool library_check_unitless(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *unit = find_attribute(type, names.units, names.unit);
    PyObject *number = unit ? find_attribute(type, names.magnitude, names.value) : NULL;
    if (number)
        type_error("%s: a %.200s has a unit, which would be lost; pass its values, %s.%U, and "
                   "derive the result's unit from %s.%U",
                   name, type->tp_name, name, number, name, unit);
    return !number;
}

/* ---- CuPy ---- */

/* cupy.cuda.alloc(bytes), which uses the current allocator. NULL with an exception set. */
static PyObject *cupy_alloc(PyObject *cupy, const struct result_request *request)
{
    size_t bytes = element_size(request->type);
    for (unsigned k = 0; k < request->dimensions; k++)
        bytes *= request->shape[k];
    OWNED *cuda = PyObject_GetAttr(cupy, names.cuda);
    OWNED *size = cuda ? PyLong_FromSize_t(bytes) : NULL;
    return size ? PyObject_CallMethodOneArg(cuda, names.alloc, size) : NULL;
}

/* Whether CuPy's current device is known to be another one. Keeps a set exception. */
static bool is_on_other_device(PyObject *cupy, long device)
{
    const struct saved_exception saved = exception_save();
    OWNED *cuda = PyObject_GetAttr(cupy, names.cuda);
    OWNED *runtime = cuda ? PyObject_GetAttr(cuda, names.runtime) : NULL;
    OWNED *current = runtime ? PyObject_CallMethodNoArgs(runtime, names.getDevice) : NULL;
    const long number = current ? PyLong_AsLong(current) : -1;
    const bool known = !PyErr_Occurred();
    exception_restore(saved, true);
    return known && number != device;
}

/* Reads CuPy's pointer. 1; 0 if it is on another device; -1 with an exception set. */
static int read_pointer(PyObject *pointer, int expected, void **data)
{
    OWNED *device = PyObject_GetAttr(pointer, names.device_id);
    OWNED *address = device ? PyObject_GetAttr(pointer, names.ptr) : NULL;
    const long number = address ? PyLong_AsLong(device) : -1;
    *data = address && !PyErr_Occurred() ? PyLong_AsVoidPtr(address) : NULL;
    return PyErr_Occurred() ? -1 : number == expected;
}

/* As result_allocate. CuPy allocates on its current device, which is queried only if allocation
 * fails, since it is rarely another one than the array's. NumPy has no name for bfloat16. */
static int cupy_allocate(const struct result_request *request, struct result_memory *memory,
                         void **data)
{
    OWNED *cupy = request->type == ELEMENT_BFLOAT16
                      ? NULL
                      : library_module(request->like, names.cupy, names.ndarray, false);
    if (!cupy)
        return 0;
    memory->class = PyObject_GetAttr(cupy, names.ndarray);
    memory->pointer = memory->class ? cupy_alloc(cupy, request) : NULL;
    int status = memory->pointer ? read_pointer(memory->pointer, request->device, data) : -1;
    if (!memory->pointer && PyErr_ExceptionMatches(PyExc_Exception) &&
        is_on_other_device(cupy, request->device)) {
        PyErr_Clear();
        status = 0;
    }
    if (status <= 0)
        result_release(memory);
    return status;
}

/* ---- results ---- */

static const char device_array[] = "gred.device_array";

/* As result_allocate, by gred/device_array.py. */
static int allocate_in_python(const struct result_request *request, PyObject **array, void **data)
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
    *data = (void *)(uintptr_t)address;
    return 1;
}

int result_allocate(const struct result_request *request, struct result_memory *result, void **data)
{
    *result = (struct result_memory){.array = NULL};
    int status = exchange_allocate(request, result, data);
    if (status == 0 && request->device == ON_HOST && !torch_is_tensor(request->like))
        return 0; /* all host libraries take NumPy arrays */
    if (status == 0)
        status = cupy_allocate(request, result, data);
    return status ? status : allocate_in_python(request, &result->array, data);
}

PyObject *result_array(const struct result_request *request, struct result_memory *result)
{
    if (result->capsule)
        return exchange_array(result);
    if (result->is_device_array)
        return python_call(device_array, "as_jax_array", "(OO)", result->array, request->like);
    OWNED *shape = shape_tuple(request->dimensions, request->shape);
    OWNED *type = PyUnicode_FromString(element_name(request->type));
    PyObject *const arguments[] = {shape, type, result->pointer};
    return shape && type ? PyObject_Vectorcall(result->class, arguments, 3, NULL) : NULL;
}

bool cupy_is_array(PyObject *array)
{
    OWNED *cupy = library_module(array, names.cupy, names.ndarray, false);
    return cupy;
}

PyObject *result_transpose(PyObject *array, unsigned dimensions, const unsigned *from)
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

PyObject *result_wrap(const struct result_request *request, PyObject *memory)
{
    return python_call(device_array, "DeviceArray", "(ONs)", memory,
                       shape_tuple(request->dimensions, request->shape),
                       element_name(request->type));
}
