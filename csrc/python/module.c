/* The extension module gred._core: its functions, its types and its state. */
#include "python/module.h"

#include "arrays/objects.h"
#include "common/processor.h"
#include "python/hooks.h"
#include "run/backend.h"

/* ---- arrays, for measurements and gred/several.py ---- */

/* Views an array to find its element type. False with an exception set. */
static bool find_element(PyObject *module, PyObject *array, const char *name, enum element *type)
{
    const struct module_state *state = PyModule_GetState(module);
    const struct view_request request = {.name = name, .locator = &state->platforms.locator};
    CLEANUP(array_release) struct view view;
    view_init_empty(&view);
    const bool viewed = array_view(array, &request, &view);
    *type = view.layout.input;
    return viewed;
}

PyObject *core_parse(PyObject *module, PyObject *array)
{
    enum element type;
    return find_element(module, array, "a", &type) ? Py_NewRef(Py_None) : NULL;
}

PyObject *core_element(PyObject *module, PyObject *arguments)
{
    enum element type;
    PyObject *array;
    const char *name = "a";
    if (!PyArg_ParseTuple(arguments, "O|s", &array, &name))
        return NULL;
    return find_element(module, array, name, &type) ? PyUnicode_FromString(element_name(type))
                                                    : NULL;
}

/* ---- methods, reductions and devices, as tuples for gred/records.py ---- */

static PyObject *capability(int value)
{
    return value ? PyUnicode_FromFormat("%d.%d", value / 10, value % 10) : Py_NewRef(Py_None);
}

static PyObject *method_tuple(const struct platforms *platforms, const struct method *method)
{
    PyObject *places = PyList_New(0), *sizes = PyList_New(0);
    for (int k = 0; k < PLATFORMS; k++)
        if (method->places & platforms->all[k]->place)
            list_append(&places, PyUnicode_FromString(platforms->all[k]->name));
    for (int k = 0; method->block_size && k < BLOCK_SIZES; k++)
        list_append(&sizes, PyLong_FromLong(BLOCK_SIZE_MIN << k));
    return Py_BuildValue(
        "NsNsssNNNN", method->number < 0 ? Py_NewRef(Py_None) : PyLong_FromLong(method->number),
        method->name, *method->alias ? Py_BuildValue("(s)", method->alias) : PyTuple_New(0),
        method->title, method->idea, method->source, list_to_tuple(places), list_to_tuple(sizes),
        integer_or_none(method->block_size), capability(method->capability));
}

PyObject *core_methods(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *methods = PyList_New(0);
    for (int k = 0; k < METHODS; k++)
        list_append(&methods, method_tuple(&state->platforms, method_at((enum method_index)k)));
    return list_to_tuple(methods);
}

/* (name, whether every rung takes it, whether its result is a record, summary) per reduction. */
PyObject *core_reductions(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(ignored))
{
    PyObject *reductions = PyList_New(0);
    for (int k = 0; k < FIRST_VARIANT; k++) {
        const struct reduction_row *row = reduction_row((enum reduction)k);
        list_append(&reductions,
                    Py_BuildValue("sNNs", row->name, PyBool_FromLong(fold_is_on_ladder(row->fold)),
                                  PyBool_FromLong(row->result == RESULT_record), row->summary));
    }
    return list_to_tuple(reductions);
}

PyObject *core_devices(PyObject *module, PyObject *Py_UNUSED(ignored))
{
    const struct module_state *state = PyModule_GetState(module);
    PyObject *devices = PyList_New(0);
    for (int k = 0; devices && k < PLATFORMS; k++) {
        const struct platform *platform = state->platforms.all[k];
        struct failure ignored = {0};
        const int count = platforms_count(&state->platforms, platform, &ignored);
        for (int index = 0; index < count; index++) {
            struct device device;
            if (backend_of(platform)->describe(index, &device))
                list_append(&devices,
                            Py_BuildValue("ssIkNkN", device.name, device.title, device.units,
                                          device.memory, integer_or_none(device.bandwidth),
                                          device.l2_cache, capability(device.capability)));
        }
    }
    return devices;
}

/* ---- settings for all runs ---- */

/* In the order of gred.devices(). */
static const struct backend *const backends[PLATFORMS] = {&backend_host, &backend_simulated,
                                                          &backend_cuda};

/* Bounds the threads of runs, unless the argument is 0, and returns the host's. */
PyObject *core_threads(PyObject *module, PyObject *argument)
{
    const struct module_state *state = PyModule_GetState(module);
    const unsigned long limit = PyLong_AsUnsignedLong(argument);
    if (PyErr_Occurred())
        return NULL;
    unsigned host_threads = 1;
    for (int k = PLATFORMS - 1; k >= 0; k--)
        if (backends[k]->threads)
            host_threads = backends[k]->threads(state->platforms.states[k], (unsigned)limit);
    return PyLong_FromUnsignedLong(host_threads);
}

