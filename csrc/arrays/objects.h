/* Helpers for Python objects, and properties of other libraries' arrays that the protocols lack:
 * PyTorch's streams and lazy conjugation and negation, JAX's immutable and deletable arrays, CuPy's
 * allocator, quantities with units. A library is consulted only if it is imported, and only about
 * its own arrays. */
#pragma once

#include <Python.h>

#include "arrays/view.h"

/* ---- functions of newer Pythons for code that runs without the GIL ---- */

#if PY_VERSION_HEX < 0x030d0000

/* Both return 1 with a new reference, 0 without one, or -1 with an exception set. */
static inline int PyDict_GetItemRef(PyObject *dict, PyObject *key, PyObject **value)
{
    *value = Py_XNewRef(PyDict_GetItemWithError(dict, key));
    if (*value)
        return 1;
    return PyErr_Occurred() ? -1 : 0;
}

static inline int PyObject_GetOptionalAttr(PyObject *object, PyObject *name, PyObject **value)
{
    *value = PyObject_GetAttr(object, name);
    if (*value)
        return 1;
    if (!PyErr_ExceptionMatches(PyExc_AttributeError))
        return -1;
    PyErr_Clear();
    return 0;
}

#define Py_BEGIN_CRITICAL_SECTION(object) {
#define Py_END_CRITICAL_SECTION()         }

#endif

#if PY_VERSION_HEX < 0x030c0000

static inline PyObject *PyType_GetDict(PyTypeObject *type)
{
    return Py_XNewRef(type->tp_dict);
}

#endif

/* ---- Python ---- */

/* Interned strings, created at import: looking one up compares pointers. */
/* clang-format off */
#define NAMES(NAME) \
    NAME(__cuda_array_interface__) NAME(__cuda_stream__) NAME(__dlpack__) \
    NAME(__dlpack_c_exchange_api__) NAME(__dlpack_device__) NAME(Array) \
    NAME(Tensor) NAME(alloc) NAME(cuda) NAME(cuda_stream) NAME(cupy) NAME(current_stream) \
    NAME(data) NAME(descr) NAME(getDevice) NAME(runtime) NAME(device) NAME(device_id) NAME(dtype) \
    NAME(handle) NAME(is_conj) NAME(is_neg) NAME(jax) \
    NAME(magnitude) NAME(mask) NAME(max_version) NAME(ndarray) NAME(ptr) \
    NAME(requires_grad) NAME(resolve_conj) NAME(resolve_neg) NAME(shape) \
    NAME(stream) NAME(strides) NAME(torch) NAME(transpose) NAME(typestr) NAME(unit) NAME(units) \
    NAME(value) NAME(version)
/* clang-format on */

extern struct names {
#define NAME(name) PyObject *name;
    NAMES(NAME)
#undef NAME
} names;

/* -1 with an exception set. */
int objects_setup(void);

/* A reference that is released at the end of its variable's scope. */
#define OWNED CLEANUP(owned_release) PyObject

/* Calls a function with a variable's address at the end of its scope. */
#define CLEANUP(release) __attribute__((cleanup(release)))

static inline void owned_release(PyObject **object)
{
    Py_XDECREF(*object);
}

/* A class's own attribute, bases excluded, or that of the first class in a tuple that has one, and
 * its index; a new reference. NULL without an exception if there is none. */
PyObject *class_own_attribute(PyObject *class, PyObject *name);
PyObject *mro_attribute(PyObject *classes, PyObject *name, Py_ssize_t *index);

/* Calls a Python function or class with a tuple of arguments, in Py_BuildValue's format. The module
 * is imported on first use. NULL with an exception set. */
PyObject *python_call(const char *module, const char *function, const char *format, ...);

/* A new tuple of the lengths. */
PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths);

/* A new int, or None for 0. */
PyObject *integer_or_none(uint64_t value);

/* Steals the item. If it is NULL or memory runs out, the list is released and set to NULL. */
void list_append(PyObject **list, PyObject *item);

/* Steals the list, which may be NULL. */
PyObject *list_to_tuple(PyObject *list);

/* A saved exception, or none, while other code runs that may set its own. */
struct saved_exception {
    PyObject *type, *value, *traceback;
};

static inline struct saved_exception exception_save(void)
{
    struct saved_exception self;
    PyErr_Fetch(&self.type, &self.value, &self.traceback);
    return self;
}

/* Restores the saved state, replacing the exception that is set now, or discards it. */
static inline void exception_restore(struct saved_exception self, bool restore)
{
    if (restore) {
        PyErr_Restore(self.type, self.value, self.traceback);
        return;
    }
    Py_XDECREF(self.type);
    Py_XDECREF(self.value);
    Py_XDECREF(self.traceback);
}

/* ---- libraries ---- */

/* A PyTorch tensor's current stream; not given for other arrays. False with an exception set. */
bool torch_stream(PyObject *array, struct stream *);

/* The array, or for a tensor with pending conjugation or negation a resolved copy; a new reference.
 * NULL with an exception set. */
PyObject *torch_resolve(PyObject *array);

bool torch_is_tensor(PyObject *array);

/* Whether a tensor is not lazily conjugated or negated and does not require grad. -1: exception. */
int torch_is_exportable(PyObject *array, bool is_complex);

/* False with a ValueError if the array must not be written: a tensor that requires grad, or a JAX
 * array. Their protocols decline as well, but for other reasons. */
bool library_check_writable(PyObject *array, const char *name);

/* Replaces the set exception by one of gred/checks.py, if the array is deleted or is a tensor whose
 * memory cannot be read directly. */
void library_explain_failure(PyObject *object, const char *name);

/* False with a TypeError if the object has a unit, which a view would lose, as quantities of Pint,
 * Astropy and unyt have. */
bool library_check_unitless(PyObject *object, const char *name);

/* ---- new arrays for results, of the same library as the caller's array. The memory is allocated
 * first, for the launch; the array is made while the device works. Functions that return objects
 * return new references, or NULL with an exception set ---- */

enum { ON_HOST = -1 };

/* An array in C order, on the device of the caller's array. */
struct result_request {
    PyObject *like; /* the caller's array */
    int device;     /* a GPU's number, or ON_HOST */
    enum element type;
    unsigned dimensions;
    const uint64_t *shape;
};

/* One of three kinds; the members of the others are NULL. */
struct result_memory {
    PyObject *array;      /* the array that owns the memory */
    bool is_device_array; /* it is gred's DeviceArray */

    PyObject *capsule; /* keeps DLPack's exchange functions alive */
    const struct exchange *functions;
    struct dl_versioned *tensor;

    PyObject *class, *pointer; /* CuPy's, called from C */
};

/* 1: allocated at *data. 0: gred cannot allocate for this library. -1 with an exception set. */
int result_allocate(const struct result_request *, struct result_memory *, void **data);

/* The array in that memory. gred's own is handed to the caller's library if that takes it. */
PyObject *result_array(const struct result_request *, struct result_memory *);

/* Whether it is a CuPy array. Sets no exception. */
bool cupy_is_array(PyObject *array);

/* Transposes a NumPy or CuPy array: dimension d of the result is dimension from[d] of the array.
 * Steals the array, which may be NULL. */
PyObject *result_transpose(PyObject *array, unsigned dimensions, const unsigned *from);

/* Releases the references, and memory that has not become an array. */
void result_release(struct result_memory *);

/* A DeviceArray in memory that gred allocated and that `memory` owns. */
PyObject *result_wrap(const struct result_request *, PyObject *memory);
