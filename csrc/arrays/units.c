#include "arrays/units.h"

#include "arrays/class.h"
#include "arrays/name.h"

/* What the types of quantities call the unit, and the numbers alone. Made at import, constant from
 * then on. */
enum { WORDS = 2 };

static struct {
    PyObject *units[WORDS], *numbers[WORDS];
} names;

int units_setup(void)
{
    return name_intern(&names.units[0], "units") && name_intern(&names.units[1], "unit") &&
                   name_intern(&names.numbers[0], "magnitude") &&
                   name_intern(&names.numbers[1], "value")
               ? 0
               : -1;
}

/* Only what a class has is meant: an instance may have anything of any name, such as columns. */
static bool class_has(PyTypeObject *type, PyObject *name)
{
    PyObject *classes = Py_XNewRef(type->tp_mro);
    const Py_ssize_t count = classes ? PyTuple_GET_SIZE(classes) : 0;
    bool has = false;
    for (Py_ssize_t k = 0; k < count && !has; k++) {
        PyObject *own = class_own_attribute(PyTuple_GET_ITEM(classes, k), name);
        has = own;
        Py_XDECREF(own);
    }
    Py_XDECREF(classes);
    return has;
}

static PyObject *first_that_it_has(PyTypeObject *type, PyObject *const *words)
{
    for (int k = 0; k < WORDS; k++)
        if (class_has(type, words[k]))
            return words[k];
    return NULL;
}

bool units_none(PyObject *object, const char *name)
{
    PyTypeObject *type = Py_TYPE(object);
    PyObject *unit = first_that_it_has(type, names.units);
    PyObject *number = unit ? first_that_it_has(type, names.numbers) : NULL;
    if (number)
        PyErr_Format(PyExc_TypeError,
                     "%s: a %.200s has a unit, which would be lost; give its numbers alone, %s.%U, "
                     "and the result the unit that follows from %s.%U",
                     name, type->tp_name, name, number, name, unit);
    return !number;
}
