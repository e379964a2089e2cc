/* Shared by gred._testing's files: gred._core's hooks, and C structs as Python dicts, by tables of
 * members that end with an unnamed one. */
#pragma once

#include <Python.h>
#include <structmember.h>

#include "python/hooks.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Set at import, constant from then on. */
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

/* A new dict of the members, or NULL with an exception set. */
PyObject *fields_dict(PyMemberDef *, const void *self);

/* Sets the members in the dict, which must have no other keys. False with an exception set. */
bool fields_read(PyMemberDef *, PyObject *dict, void *self);

PyObject *testing_segments(PyObject *module, PyObject *arguments);
PyObject *testing_axes(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_launch(PyObject *module, PyObject *arguments, PyObject *names);
PyObject *testing_schedule(PyObject *module, PyObject *arguments, PyObject *fields);
