/* The extension module gred._core: Python's arguments in, a request out, and the answer back. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "arguments.h"
#include "describe.h"
#include "docs.h"
#include "execute.h"
#include "measure.h"

/* The mean of nothing is NaN, with a warning, as in NumPy. */
static bool warn_of_empty_mean(void)
{
    return PyErr_WarnEx(PyExc_RuntimeWarning, "mean of an empty array", 1) == 0;
}

static PyObject *reduce_view(struct module_state *state, const struct request *request,
                             struct view *view)
{
    struct plan plan;
    struct run run = {0};
    if (!plan_make(request, view, &plan) || !execute_plan(state, &plan, &run))
        return NULL;
    if (request->mean) {
        if (plan.n == 0 && !warn_of_empty_mean())
            return NULL;
        run.result = op_mean(plan.accumulator, run.result, plan.n);
    }
    return array_scalar(run.result, plan.accumulator);
}

static PyObject *reduce(PyObject *module, const char *function, enum op op, bool mean,
                        PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    enum { A, METHOD, BLOCK_SIZE, DTYPE, DEVICE };
    static const char *const keywords[] = {"method", "block_size", "dtype", "device", NULL};
    const struct signature signature = {function, 1, 1, keywords};
    PyObject *slots[ARGUMENTS_MAX];
    struct view view = {0};
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !array_view(slots[A], "a", &view))
        return NULL;
    const struct request request = {op,           mean,         slots[METHOD], slots[BLOCK_SIZE],
                                    slots[DTYPE], slots[DEVICE]};
    PyObject *result = reduce_view(PyModule_GetState(module), &request, &view);
    array_release(&view);
    return result;
}

#define DEFINE_REDUCTION(function, op, mean)                                                       \
    static PyObject *reduce_##function(PyObject *module, PyObject *const *arguments,               \
                                       Py_ssize_t count, PyObject *names)                          \
    {                                                                                              \
        return reduce(module, #function, op, mean, arguments, count, names);                       \
    }

DEFINE_REDUCTION(sum, OP_SUM, false)
DEFINE_REDUCTION(prod, OP_PROD, false)
DEFINE_REDUCTION(min, OP_MIN, false)
DEFINE_REDUCTION(max, OP_MAX, false)
DEFINE_REDUCTION(mean, OP_SUM, true)

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
    {"methods", describe_methods, METH_NOARGS, "The table of methods, as tuples."},
    {"devices", describe_devices, METH_NOARGS, "The devices that are here, as tuples."},
    {NULL, NULL, 0, NULL},
};

static int setup(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    if (array_setup() < 0)
        return -1;
    for (int k = 0; k < BACKENDS; k++)
        if (!(state->backends[k] = plan_backends[k]->create())) {
            PyErr_NoMemory();
            return -1;
        }
    state->thread_order = PyContextVar_New("gred.thread_order", NULL);
    if (!state->thread_order ||
        PyModule_AddObjectRef(module, "thread_order", state->thread_order) < 0)
        return -1;
    return PyModule_AddStringConstant(module, "cuda", GRED_CUDA_VERSION) < 0 ||
                   PyModule_AddStringConstant(module, "architectures", GRED_ARCHITECTURES) < 0
               ? -1
               : 0;
}

static int traverse(PyObject *module, visitproc visit, void *arg)
{
    struct module_state *state = PyModule_GetState(module);
    Py_VISIT(state->thread_order);
    return 0;
}

static int clear(PyObject *module)
{
    struct module_state *state = PyModule_GetState(module);
    Py_CLEAR(state->thread_order);
    return 0;
}

static void release(void *module)
{
    struct module_state *state = PyModule_GetState(module);
    clear(module);
    for (int k = 0; k < BACKENDS; k++)
        if (state->backends[k])
            plan_backends[k]->destroy(state->backends[k]);
}

static PyModuleDef_Slot slots[] = {
    {Py_mod_exec, setup},
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
