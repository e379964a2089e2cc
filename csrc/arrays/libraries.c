#include "arrays/libraries.h"

#include "arrays/objects.h"
#include "arrays/stream.h"

enum library { LIBRARY_torch, LIBRARY_cupy, LIBRARY_jax };

/* A library's module and its class of arrays. */
struct library_row {
    PyObject *const *module, *const *class;
    bool asked; /* the class is no base of its arrays', and has to be asked */
};

static const struct library_row libraries[] = {
    [LIBRARY_torch] = {&names.torch, &names.Tensor, false},
    [LIBRARY_cupy] = {&names.cupy, &names.ndarray, false},
    [LIBRARY_jax] = {&names.jax, &names.Array, true},
};

/* 1 if the library has been imported and the array is one of its own; then there are new references
 * to the module and the class. 0, or -1 with an exception set, which only a class that was asked
 * does. This is asked of every array, so it has to be quick. */
static int find(PyObject *array, enum library library, PyObject **module, PyObject **class)
{
    const struct library_row *row = &libraries[library];
    *module = *class = NULL;
    if (PyDict_GetItemRef(PyImport_GetModuleDict(), *row->module, module) > 0 &&
        PyModule_Check(*module))
        PyDict_GetItemRef(PyModule_GetDict(*module), *row->class, class);
    PyErr_Clear(); /* what went wrong in looking does not matter */
    int is = *class && PyType_Check(*class);
    if (is)
        is = row->asked ? PyObject_IsInstance(array, *class)
                        : PyType_IsSubtype(Py_TYPE(array), (PyTypeObject *)*class);
    if (is <= 0) {
        Py_CLEAR(*module);
        Py_CLEAR(*class);
    }
    return is;
}

/* The module, without its class; a new reference. NULL without an exception. */
static PyObject *torch_of(PyObject *array)
{
    PyObject *torch, *class;
    find(array, LIBRARY_torch, &torch, &class);
    Py_XDECREF(class);
    return torch;
}

static bool is_tensor(PyObject *array)
{
    PyObject *torch = torch_of(array);
    Py_XDECREF(torch);
    return torch;
}

/* ---- PyTorch ---- */

bool torch_stream(PyObject *array, struct stream *stream)
{
    *stream = (struct stream){.given = false};
    PyObject *torch = torch_of(array);
    if (!torch)
        return true;
    PyObject *cuda = PyObject_GetAttr(torch, names.cuda);
    PyObject *device = cuda ? PyObject_GetAttr(array, names.device) : NULL;
    PyObject *current =
        device ? PyObject_CallMethodOneArg(cuda, names.current_stream, device) : NULL;
    const int found = current ? stream_parse_torchs(current, stream) : -1;
    Py_XDECREF(current);
    Py_XDECREF(device);
    Py_XDECREF(cuda);
    Py_DECREF(torch);
    return found >= 0;
}

PyObject *torch_resolve(PyObject *array)
{
    if (!is_tensor(array))
        return Py_NewRef(array);
    PyObject *conjugated = PyObject_CallMethodNoArgs(array, names.resolve_conj);
    PyObject *resolved =
        conjugated ? PyObject_CallMethodNoArgs(conjugated, names.resolve_neg) : NULL;
    Py_XDECREF(conjugated);
    return resolved;
}

/* The answer as 1, 0 or -1; takes over the reference. */
static int is_true(PyObject *answer)
{
    const int is = answer ? PyObject_IsTrue(answer) : -1;
    Py_XDECREF(answer);
    return is;
}

/* Real numbers are what conjugation leaves alone. */
int torch_is_plain(PyObject *array, bool is_complex)
{
    if (!is_tensor(array))
        return 1;
    int more = is_true(PyObject_GetAttr(array, names.requires_grad));
    if (more == 0)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_neg));
    if (more == 0 && is_complex)
        more = is_true(PyObject_CallMethodNoArgs(array, names.is_conj));
    return more < 0 ? -1 : !more;
}

/* ---- writing ---- */

bool library_lets_write(PyObject *array, const char *name)
{
    PyObject *jax, *class;
    const int keeps_history =
        is_tensor(array) ? is_true(PyObject_GetAttr(array, names.requires_grad)) : 0;
    if (keeps_history > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is a tensor that requires grad, and PyTorch would not know of what is "
                     "written to it; %s.detach() shares its memory and may be written",
                     name, name);
    if (keeps_history)
        return false;
    const int is_jaxs = find(array, LIBRARY_jax, &jax, &class);
    if (is_jaxs > 0)
        PyErr_Format(PyExc_ValueError,
                     "%s is an array of JAX, and those are never written; take the result that the "
                     "call returns",
                     name);
    Py_XDECREF(jax);
    Py_XDECREF(class);
    return is_jaxs == 0;
}

void library_tells_deleted(PyObject *object, const char *name)
{
    const struct raised raised = raised_set_aside();
    PyObject *deleted = PyObject_CallMethodNoArgs(object, names.is_deleted);
    PyErr_Clear();
    if (deleted == Py_True) {
        PyErr_Format(PyExc_RuntimeError, "%s is an array that has been deleted", name);
        raised_forget(raised);
    } else {
        raised_again(raised);
    }
    Py_XDECREF(deleted);
}

