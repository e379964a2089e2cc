#include "python/describe.h"

#include "python/execute.h"

/* A tuple of the backends' names that a method runs on; a new reference. */
static PyObject *places(const struct platforms *platforms, unsigned bits)
{
    PyObject *names = PyList_New(0);
    for (int k = 0; names && k < PLATFORMS; k++) {
        if (!(bits & platforms->all[k]->place))
            continue;
        PyObject *name = PyUnicode_FromString(platforms->all[k]->name);
        if (!name || PyList_Append(names, name) < 0)
            Py_CLEAR(names);
        Py_XDECREF(name);
    }
    PyObject *tuple = names ? PyList_AsTuple(names) : NULL;
    Py_XDECREF(names);
    return tuple;
}

static PyObject *block_sizes(const struct method *method)
{
    PyObject *sizes = PyTuple_New(method->block_size ? BLOCK_SIZES : 0);
    for (int k = 0; sizes && method->block_size && k < BLOCK_SIZES; k++) {
        PyObject *size = PyLong_FromLong(BLOCK_SIZE_MIN << k);
        if (!size)
            Py_CLEAR(sizes);
        else
            PyTuple_SET_ITEM(sizes, k, size);
    }
    return sizes;
}

static PyObject *integer_or_none(long long value, bool none)
{
    return none ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

static PyObject *capability(int value)
{
    return value ? PyUnicode_FromFormat("%d.%d", value / 10, value % 10) : Py_NewRef(Py_None);
}

static PyObject *describe_method(const struct platforms *platforms, const struct method *method)
{
    PyObject *aliases = *method->alias ? Py_BuildValue("(s)", method->alias) : PyTuple_New(0);
    return Py_BuildValue("NsNsssNNNN", integer_or_none(method->number, method->number < 0),
                         method->name, aliases, method->title, method->idea, method->source,
                         places(platforms, method->places), block_sizes(method),
                         integer_or_none(method->block_size, method->block_size == 0),
                         capability(method_capability(method)));
}

PyObject *describe_methods(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *methods = PyTuple_New(METHODS);
    for (int m = 0; methods && m < METHODS; m++) {
        PyObject *method = describe_method(&state->platforms, method_at((enum method_index)m));
        if (!method)
            Py_CLEAR(methods);
        else
            PyTuple_SET_ITEM(methods, m, method);
    }
    return methods;
}

/* A reduction's name, whether every rung takes it, whether it has a record for a result, and its
 * one line. */
static PyObject *describe_reduction(const struct reduction_row *row)
{
    return Py_BuildValue("sNNs", row->name, PyBool_FromLong(fold_is_on_ladder(row->fold)),
                         PyBool_FromLong(row->result == RESULT_record), row->summary);
}

PyObject *describe_reductions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *reductions = PyTuple_New(FIRST_VARIANT);
    for (int r = 0; reductions && r < FIRST_VARIANT; r++) {
        PyObject *reduction = describe_reduction(reduction_row((enum reduction)r));
        if (!reduction)
            Py_CLEAR(reductions);
        else
            PyTuple_SET_ITEM(reductions, r, reduction);
    }
    return reductions;
}

static PyObject *describe_device(const struct device *device)
{
    return Py_BuildValue("ssIKNKN", device->name, device->title, device->units,
                         (unsigned long long)device->memory,
                         integer_or_none((long long)device->bandwidth, device->bandwidth == 0),
                         (unsigned long long)device->l2_cache, capability(device->capability));
}

PyObject *describe_devices(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *devices = PyList_New(0);
    for (int k = 0; devices && k < PLATFORMS; k++) {
        const struct platform *platform = state->platforms.all[k];
        struct failure ignored_failure = {0};
        const int count = platforms_count(&state->platforms, platform, &ignored_failure);
        for (int index = 0; devices && index < count; index++) {
            struct device described;
            if (!backend_of(platform)->describe(index, &described))
                continue;
            PyObject *device = describe_device(&described);
            if (!device || PyList_Append(devices, device) < 0)
                Py_CLEAR(devices);
            Py_XDECREF(device);
        }
    }
    return devices;
}
