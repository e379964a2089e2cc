#include "python/step_tuple.h"

static bool append(PyObject *list, PyObject *item)
{
    const bool appended = item && PyList_Append(list, item) == 0;
    Py_XDECREF(item);
    return appended;
}

bool step_append(PyObject *list, const char *when, const char *work, const struct step *step)
{
    return append(list,
                  Py_BuildValue("ssKInIOKss", when, work, (unsigned long long)step->grid,
                                step->block, (Py_ssize_t)step->shared_bytes, step->cluster,
                                step->cooperative ? Py_True : Py_False, (unsigned long long)step->n,
                                part_name(step->reads), part_name(step->writes)));
}

PyObject *steps_end(PyObject *list, bool complete)
{
    PyObject *tuple = complete ? PyList_AsTuple(list) : NULL;
    Py_XDECREF(list);
    return tuple;
}

PyObject *arena_tuple(const struct arena *arena)
{
    PyObject *list = PyList_New(0);
    bool complete = list;
    for (int part = 0; complete && part < PARTS; part++)
        if (arena->bytes[part])
            complete = append(list, Py_BuildValue("sKK", part_name((enum part)part),
                                                  (unsigned long long)arena->at[part],
                                                  (unsigned long long)arena->bytes[part]));
    return steps_end(list, complete);
}
