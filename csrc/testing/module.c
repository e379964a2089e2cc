/* The extension module gred._testing, for gred's own tests: how work is shared among threads,
 * forced, or chosen for arrays and devices that are not there. Structs go in and out as dicts; what
 * a caller leaves out is 0. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "testing/functions.h"

const struct hooks *hooks;

#define NAMED(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"force", testing_force, METH_VARARGS,
     "Forces how work is shared; as measured again, if by nothing."},
    {"axes", NAMED(testing_axes), "The normal form of axes."},
    {"columns", NAMED(testing_columns), "How threads share a reduction along axes."},
    {"long_rows", NAMED(testing_long_rows), "How threads share long rows."},
    {"short_rows", NAMED(testing_short_rows), "How threads share short rows."},
    {"segments", testing_segments, METH_VARARGS, "How threads share a reduction of segments."},
    {"schedule", NAMED(testing_schedule), "The schedule of a whole array's reduction."},
    {NULL, NULL, 0, NULL},
};

static int setup(PyObject *Py_UNUSED(module))
{
    hooks = PyCapsule_Import(HOOKS_NAME, 0);
    return hooks ? 0 : -1;
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
    .m_name = "gred._testing",
    .m_doc = "What gred's own tests ask of gred._core.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__testing(void)
{
    return PyModuleDef_Init(&definition);
}
