/* What gred knows of JAX beyond the protocols, not all of which tell: its arrays never change, and
 * can be deleted. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

/* False with a ValueError if the object is an array of JAX, which nobody may write to; `name` is
 * the argument's. */
bool jax_check_writable(PyObject *object, const char *name);

/* In the place of the exception that is set, if the object says that it is deleted: its interfaces
 * fail in ways of their own. */
void jax_tell_deleted(PyObject *object, const char *name);

/* Makes the constants that the others use; -1 with an exception set. */
int jax_setup(void);
