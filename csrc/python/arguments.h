/* A function's arguments, from the vector call's layout into an array of slots. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdbool.h>

enum { ARGUMENTS_MAX = 16 };

struct signature {
    const char *function;
    int required;   /* positional, and needed */
    int positional; /* those that may be given by position, the required ones first */
    int unnamed;    /* of the positional ones: the first that have no keyword */
    const char *const
        *keywords;              /* of all others in order, NULL at the end; "" where one has none */
    const unsigned char *slots; /* of all, the unnamed too; NULL: each its own position */
};

/* Borrowed references; NULL in a slot whose argument was left out. False with a TypeError set. */
bool arguments_parse(const struct signature *, PyObject *const *arguments, Py_ssize_t count,
                     PyObject *names, PyObject *slots[ARGUMENTS_MAX]);
