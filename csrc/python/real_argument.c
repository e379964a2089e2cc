#include "python/real_argument.h"

bool is_real_argument(const struct view *view, const char *name)
{
    if (!element_is_complex(view->layout.input))
        return true;
    PyErr_Format(PyExc_TypeError,
                 "%s: elements of %s have two sums: add their real and imaginary parts to two "
                 "accumulators",
                 name, element_name(view->layout.input));
    return false;
}
