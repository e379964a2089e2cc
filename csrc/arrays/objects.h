/* What gred asks of Python's objects, and what it knows of other libraries' arrays beyond the
 * protocols, which do not tell all: PyTorch's streams and what its tensors leave to be done when
 * they are read, JAX's arrays, which never change and can be deleted, CuPy's allocator, quantities
 * with units. Each library is asked only once it has been imported, and only of its own arrays. */
#pragma once

#include <Python.h>

#include "arrays/view.h"

/* ---- what newer Pythons have for code that runs without the GIL, for the older ones ---- */

#if PY_VERSION_HEX < 0x030d0000

/* 1 with a new reference, 0 without one, -1 with an exception set and without one; so do all. */
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

/* Interned strings, made at import: looking one up compares pointers. */
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

/* A reference that is given up at the end of its variable's scope. */
#define OWNED RELEASED_BY(owned_release) PyObject

/* What is done with a variable's address at the end of its scope. */
#define RELEASED_BY(release) __attribute__((cleanup(release)))

static inline void owned_release(PyObject **object)
{
    Py_XDECREF(*object);
}

/* What a class has of its own, not from its bases, or the first of some classes, and which it is; a
 * new reference. NULL without an exception if there is nothing. */
PyObject *class_own_attribute(PyObject *class, PyObject *name);
PyObject *classes_attribute(PyObject *classes, PyObject *name, Py_ssize_t *which);

/* What a function or a class of Python's makes of arguments, a tuple in Py_BuildValue's words; its
 * module is imported when it is first asked. NULL with an exception set. */
PyObject *python_call(const char *module, const char *function, const char *format, ...);

/* A new tuple of lengths. */
PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths);

/* None for 0. */
PyObject *integer_or_none(uint64_t value);

/* Takes over the item. Where that is NULL, or memory is short, the list is gone, and NULL. */
void list_append(PyObject **list, PyObject *item);

/* Takes over the list. */
PyObject *list_to_tuple(PyObject *list);

/* An exception that is set aside while other code runs, which may set its own; or none. */
struct raised {
    PyObject *type, *value, *traceback;
};

static inline struct raised raised_set_aside(void)
{
    struct raised self;
    PyErr_Fetch(&self.type, &self.value, &self.traceback);
    return self;
}

/* Sets it, or none, in the place of what is set now; or forgets it. */
static inline void raised_settle(struct raised self, bool again)
{
    if (again) {
        PyErr_Restore(self.type, self.value, self.traceback);
        return;
    }
    Py_XDECREF(self.type);
    Py_XDECREF(self.value);
    Py_XDECREF(self.traceback);
}

/* ---- libraries ---- */

/* The stream that an array's library works on at present; not given where the library is not known
 * to tell. False with an exception set. */
bool torch_stream(PyObject *array, struct stream *);

/* The array, or a copy with what its library would do to elements only when they are read,
 * conjugate or negate them; a new reference. NULL with an exception set. */
PyObject *torch_resolve(PyObject *array);

bool torch_is_tensor(PyObject *array);

/* Whether a tensor is what its memory says, and has no history. 1, 0, or -1 with an exception set.
 * */
int torch_is_plain(PyObject *array, bool is_complex);

/* False with a ValueError if nobody may write to the array: a tensor whose history PyTorch keeps,
 * or an array of JAX. Their interfaces decline, and each for another reason. */
bool library_lets_write(PyObject *array, const char *name);

/* In the place of the exception that is set, of an array that is deleted or a tensor that has no
 * memory to be read as it lies: what gred/checks.py says of it. */
void library_tells_why(PyObject *object, const char *name);

/* False with a TypeError if the object has a unit, of which a view would show the numbers alone, as
 * quantities of Pint, Astropy and unyt have. */
bool library_has_no_unit(PyObject *object, const char *name);

/* ---- new arrays for results, of the library that the caller's array is of: first the memory,
 * which a launch needs, and, while the device works, the array. Those that return objects return
 * new references, or NULL with an exception set ---- */

enum { ON_HOST = -1 };

/* An array in C order, where the caller's array lies. */
struct result_request {
    PyObject *like; /* the caller's */
    int device;     /* a GPU's number, or ON_HOST */
    enum element type;
    unsigned dimensions;
    const uint64_t *shape;
};

/* Of one of three: all else is NULL. */
struct result_memory {
    PyObject *array; /* that has the memory: NumPy's, of a library that makes both at once, or */
    bool own;        /* gred's own */

    PyObject *offer; /* keeps the functions of DLPack's exchange interface */
    const struct exchange *functions;
    struct dl_versioned *tensor;

    PyObject *class, *pointer; /* CuPy's, made without a detour by Python's code */
};

/* 1: there is memory, and elements begin at *at. 0: the library is not known to make any; no
 * exception is set. -1 with an exception set. */
int result_allocate(const struct result_request *, struct result_memory *, void **at);

/* The array in that memory; gred's own as one of the caller's library, where that takes it. */
PyObject *result_array(const struct result_request *, struct result_memory *);

/* Whether it is CuPy's. No exception is set in either case. */
bool cupy_is_array(PyObject *array);

/* An array of NumPy or CuPy whose dimension number d is the given one's number from[d]. Takes that,
 * which may be NULL. */
PyObject *result_permuted(PyObject *array, unsigned dimensions, const unsigned *from);

/* Gives back memory that has become no array. */
void result_release(struct result_memory *);

/* gred's own array of memory that it got, which `memory` keeps. */
PyObject *result_own(const struct result_request *, PyObject *memory);
