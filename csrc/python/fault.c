#define _GNU_SOURCE

#include "python/fault.h"

#include <dlfcn.h>

static const char *fault_name(enum fault_kind kind)
{
    static const char *const names[FAULT_KINDS] = {
        [FAULT_RACE] = "race",       [FAULT_BARRIER] = "barrier",
        [FAULT_BOUNDS] = "bounds",   [FAULT_UNWRITTEN] = "unwritten",
        [FAULT_MISSING] = "missing", [FAULT_ALIGNMENT] = "alignment",
        [FAULT_ENDLESS] = "endless",
    };
    return names[kind];
}

/* Where a fault's thread was, as offsets into the libraries that they are in. */
static PyObject *frames_list(const struct fault *fault)
{
    PyObject *list = PyList_New(0);
    for (unsigned k = 0; list && k < fault->depth; k++) {
        Dl_info where;
        if (!dladdr((void *)fault->frames[k], &where))
            continue;
        PyObject *frame =
            Py_BuildValue("sK", where.dli_fname,
                          (unsigned long long)(fault->frames[k] - (uintptr_t)where.dli_fbase));
        if (!frame || PyList_Append(list, frame) < 0)
            Py_CLEAR(list);
        Py_XDECREF(frame);
    }
    return list;
}

PyObject *fault_instead(const struct fault *fault)
{
    if (fault->kind == FAULT_NONE)
        return NULL;
    PyErr_Clear();
    return Py_BuildValue("szIsN", fault_name(fault->kind), fault->file, fault->line, fault->text,
                         frames_list(fault));
}
