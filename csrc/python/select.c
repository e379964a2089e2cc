/* Quantiles for gred/statistics/quantiles.py, which has checked and shaped its arguments. */
#include "arrays/numpys.h"

#include "arrays/objects.h"
#include "cpu/host.h"
#include "plan/platform.h"
#include "python/module.h"

#define METHOD(name, alpha, beta, rule) {#name, {alpha, beta, QUANTILE_##rule}},
static const struct {
    const char *name;
    struct quantile_method method;
} methods[] = {QUANTILE_METHODS(METHOD)};
#undef METHOD

static bool method_parse(PyObject *name, struct quantile_method *method)
{
#define NAME(name, ...) ", " #name
    static const char names[] = QUANTILE_METHODS(NAME);
#undef NAME
    for (unsigned k = 0; k < sizeof methods / sizeof *methods; k++)
        if (PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, methods[k].name)) {
            *method = methods[k].method;
            return true;
        }
    return value_error("method must be one of %s; got %.200R", names + strlen(", "), name);
}

bool quantiles_parse(PyObject *tuple, struct quantiles *quantiles)
{
    PyObject *shares, *method;
    int skips_nan, sorted;
    if (!PyArg_ParseTuple(tuple, "OOpp", &shares, &method, &skips_nan, &sorted) ||
        !method_parse(method, &quantiles->method))
        return false;
    PyArrayObject *const array = (PyArrayObject *)shares;
    if (!PyArray_Check(shares) || PyArray_TYPE(array) != NPY_DOUBLE ||
        !PyArray_ISCARRAY_RO(array) || PyArray_NDIM(array) != 1)
        return type_error("shares must be float64 and contiguous");
    quantiles->shares = PyArray_DATA(array);
    quantiles->count = (uint64_t)PyArray_SIZE(array);
    quantiles->skips_nan = skips_nan;
    quantiles->sorted = sorted;
    for (uint64_t k = 0; k < quantiles->count; k++)
        if (!(quantiles->shares[k] >= 0 && quantiles->shares[k] <= 1))
            return value_error("q must be in [0, 1]");
    return true;
}

static bool is_array(PyObject *object, int dimensions)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_Check(object) && PyArray_NDIM(array) == dimensions &&
           PyArray_ISNOTSWAPPED(array);
}

static struct selection describe(PyArrayObject *values, PyArrayObject *out)
{
    const npy_intp *shape = PyArray_DIMS(values), *strides = PyArray_STRIDES(values);
    return (struct selection){.at = PyArray_BYTES(values),
                              .outer = (uint64_t)shape[0],
                              .n = (uint64_t)shape[1],
                              .inner = (uint64_t)shape[2],
                              .outer_stride = strides[0],
                              .stride = strides[1],
                              .inner_stride = strides[2],
                              .out = PyArray_BYTES(out)};
}

/* (values of shape (outer, n, inner), quantiles, out of shape (shares, outer * inner)) */
PyObject *core_select(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *values, *tuple, *out;
    if (!PyArg_ParseTuple(arguments, "OO!O:select", &values, &PyTuple_Type, &tuple, &out))
        return NULL;
    if (!is_array(values, 3) || !is_array(out, 2) || !PyArray_ISCARRAY((PyArrayObject *)out) ||
        PyArray_DIM((PyArrayObject *)values, 1) == 0)
        return type_error("select takes what gred/statistics/quantiles.py gives it");
    struct selection selection = describe((PyArrayObject *)values, (PyArrayObject *)out);
    if (!quantiles_parse(tuple, &selection.of) ||
        !numpy_element_of_descr(PyArray_DESCR((PyArrayObject *)values), "a", &selection.of.input) ||
        !numpy_element_of_descr(PyArray_DESCR((PyArrayObject *)out), "out", &selection.of.out))
        return NULL;
    const struct platform *host = platforms_on(&state->platforms, METHOD_ON_HOST);
    struct job job = host_job(platforms_state(&state->platforms, host));
    bool done;
    Py_BEGIN_ALLOW_THREADS;
    done = selection_run(&job, &selection);
    Py_END_ALLOW_THREADS;
    return done ? Py_NewRef(Py_None)
                : PyErr_Format(PyExc_MemoryError,
                               "out of memory for order statistics of %llu "
                               "elements each",
                               (unsigned long long)selection.n);
}

/* (quantiles, n > 0): (rank below, rank above, part) per share. */
PyObject *core_quantile_places(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *tuple;
    unsigned long long n;
    struct quantiles quantiles;
    if (!PyArg_ParseTuple(arguments, "O!K:quantile_places", &PyTuple_Type, &tuple, &n) ||
        !quantiles_parse(tuple, &quantiles))
        return NULL;
    if (n == 0)
        return value_error("quantiles need at least one number"), NULL;
    PyObject *places = PyList_New(0);
    for (uint64_t k = 0; places && k < quantiles.count; k++) {
        const struct quantile_place place =
            quantile_place(quantiles.method, quantiles.shares[k], n);
        list_append(&places, Py_BuildValue("KKd", (unsigned long long)place.below,
                                           (unsigned long long)place.above, place.part));
    }
    return list_to_tuple(places);
}
