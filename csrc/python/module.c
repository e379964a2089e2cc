/* The extension module gred._core: its functions, its types and its state. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "common/instructions.h"
#include "python/counters.h"
#include "python/describe.h"
#include "python/device_memory.h"
#include "python/dot.h"
#include "python/dot_doc.h"
#include "python/exact.h"
#include "python/execute.h"
#include "python/explain.h"
#include "python/forced_axes.h"
#include "python/forced_long_rows.h"
#include "python/forced_segments.h"
#include "python/forced_short_rows.h"
#include "python/forced_tuning.h"
#include "python/measure.h"
#include "python/pretended_axes.h"
#include "python/pretended_short_rows.h"
#include "python/reduce.h"
#include "python/reduceat.h"
#include "python/reduction_docs.h"
#include "python/simulated_memory.h"
#include "python/substitute.h"
#include "python/threads.h"

/* What it takes to understand an array, for measurements: views it and lets it go. */
static PyObject *parse(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    const struct module_state *state = PyModule_GetState(module);
    const struct view_request asked = {.name = "a", .where = &state->platforms.where};
    struct view view;
    if (count != 1)
        return PyErr_Format(PyExc_TypeError, "parse() takes one argument; got %zd", count);
    view.pin = NULL;
    if (!array_view(arguments[0], &asked, &view))
        return NULL;
    array_release(&view);
    Py_RETURN_NONE;
}

/* What an array's elements are called. */
static PyObject *element(PyObject *module, PyObject *array)
{
    const struct module_state *state = PyModule_GetState(module);
    const struct view_request asked = {.name = "a", .where = &state->platforms.where};
    struct view view = {0};
    if (!array_view(array, &asked, &view))
        return NULL;
    const enum element type = view.layout.input;
    array_release(&view);
    return PyUnicode_FromString(element_name(type));
}

/* What a call costs that does nothing. */
static PyObject *nothing(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(arguments),
                         Py_ssize_t Py_UNUSED(count))
{
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
#define REDUCTION(name, fold, plain, bools, values, result, nothing, counts, summary)              \
    {#name, FAST(reduce_##name), DOC_##name(summary)},
#define VARIANT(name, ...)
#include "common/reductions.def"
    {"kernel_time", FAST(measure_kernel_time),
     "The samples and circumstances of a measurement, as a tuple."},
    {"read_limit", FAST(measure_read_limit),
     "The samples and circumstances of a measurement, as a tuple."},
    {"launch_limit", FAST(measure_launch_limit),
     "The samples and circumstances of a measurement, as a tuple."},
    {"reduceat", (PyCFunction)(void (*)(void))reduceat_call, METH_FASTCALL,
     "Results of an array's segments."},
    {"counters", FAST(counters_call), "What a call accesses on the simulated device, as a tuple."},
    {"substitute", substitute, METH_VARARGS,
     "Puts a kernel of the user's own in a rung's place on a device that launches kernels."},
    {"explain", FAST(explain_call), "How a call would go, as a tuple."},
    {"pretended_schedule", (PyCFunction)(void (*)(void))explain_pretended,
     METH_VARARGS | METH_KEYWORDS, "The schedule for an array and a device that are not there."},
    {"forced_tuning", forced_tuning, METH_VARARGS, "Forces the shape of calls, for tests."},
    {"forced_axes", forced_axes, METH_VARARGS,
     "Forces how reductions along axes are shared, for tests."},
    {"forced_long_rows", forced_long_rows, METH_VARARGS,
     "Forces how long rows along axes are shared, for tests."},
    {"forced_segments", forced_segments, METH_VARARGS,
     "Forces how reductions of segments are shared, for tests."},
    {"forced_short_rows", forced_short_rows, METH_VARARGS,
     "Forces how short rows are shared, for tests."},
    {"pretended_short_rows", pretended_short_rows, METH_VARARGS,
     "How threads of a device that is not there would share short rows."},
    {"pretended_segments", pretended_segments, METH_VARARGS,
     "How threads of a device that is not there would share a reduction of segments."},
    {"pretended_axes", pretended_axes, METH_VARARGS,
     "The normal form of axes of an array that is not there."},
    {"pretended_sharing", pretended_sharing, METH_VARARGS,
     "How threads of a device that is not there would share a reduction along axes."},
    {"pretended_long_rows", pretended_long_rows, METH_VARARGS,
     "How threads of a device that is not there would share long rows."},
    {"parse", (PyCFunction)(void (*)(void))parse, METH_FASTCALL,
     "Reads where an array lies and what its elements are, and nothing more."},
    {"element", element, METH_O, "The name of an array's element type."},
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL, "Does nothing."},
    {"dot", FAST(dot_call), DOC_dot},
    {"exact_sum", exact_sum, METH_O, "The words of an array's exact sum."},
    {"exact_products", (PyCFunction)(void (*)(void))exact_products, METH_FASTCALL,
     "The words of the exact sum of products."},
    {"exact_normalised", exact_normalised, METH_O, "Words of an exact sum, normalised."},
    {"exact_rounded", (PyCFunction)(void (*)(void))exact_rounded, METH_FASTCALL,
     "Words of an exact sum, divided and rounded."},
    {"threads", threads_call, METH_O, "Bounds the host's threads, unless by 0, and counts them."},
    {"methods", describe_methods, METH_NOARGS, "The table of methods, as tuples."},
    {"reductions", describe_reductions, METH_NOARGS, "The table of reductions, as tuples."},
    {"devices", describe_devices, METH_NOARGS, "The devices that are here, as tuples."},
    {NULL, NULL, 0, NULL},
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
    if (warn_of_environment() < 0 || array_setup() < 0 || !state_open_backends(state))
        return -1;
    state->cached_plans = cached_plans_make(&state->platforms);
    state->thread_order = PyContextVar_New("gred.thread_order", NULL);
    state->workspace_limit = PyContextVar_New("gred.workspace_limit", NULL);
    state->platforms.cuda_error =
        PyErr_NewExceptionWithDoc("gred.CudaError", cuda_error_doc, PyExc_RuntimeError, NULL);
    state->simulated_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &simulated_memory_spec, NULL);
    state->device_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &device_memory_spec, NULL);
    return state->cached_plans && add(module, "thread_order", state->thread_order) &&
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