PyObject *core_substitute(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *device;
    const struct platform *platform;
    const char *name;
    int index;
    unsigned data_blocks;
    unsigned long long plain, counting, shared_bytes;
    if (!PyArg_ParseTuple(arguments, "OsIKKK:substitute", &device, &name, &data_blocks, &plain,
                          &counting, &shared_bytes) ||
        !platforms_parse(&state->platforms, device, &platform, &index))
        return NULL;
    const struct substitute substitute = {
        .platform = platform,
        .method = method_find(name),
        .data_blocks = data_blocks,
        .plain = (kernel_finder *)(uintptr_t)plain,
        .counting = (kernel_finder *)(uintptr_t)counting,
        .shared_bytes = (substitute_shared_bytes *)(uintptr_t)shared_bytes,
    };
    if (!substitute.method || data_blocks == 0 || platform->place == METHOD_ON_HOST)
        return value_error("there is no rung '%s' of %u data blocks on %R", name, data_blocks,
                           device);
    state->substitute = substitute;
    Py_RETURN_NONE;
}

/* ---- the module ---- */

/* Functions with signatures come first, in the signatures' order; these also provide docstrings. */
static PyMethodDef functions[] = {
#define NAMED(name, ...)                                                                           \
    {#name, (PyCFunction)(void (*)(void))core_##name, METH_FASTCALL | METH_KEYWORDS, NULL},
#define PLAIN(name, flags)   {#name, core_##name, flags, NULL},
#define REDUCTION(name, ...) NAMED(name)
#define VARIANT(name, ...)
#include "common/reductions.def"
    FUNCTIONS(NAMED, PLAIN){NULL, NULL, 0, NULL},
#undef NAMED
#undef PLAIN
};

static const struct hooks testing_hooks = {
#define HOOK(name) .name = &name,
    HOOKS(HOOK)
#undef HOOK
};

/* Adds an object unless that is NULL. False with an exception set. */
static bool add(PyObject *module, const char *name, void *object)
{
    return object && PyModule_AddObjectRef(module, name, object) == 0;
}

static bool open_backends(struct platforms *platforms)
{
    platforms_init_locator(platforms);
    for (int k = 0; k < PLATFORMS; k++) {
        platforms->all[k] = &backends[k]->platform;
        platforms->states[k] = backends[k]->create();
        if (!platforms->states[k]) {
            PyErr_NoMemory();
            return false;
        }
    }
    return true;
}

/* The environment is read at import, so that is when mistakes are reported. */
static int warn_of_environment(void)
{
#define NAME(name) " " #name
    const char *const given = instructions_invalid_name();
    return given ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                    "GRED_INSTRUCTIONS=%.100s is not an instruction set, and the "
                                    "best one available is used; there are" INSTRUCTION_SETS(NAME),
                                    given)
                 : 0;
#undef NAME
}

static int setup(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (warn_of_environment() < 0 || array_setup() < 0 || !open_backends(&state->platforms) ||
        !signatures_document(functions))
        return -1;
    OWNED *hooks = PyCapsule_New((void *)&testing_hooks, HOOKS_NAME, NULL);
    OWNED *foreign = PyCapsule_New(&state->foreign, FOREIGN_NAME, NULL);
    state->foreign = (struct foreign){state, foreign_reduce};
    state->cached_plans = cached_plans_make(&state->platforms);
    state->thread_order = PyContextVar_New("gred.thread_order", NULL);
    state->workspace_limit = PyContextVar_New("gred.workspace_limit", NULL);
    state->device_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &device_memory_spec, NULL);
    const bool added = state->cached_plans && add(module, "_hooks", hooks) &&
                       add(module, "_foreign", foreign) &&
                       add(module, "thread_order", state->thread_order) &&
                       add(module, "workspace_limit", state->workspace_limit) &&
                       add(module, "DeviceMemory", state->device_memory) &&
                       PyModule_AddStringConstant(module, "cuda", GRED_CUDA_VERSION) == 0 &&
                       PyModule_AddStringConstant(module, "architectures", GRED_ARCHITECTURES) == 0;
    return added ? 0 : -1;
}

/* Calls `DO` for all objects of the state. */
#define OBJECTS(DO)                                                                                \
    DO(state->thread_order);                                                                       \
    DO(state->workspace_limit);                                                                    \
    DO(state->device_memory)

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    OBJECTS(Py_VISIT);
    return 0;
}

static int clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    OBJECTS(Py_CLEAR);
    return 0;
}

static void release(void *module)
{
    struct module_state *state = PyModule_GetState(module);
    clear(module);
    PyMem_Free(state->cached_plans);
    for (int k = 0; k < PLATFORMS; k++)
        if (state->platforms.states[k])
            backends[k]->destroy(state->platforms.states[k]);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, setup},
#ifdef Py_GIL_DISABLED
    {Py_mod_gil, Py_MOD_GIL_NOT_USED},
#endif
    {0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "gred._core",
    .m_doc = "The C core of gred.",
    .m_size = sizeof(struct module_state),
    .m_methods = functions,
    .m_slots = slots,
    .m_traverse = traverse,
    .m_clear = clear,
    .m_free = release,
};

PyMODINIT_FUNC PyInit__core(void)
{
    return PyModuleDef_Init(&definition);
}
