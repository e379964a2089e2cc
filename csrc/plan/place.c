#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "plan/place.h"

#include "plan/arguments.h"

bool place_stay(const struct view *view, const char *name, const struct request *request,
                const struct platform **platform, int *device)
{
    *platform = view->platform;
    *device = view->device;
    if (!argument_given(request->device))
        return true;
    if (!platforms_parse(request->platforms, request->device, platform, device))
        return false;
    if (view->n == 0 || (*platform == view->platform && *device == view->device))
        return true;
    PyObject *place = platform_name(view->platform, view->device);
    if (place)
        PyErr_Format(PyExc_ValueError,
                     "device %R: %s lies on '%U' and the work is done there; leave device out",
                     request->device, name, place);
    Py_XDECREF(place);
    return false;
}
