/* The extension module gred._testing, for gred's own tests: forces how work is shared among
 * threads, or chooses it for nonexistent arrays and devices. Missing arguments are 0. */
#include "testing/testing.h"

#include <string.h>

const struct hooks *hooks;

PyObject *fields_dict(PyMemberDef *fields, const void *self)
{
    PyObject *dict = PyDict_New();
    for (; dict && fields->name; fields++) {
        PyObject *value = PyMember_GetOne(self, fields);
        if (!value || PyDict_SetItemString(dict, fields->name, value) < 0)
            Py_CLEAR(dict);
        Py_XDECREF(value);
    }
    return dict;
}

bool fields_read(PyMemberDef *fields, PyObject *dict, void *self)
{
    Py_ssize_t found = 0;
    for (; fields->name; fields++) {
        PyObject *value = PyDict_GetItemString(dict, fields->name);
        if (value && PyMember_SetOne(self, fields, value) < 0)
            return false;
        found += value != NULL;
    }
    return found == PyDict_GET_SIZE(dict) || type_error("some of %R are not fields", dict);
}

/* ---- forced tuning ---- */

static struct tuning forced;

#define FAMILY(name) #name, offsetof(struct tuning, name), sizeof forced.name

/* clang-format off */
static struct family {
    const char *name;
    size_t at, bytes; /* in a struct tuning */
    PyMemberDef fields[20];
} families[] = {
    {FAMILY(shape), {FIELD(plan_launch, block), FIELD(plan_launch, data_blocks)}},
    {FAMILY(axes), {
#define AXES(member, value, entry) FIELD(axes_tuning, member),
#include "schedule/tuning.def"
    }},
    {FAMILY(long_rows), {
#define LONG_ROWS(member, value, entry) FIELD(long_rows_tuning, member),
#include "schedule/tuning.def"
    }},
    {FAMILY(short_rows), {
#define SHORT_ROWS(member, value, entry) FIELD(short_rows_tuning, member),
#include "schedule/tuning.def"
    }},
    {FAMILY(segments), {
#define SEGMENTS(member, value, entry) FIELD(segments_tuning, member),
#include "schedule/tuning.def"
    }},
};
/* clang-format on */

/* force(family, fields, keep=False): back to the measured tuning if there are no fields; others are
 * zero unless `keep` keeps them as measured. */
static PyObject *force(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    const char *name;
    PyObject *fields;
    int keep = false;
    if (!PyArg_ParseTuple(arguments, "sO!|p:force", &name, &PyDict_Type, &fields, &keep))
        return NULL;
    if (*hooks->tuned != &forced)
        forced = *hooks->measured;
    *hooks->tuned = &forced;
    for (size_t k = 0; k < sizeof families / sizeof *families; k++) {
        struct family *family = &families[k];
        char *const section = (char *)&forced + family->at;
        if (strcmp(family->name, name) != 0)
            continue;
        memcpy(section, (const char *)hooks->measured + family->at, family->bytes);
        if (PyDict_GET_SIZE(fields) > 0 && !keep)
            memset(section, 0, family->bytes);
        return fields_read(family->fields, fields, section) ? Py_NewRef(Py_None) : NULL;
    }
    return value_error("there is no %s to force", name);
}

/* ---- the module ---- */

#define NAMED(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS

static PyMethodDef functions[] = {
    {"force", force, METH_VARARGS,
     "Override the launch tuning; without arguments restore the measured one."},
    {"axes", NAMED(testing_axes), "The canonical form of axes."},
    {"launch", NAMED(testing_launch), "The launch configuration of a reduction along axes."},
    {"segments", testing_segments, METH_VARARGS,
     "The launch configuration of a segmented reduction."},
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
    .m_doc = "Hooks into gred._core for gred's own tests.",
    .m_methods = functions,
    .m_slots = slots,
};

PyMODINIT_FUNC PyInit__testing(void)
{
    return PyModuleDef_Init(&definition);
}
