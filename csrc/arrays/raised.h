/* An exception that is set aside while other code runs, which may set its own. */
#pragma once

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Of no type: none was set. */
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
