/* Structs of C's as dicts of Python's, by tables of their fields. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum field_type { FIELD_BOOL, FIELD_UNSIGNED, FIELD_INT, FIELD_UINT64, FIELD_INT64, FIELD_TEXT };

struct field {
    const char *name;
    size_t offset;
    enum field_type type;
};

#define FIELD(of, member) FIELD_NAMED(of, member, #member)
#define FIELD_NAMED(of, member, name)                                                              \
    {name, offsetof(struct of, member),                                                            \
     _Generic(((struct of *)NULL)->member,                                                         \
         bool: FIELD_BOOL,                                                                         \
         unsigned: FIELD_UNSIGNED,                                                                 \
         int: FIELD_INT,                                                                           \
         uint64_t: FIELD_UINT64,                                                                   \
         int64_t: FIELD_INT64,                                                                     \
         const char *: FIELD_TEXT)}

/* A table ends with a field of no name. A new dict, or NULL with an exception set. */
PyObject *fields_dict(const struct field *, const void *self);

/* Those that the dict has, which must have no others; NULL is an empty dict. False with an
 * exception set. */
bool fields_read(const struct field *, PyObject *dict, void *self);
