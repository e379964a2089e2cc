/* The extension module gred._core: Python's arguments in, a request out, and the answer back. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arrays/mask.h"
#include "arrays/output.h"
#include "arrays/stream.h"
#include "python/arguments.h"
#include "python/describe.h"
#include "python/docs.h"
#include "python/execute.h"
#include "python/explain.h"
#include "python/measure.h"
#include "python/simulated_memory.h"

/* A call's arguments and all that they keep alive. */
struct call {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
};

enum { A, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT, STREAM, INITIAL };

/* The mean of nothing is NaN, with a warning, as in NumPy. */
static bool warn_of_empty_mean(void)
{
    return PyErr_WarnEx(PyExc_RuntimeWarning, "Mean of empty slice", 1) == 0;
}

/* False with an exception set; what was viewed is to be released in either case. */
static bool view_arguments(struct call *call, PyObject *const *slots)
{
    struct request *request = &call->request;
    const struct where *where = &call->state->platforms.where;
    struct view_request asked = {.name = "a", .where = where};
    call->view.owner = call->mask.view.owner = call->output.view.owner = NULL;
    call->view.pin = call->mask.view.pin = call->output.view.pin = NULL;
    if (!stream_parse(slots[STREAM], &asked.consumer) ||
        !output_parse(slots[OUT], &asked, &call->output))
        return false;
    request->consumer = asked.consumer;
    request->out = call->output.object ? &call->output : NULL;
    asked.in_background = call->output.view.on_device;
    if (!array_view(slots[A], &asked, &call->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && call->view.on_device && !where->locate(where, &call->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &call->view, &call->mask);
}

static PyObject *deliver(struct call *call, const struct plan *plan, const struct run *run)
{
    struct finish finish = finish_from(&plan->finish, run->accumulator);
    struct output *output = &call->output;
    if (finish.mean && plan->layout->mask && plan->n)
        finish.count = run->count;
    const bool known = !plan->out || plan->n == 0;
    if (finish.mean && finish.count == 0 && known && !warn_of_empty_mean())
        return NULL;
    if (plan->out)
        return Py_NewRef(output->object);
    const union scalar result = finish_result(&finish, run->result);
    if (!output->object)
        return array_scalar(result, finish.type);
    output_store(output, result, finish.type);
    return Py_NewRef(output->object);
}

static PyObject *reduce(PyObject *module, const struct signature *signature, enum op op, bool mean,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    PyObject *slots[ARGUMENTS_MAX];
    struct call call;
    if (!arguments_parse(signature, arguments, count, names, slots))
        return NULL;
    call.state = PyModule_GetState(module);
    call.request = (struct request){.platforms = &call.state->platforms,
                                    .op = op,
                                    .mean = mean,
                                    .method = slots[METHOD],
                                    .block_size = slots[BLOCK_SIZE],
                                    .dtype = slots[DTYPE],
                                    .device = slots[DEVICE],
                                    .initial = slots[INITIAL]};
    if (call.request.initial == Py_Ellipsis) /* how the signature writes that there is none */
        call.request.initial = NULL;
    struct plan plan;
    struct run run = {0};
    PyObject *result = NULL;
    if (view_arguments(&call, slots) && plan_make(&call.request, &call.view, &call.mask, &plan) &&
        execute_plan(call.state, &plan, &run))
        result = deliver(&call, &plan, &run);
    array_release(&call.view);
    mask_release(&call.mask);
    output_release(&call.output);
    return result;
}

/* A mean has no initial value, as in NumPy. */
static const char *const mean_keywords[] = {"method", "block_size", "dtype",  "device",
                                            "where",  "out",        "stream", NULL};
static const char *const keywords[] = {"method", "block_size", "dtype",   "device", "where",
                                       "out",    "stream",     "initial", NULL};

#define DEFINE_REDUCTION(function, op, mean, keywords)                                             \
    static PyObject *reduce_##function(PyObject *module, PyObject *const *arguments,               \
                                       Py_ssize_t count, PyObject *names)                          \
    {                                                                                              \
        static const struct signature signature = {#function, 1, 1, keywords};                     \
        return reduce(module, &signature, op, mean, arguments, count, names);                      \
    }

DEFINE_REDUCTION(sum, OP_SUM, false, keywords)
DEFINE_REDUCTION(prod, OP_PROD, false, keywords)
DEFINE_REDUCTION(min, OP_MIN, false, keywords)
DEFINE_REDUCTION(max, OP_MAX, false, keywords)
DEFINE_REDUCTION(mean, OP_SUM, true, mean_keywords)

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

/* What a call costs that does nothing. */
static PyObject *nothing(PyObject *Py_UNUSED(module), PyObject *const *Py_UNUSED(arguments),
                         Py_ssize_t Py_UNUSED(count))
{
    Py_RETURN_NONE;
}

#define FAST(function) (PyCFunction)(void (*)(void))(function), METH_FASTCALL | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"sum", FAST(reduce_sum), DOC_SUM},
    {"prod", FAST(reduce_prod), DOC_PROD},
    {"min", FAST(reduce_min), DOC_MIN},
    {"max", FAST(reduce_max), DOC_MAX},
    {"mean", FAST(reduce_mean), DOC_MEAN},
    {"kernel_time", FAST(measure_kernel_time),
     "The samples and circumstances of a measurement, as a tuple."},
    {"read_limit", FAST(measure_read_limit),
     "The samples and circumstances of a measurement, as a tuple."},
    {"explain", FAST(explain_call), "How a call would go, as a tuple."},
    {"pretended_schedule", (PyCFunction)(void (*)(void))explain_pretended,
     METH_VARARGS | METH_KEYWORDS, "The schedule for an array and a device that are not there."},
    {"parse", (PyCFunction)(void (*)(void))parse, METH_FASTCALL,
     "Reads where an array lies and what its elements are, and nothing more."},
    {"nothing", (PyCFunction)(void (*)(void))nothing, METH_FASTCALL, "Does nothing."},
    {"methods", describe_methods, METH_NOARGS, "The table of methods, as tuples."},
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

static int setup(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (array_setup() < 0 || !state_open_backends(state))
        return -1;
    state->thread_order = PyContextVar_New("gred.thread_order", NULL);
    state->workspace_limit = PyContextVar_New("gred.workspace_limit", NULL);
    state->platforms.cuda_error =
        PyErr_NewExceptionWithDoc("gred.CudaError", cuda_error_doc, PyExc_RuntimeError, NULL);
    state->simulated_memory =
        (PyTypeObject *)PyType_FromModuleAndSpec(module, &simulated_memory_spec, NULL);
    return add(module, "thread_order", state->thread_order) &&
                   add(module, "workspace_limit", state->workspace_limit) &&
                   add(module, "CudaError", state->platforms.cuda_error) &&
                   add(module, "SimulatedMemory", (PyObject *)state->simulated_memory) &&
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
    return 0;
}

static int clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->thread_order);
    Py_CLEAR(state->workspace_limit);
    Py_CLEAR(state->platforms.cuda_error);
    Py_CLEAR(state->simulated_memory);
    return 0;
}

static void release(void *module)
{
    struct module_state *state = PyModule_GetState(module);
    clear(module);
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