/* ---- units ---- */

/* Only what a class has is meant: an instance may have anything of any name, such as columns. */
static bool class_has(PyTypeObject *type, PyObject *name)
{
    PyObject *classes = Py_XNewRef(type->tp_mro);
    const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
    bool has = false;
    for (Py_ssize_t k = 0; k < count && !has; k++) {
        PyObject *own = class_own_attribute(PyTuple_GET_ITEM(classes, k), name);
        has = own;
        Py_XDECREF(own);
    }
    Py_XDECREF(classes);
    return has;
}

static PyObject *first_that_it_has(PyTypeObject *type, PyObject *word, PyObject *other)
{
    return class_has(type, word) ? word : class_has(type, other) ? other : NULL;
}

/* What the types of quantities call the unit, and the numbers alone. */
bool library_has_no_unit(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *unit = first_that_it_has(type, names.units, names.unit);
    PyObject *number = unit ? first_that_it_has(type, names.magnitude, names.value) : NULL;
    if (number)
        PyErr_Format(PyExc_TypeError,
                     "%s: a %.200s has a unit, which would be lost; give its numbers alone, %s.%U, "
                     "and the result the unit that follows from %s.%U",
                     name, type->tp_name, name, number, name, unit);
    return !number;
}

/* ---- CuPy ---- */

/* cupy.cuda.alloc(bytes), which asks the allocator that is in force. NULL with an exception set. */
static PyObject *call_allocator(PyObject *cupy, size_t bytes)
{
    PyObject *alloc = object_attribute(cupy, names.cuda, names.alloc, NULL);
    PyObject *size = alloc ? PyLong_FromSize_t(bytes) : NULL;
    PyObject *pointer = size ? PyObject_CallOneArg(alloc, size) : NULL;
    Py_XDECREF(size);
    Py_XDECREF(alloc);
    return pointer;
}

/* Whether CuPy's current device is known to be another one. An exception that is set stays. */
static bool is_elsewhere(PyObject *cupy, long device)
{
    const struct raised under_way = raised_set_aside();
    PyObject *runtime = object_attribute(cupy, names.cuda, names.runtime, NULL);
    PyObject *current = runtime ? PyObject_CallMethodNoArgs(runtime, names.getDevice) : NULL;
    const long number = current ? PyLong_AsLong(current) : -1;
    const bool known = !PyErr_Occurred();
    Py_XDECREF(current);
    Py_XDECREF(runtime);
    raised_again(under_way);
    return known && number != device;
}

/* Where the memory is that CuPy's pointer is of. 1, 0 on another device, -1 with an exception set.
 */
static int read_pointer(PyObject *pointer, int wanted, void **at)
{
    PyObject *device = PyObject_GetAttr(pointer, names.device_id);
    PyObject *address = device ? PyObject_GetAttr(pointer, names.ptr) : NULL;
    const long number = address ? PyLong_AsLong(device) : -1;
    *at = address && !PyErr_Occurred() ? PyLong_AsVoidPtr(address) : NULL;
    Py_XDECREF(address);
    Py_XDECREF(device);
    return PyErr_Occurred() ? -1 : number == wanted;
}

/* CuPy allocates on its current device, which may be another than the array's. Few calls meet that,
 * so it is asked for only where there is no memory; the array's own device may have some. */
static int allocate(PyObject *cupy, const struct result_request *request, PyObject **pointer,
                    void **at)
{
    size_t bytes = element_size(request->type);
    for (unsigned k = 0; k < request->dimensions; k++)
        bytes *= request->shape[k];
    *pointer = call_allocator(cupy, bytes);
    if (*pointer)
        return read_pointer(*pointer, request->device, at);
    if (!PyErr_ExceptionMatches(PyExc_Exception) || !is_elsewhere(cupy, request->device))
        return -1;
    PyErr_Clear();
    return 0;
}

int cupy_allocate(const struct result_request *request, struct cupy_memory *memory, void **at)
{
    PyObject *cupy;
    *memory = (struct cupy_memory){.pointer = NULL};
    if (request->type == ELEMENT_BFLOAT16 ||
        find(request->like, LIBRARY_cupy, &cupy, &memory->class) <= 0)
        return 0;
    const int made = allocate(cupy, request, &memory->pointer, at);
    Py_DECREF(cupy);
    if (made <= 0)
        cupy_release(memory);
    return made;
}

PyObject *cupy_array(const struct result_request *request, const struct cupy_memory *memory)
{
    PyObject *arguments[] = {shape_tuple(request->dimensions, request->shape),
                             PyUnicode_FromString(element_name(request->type)), memory->pointer};
    PyObject *array = arguments[0] && arguments[1]
                          ? PyObject_Vectorcall(memory->class, arguments, 3, NULL)
                          : NULL;
    Py_XDECREF(arguments[1]);
    Py_XDECREF(arguments[0]);
    return array;
}

void cupy_release(struct cupy_memory *memory)
{
    Py_CLEAR(memory->pointer);
    Py_CLEAR(memory->class);
}
