/* What the sources of gred._testing share: gred._core's hooks, and structs of C's as dicts of
 * Python's, by tables of their members that end with one of no name. */
#pragma once

#include <Python.h>
#include <structmember.h>

#include "python/hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Found at import, constant from then on. */
extern const struct hooks *hooks;

#define FIELD(of, member) FIELD_NAMED(of, member, #member)
#define FIELD_NAMED(of, member, name)                                                              \
    {name,                                                                                         \
     _Generic(((struct of *)NULL)->member,                                                         \
         bool: T_BOOL,                                                                             \
         unsigned char: T_UBYTE,                                                                   \
         int: T_INT,                                                                               \
         unsigned: T_UINT,                                                                         \
         uint64_t: T_ULONG,                                                                        \
         const char *: T_STRING),                                                                  \
     offsetof(struct of, member), 0, NULL}

/* A new dict, or NULL with an exception set. */
PyObject *fields_dict(PyMemberDef *, const void *self);

/* Sets those that the dict has, which must have no others. False with an exception set. */
bool fields_read(PyMemberDef *, PyObject *dict, void *self);

PyObject *testing_segments(PyObject *module, PyObject *arguments);
PyObject *testing_axes(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_launch(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_schedule(PyObject *module, PyObject *arguments, PyObject *names);
