/* Small help with Python's objects: names that are looked up often, attributes, exceptions that are
 * set aside, shapes. */
#pragma once

#include "common/newer_python.h"

#include <stdbool.h>
#include <stdint.h>

/* Strings that are made at import and constant from then on: looking up an interned string compares
 * pointers. */
/* clang-format off */
#define NAMES(NAME) \
    NAME(__cuda_array_interface__) NAME(__cuda_stream__) NAME(__dlpack__) \
    NAME(__dlpack_c_exchange_api__) NAME(__dlpack_device__) NAME(Array) NAME(DeviceArray) \
    NAME(Tensor) NAME(alloc) NAME(cuda) NAME(cuda_stream) NAME(cupy) NAME(current_stream) \
    NAME(data) NAME(descr) NAME(device) NAME(device_id) NAME(dtype) NAME(getDevice) \
    NAME(handed_over) NAME(handle) NAME(is_conj) NAME(is_deleted) NAME(is_neg) NAME(jax) \
    NAME(made_like) NAME(magnitude) NAME(mask) NAME(max_version) NAME(ndarray) NAME(ptr) \
    NAME(requires_grad) NAME(resolve_conj) NAME(resolve_neg) NAME(runtime) NAME(shape) \
    NAME(stream) NAME(strides) NAME(torch) NAME(typestr) NAME(unit) NAME(units) NAME(value) \
    NAME(version)
/* clang-format on */

extern struct names {
#define NAME(name) PyObject *name;
    NAMES(NAME)
#undef NAME
    PyObject *device_array; /* a module's: "gred.device_array" */
} names;

/* -1 with an exception set. */
int objects_setup(void);

/* An attribute of an attribute and so on, by names with NULL at the end; a new reference. NULL with
 * an exception set. */
PyObject *object_attribute(PyObject *object, ...);

/* What a class has of its own, not from those that it is derived from; a new reference. NULL
 * without an exception if there is nothing. */
PyObject *class_own_attribute(PyObject *class, PyObject *name);

/* A new tuple of lengths. */
PyObject *shape_tuple(unsigned dimensions, const uint64_t *lengths);

/* An exception that is set aside while other code runs, which may set its own. Of no type: none was
 * set. */
struct raised {
    PyObject *type, *value, *traceback;
};

static inline struct raised raised_set_aside(void)
{
    struct raised self;
    PyErr_Fetch(&self.type, &self.value, &self.traceback);
    return self;
}

/* Sets it, or none, in the place of what is set now. */
static inline void raised_again(struct raised self)
{
    PyErr_Restore(self.type, self.value, self.traceback);
}

static inline void raised_forget(struct raised self)
{
    Py_XDECREF(self.type);
    Py_XDECREF(self.value);
    Py_XDECREF(self.traceback);
}
