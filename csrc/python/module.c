/* The extension module gred._core: its functions, its types and its state. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/processor.h"
#include "python/arguments.h"
#include "python/functions.h"
#include "python/hooks.h"
#include "python/memory.h"
#include "python/state.h"

/* Views an array, and lets it go. False with an exception set. */
static bool find_element(PyObject *module, PyObject *array, enum element *type)
{
    const struct module_state *state = PyModule_GetState(module);
    const struct view_request asked = {.name = "a", .where = &state->platforms.where};
    struct view view;
    if (!array_view(array, &asked, &view))
        return false;
    *type = view.layout.input;
    array_release(&view);
    return true;
}

/* What it takes to understand an array, for measurements. */
static PyObject *parse(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    enum element type;
    if (count != 1)
        return PyErr_Format(PyExc_TypeError, "parse() takes one argument; got %zd", count);
    return find_element(module, arguments[0], &type) ? Py_NewRef(Py_None) : NULL;
}

static PyObject *element(PyObject *module, PyObject *array)
{
    enum element type;
    return find_element(module, array, &type) ? PyUnicode_FromString(element_name(type)) : NULL;
}

/* What a call costs that does nothing. */
static PyObject *nothing(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(arguments),
                         Py_ssize_t Py_UNUSED(count))
{
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS
#define FAST_UNNAMED(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL

/* The first are those that have signatures, in their order, which also give them docstrings. */
static PyMethodDef functions[] = {
#define REDUCTION(name, ...) {#name, FAST(reduce_##name), NULL},
#define VARIANT(name, ...)
#include "common/reductions.def"
    {"dot", FAST(dot_call), NULL},
    {"kernel_time", FAST(measure_kernel_time),
     "The samples and circumstances of a measurement, as a tuple."},
    {"read_limit", FAST(measure_read_limit),
     "The samples and circumstances of a measurement, as a tuple."},
    {"launch_limit", FAST(measure_launch_limit),
     "The samples and circumstances of a measurement, as a tuple."},
    {"reduceat", FAST(reduceat_call), "Results of an array's segments."},
    {"counters", FAST(counters_call), "What a call accesses on the simulated device, as a tuple."},
    {"explain", FAST(explain_call), "How a call would go, as a tuple."},
    {"substitute", state_substitute, METH_VARARGS,
     "Puts a kernel of the user's own in a rung's place on a device that launches kernels."},
    {"threads", state_threads, METH_O, "Bounds the host's threads, unless by 0, and counts them."},
    {"parse", FAST_UNNAMED(parse),
     "Reads where an array lies and what its elements are, and nothing more."},
    {"element", element, METH_O, "The name of an array's element type."},
    {"nothing", FAST_UNNAMED(nothing), "Does nothing."},
    {"exact_sum", exact_sum, METH_O, "The words of an array's exact sum."},
    {"exact_products", FAST_UNNAMED(exact_products), "The words of the exact sum of products."},
    {"exact_normalised", exact_normalised, METH_O, "Words of an exact sum, normalised."},
    {"exact_rounded", FAST_UNNAMED(exact_rounded), "Words of an exact sum, divided and rounded."},
    {"methods", describe_methods, METH_NOARGS, "The table of methods, as tuples."},
    {"reductions", describe_reductions, METH_NOARGS, "The table of reductions, as tuples."},
    {"devices", describe_devices, METH_NOARGS, "The devices that are here, as tuples."},
    {NULL, NULL, 0, NULL},
};

static const struct hooks testing_hooks = {
#define HOOK(name) .name = name,
    HOOKS(HOOK)
#undef HOOK
        .kernels_simulated = &kernels_simulated,
};

static const char cuda_error_doc[] = "An error that CUDA reports.\n\n"
                                     "Attributes\n"
                                     "----------\n"
                                     "call : str\n"
                                     "    The function of CUDA's that failed.\n"
                                     "name : str\n"
                                     "    The error's name, such as 'cudaErrorInvalidValue'.\n"
                                     "text : str\n"
                                     "    What CUDA says of it.\n";

/* Whether there is such an object, and the module has it now. */
static bool add(PyObject *module, const char *name, PyObject *object)
{
    return object && PyModule_AddObjectRef(module, name, object) == 0;
}

/* What the environment says is taken when the module is imported, and heard of then. */
static int warn_of_environment(void)
{
#define NAME(name) " " #name
    const char *const given = instructions_misnamed();
    return given ? PyErr_WarnFormat(PyExc_RuntimeWarning, 1,
                                    "GRED_INSTRUCTIONS=%.100s names no set of instructions, and "
                                    "the best ones here are used; there are" INSTRUCTION_SETS(NAME),
                                    given)
                 : 0;
#undef NAME
}

static int setup(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (warn_of_environment() < 0 || array_setup() < 0 || !state_open_backends(state) ||
        !signatures_document(functions))
        return -1;
    PyObject *hooks = PyCapsule_New((void *)&testing_hooks, HOOKS_NAME, NULL);
    state->cached_plans = cached_plans_make(&state->platforms);
    state->thread_order = PyContextVar_New("gred.thread_order", NULL);
    state->workspace_limit = PyContextVar_New("gred.workspace_limit", NULL);
    state->platforms.cuda_error =
        PyErr_NewExceptionWithDoc("gred.CudaError", cuda_error_doc, PyExc_RuntimeError, NULL);
    state->simulated_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &simulated_memory_spec, NULL);
    state->device_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &device_memory_spec, NULL);
    const bool hooked = add(module, "_hooks", hooks);
    Py_XDECREF(hooks);
    return hooked && state->cached_plans && add(module, "thread_order", state->thread_order) &&
                   add(module, "workspace_limit", state->workspace_limit) &&
                   add(module, "CudaError", state->platforms.cuda_error) &&
                   add(module, "SimulatedMemory", (PyObject *)state->simulated_memory) &&
                   add(module, "DeviceMemory", (PyObject *)state->device_memory) &&
                   PyModule_AddStringConstant(module, "cuda", GRED_CUDA_VERSION) == 0 &&
                   PyModule_AddStringConstant(module, "architectures", GRED_ARCHITECTURES) == 0
               ? 0
               : -1;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    Py_VISIT(state->thread_order);
    Py_VISIT(state->workspace_limit);
    Py_VISIT(state->platforms.cuda_error);
    Py_VISIT(state->simulated_memory);
    Py_VISIT(state->device_memory);
    return 0;
}

static int clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->thread_order);
    Py_CLEAR(state->workspace_limit);
    Py_CLEAR(state->platforms.cuda_error);
    Py_CLEAR(state->simulated_memory);
    Py_CLEAR(state->device_memory);
    return 0;
}

static void release(void *module)
{
    struct module_state *state = PyModule_GetState(module);
    clear(module);
    cached_plans_free(state->cached_plans);
    state_close_backends(state);
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
    .m_doc = "gred's core, in C.",
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
