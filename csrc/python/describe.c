/* Methods, reductions and devices as plain tuples, which gred/records.py gives names to. */
#include "python/execute.h"
#include "python/functions.h"
#include "python/tuples.h"

static PyObject *integer_or_none(long long value, bool none)
{
    return none ? Py_NewRef(Py_None) : PyLong_FromLongLong(value);
}

static PyObject *capability(int value)
{
    return value ? PyUnicode_FromFormat("%d.%d", value / 10, value % 10) : Py_NewRef(Py_None);
}

/* ---- methods ---- */

/* The platforms that a method runs on, as many as `count`. */
struct places {
    const struct platform *all[PLATFORMS];
    unsigned count;
};

static PyObject *place_at(const void *places, size_t k)
{
    return PyUnicode_FromString(((const struct places *)places)->all[k]->name);
}

static PyObject *places_tuple(const struct platforms *platforms, unsigned bits)
{
    struct places places = {.count = 0};
    for (int k = 0; k < PLATFORMS; k++)
        if (bits & platforms->all[k]->place)
            places.all[places.count++] = platforms->all[k];
    return tuple_of(places.count, place_at, &places);
}

static PyObject *block_size_at(const void *Py_UNUSED(context), size_t k)
{
    return PyLong_FromLong(BLOCK_SIZE_MIN << k);
}

static PyObject *method_at_index(const void *platforms, size_t k)
{
    const struct method *method = method_at((enum method_index)k);
    PyObject *aliases = *method->alias ? Py_BuildValue("(s)", method->alias) : PyTuple_New(0);
    return Py_BuildValue("NsNsssNNNN", integer_or_none(method->number, method->number < 0),
                         method->name, aliases, method->title, method->idea, method->source,
                         places_tuple(platforms, method->places),
                         tuple_of(method->block_size ? BLOCK_SIZES : 0, block_size_at, NULL),
                         integer_or_none(method->block_size, method->block_size == 0),
                         capability(method_capability(method)));
}

PyObject *describe_methods(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct module_state *state = PyModule_GetState(module);
    return tuple_of(METHODS, method_at_index, &state->platforms);
}

/* ---- reductions ---- */

/* Its name, whether every rung takes it, whether it has a record for a result, and its one line. */
static PyObject *reduction_at(const void *Py_UNUSED(context), size_t k)
{
    const struct reduction_row *row = reduction_row((enum reduction)k);
    return Py_BuildValue("sNNs", row->name, PyBool_FromLong(fold_is_on_ladder(row->fold)),
                         PyBool_FromLong(row->result == RESULT_record), row->summary);
}

PyObject *describe_reductions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    return tuple_of(FIRST_VARIANT, reduction_at, NULL);
}

/* ---- devices ---- */

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
