/* Elements of given ranks, for gred/statistics/quantiles.py, which has checked and shaped
 * everything. */
#include "arrays/numpys.h"

#include "arrays/objects.h"
#include "cpu/selection.h"
#include "plan/platform.h"
#include "python/module.h"

/* An array of so many dimensions, of int64 unless `type` is NULL. */
static bool is_array(PyObject *object, int dimensions, bool of_ranks)
{
    PyArrayObject *array = (PyArrayObject *)object;
    return PyArray_Check(object) && PyArray_NDIM(array) == dimensions &&
           (of_ranks ? PyArray_TYPE(array) == NPY_INT64 && PyArray_ISCARRAY_RO(array)
                     : PyArray_ISNOTSWAPPED(array));
}

static struct selection describe(PyArrayObject *values, PyArrayObject *ranks, PyArrayObject *out,
                                 PyArrayObject *nans)
{
    const npy_intp *shape = PyArray_DIMS(values), *strides = PyArray_STRIDES(values);
    const bool same = PyArray_DIM(ranks, 1) == 1;
    return (struct selection){.at = PyArray_BYTES(values),
                              .outer = (uint64_t)shape[0],
                              .n = (uint64_t)shape[1],
                              .inner = (uint64_t)shape[2],
                              .outer_stride = strides[0],
                              .stride = strides[1],
                              .inner_stride = strides[2],
                              .ranks = PyArray_DATA(ranks),
                              .count = (uint64_t)PyArray_DIM(ranks, 0),
                              .rank_pitch = PyArray_DIM(ranks, 1),
                              .rank_step = !same,
                              .out = PyArray_BYTES(out),
                              .nans = PyArray_DATA(nans)};
}

PyObject *core_select(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *values, *ranks, *out, *nans;
    if (!PyArg_ParseTuple(arguments, "OOOO:select", &values, &ranks, &out, &nans))
        return NULL;
    if (!is_array(values, 3, false) || !is_array(ranks, 2, true) || !is_array(out, 2, false) ||
        !is_array(nans, 1, true) || !PyArray_ISCARRAY((PyArrayObject *)out) ||
        PyArray_DESCR((PyArrayObject *)out)->type_num !=
            PyArray_DESCR((PyArrayObject *)values)->type_num)
        return type_error("select takes what gred/statistics/quantiles.py gives it");
    struct selection selection = describe((PyArrayObject *)values, (PyArrayObject *)ranks,
                                          (PyArrayObject *)out, (PyArrayObject *)nans);
    if (!numpys_element_of(PyArray_DESCR((PyArrayObject *)values), "a", &selection.type))
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
