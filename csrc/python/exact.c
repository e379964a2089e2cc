#include "python/exact.h"

#include "arrays/array.h"
#include "arrays/numpys.h"
#include "common/exact_rounding.h"
#include "plan/plan.h"
#include "python/dot.h"
#include "python/execute.h"
#include "python/real_argument.h"

#include <string.h>

/* ---- words ---- */

static PyObject *words_of(const struct exact *sum)
{
    int64_t words[EXACT_WORDS];
    memcpy(words, sum->counts, sizeof sum->counts);
    memcpy(words + EXACT_COUNTS, sum->digits, sizeof sum->digits);
    return PyBytes_FromStringAndSize((const char *)words, sizeof words);
}

static bool is_sound(const struct exact *sum)
{
    for (int k = 0; k < EXACT_DIGITS; k++)
        if (sum->digits[k] > EXACT_WORD_MOST || sum->digits[k] < -EXACT_WORD_MOST)
            return false;
    return true;
}

/* False with an exception set. */
static bool read_words(PyObject *object, struct exact *sum)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0)
        return false;
    const bool whole = buffer.len == EXACT_WORDS * (Py_ssize_t)sizeof(int64_t);
    if (whole) {
        memcpy(sum->counts, buffer.buf, sizeof sum->counts);
        memcpy(sum->digits, (const char *)buffer.buf + sizeof sum->counts, sizeof sum->digits);
    }
    PyBuffer_Release(&buffer);
    if (whole && is_sound(sum))
        return true;
    PyErr_SetString(PyExc_ValueError, "these are not the words of an exact sum");
    return false;
}

PyObject *exact_normalised(PyObject *Py_UNUSED(module), PyObject *words)
{
    struct exact sum;
    if (!read_words(words, &sum))
        return NULL;
    exact_normalise(&sum);
    const int64_t top = sum.digits[EXACT_DIGITS - 1];
    if (top > EXACT_TOP_MOST || top < -EXACT_TOP_MOST)
        return PyErr_Format(PyExc_ValueError,
                            "these are not the words of an exact sum: it would be greater than "
                            "any sum of 2**63 numbers");
    return words_of(&sum);
}

PyObject *exact_rounded(PyObject *Py_UNUSED(module), PyObject *const *arguments, Py_ssize_t count)
{
    struct exact sum;
    enum element type;
    if (count != 3)
        return PyErr_Format(PyExc_TypeError, "exact_rounded() takes 3 arguments; got %zd", count);
    if (!read_words(arguments[0], &sum) || !numpys_element(arguments[2], "dtype", &type))
        return NULL;
    const long long divisor = PyLong_AsLongLong(arguments[1]);
    if (divisor == -1 && PyErr_Occurred())
        return NULL;
    if (!exact_has_format(type))
        return PyErr_Format(PyExc_TypeError,
                            "dtype must be float16, bfloat16, float32 or float64; got %s",
                            element_name(type));
    exact_normalise(&sum);
    return numpys_scalar(exact_value(&sum, divisor, type), type);
}

/* ---- sums ---- */

/* A plan that sums elements of any real type as they are. */
static bool plan_sum(struct module_state *state, struct view *view, struct plan *plan)
{
    PyObject *method = PyUnicode_FromString("exact");
    const struct request request = {.platforms = &state->platforms,
                                    .reduction = REDUCTION_sum,
                                    .method = method,
                                    .dtype = (PyObject *)&PyFloat_Type};
    const bool planned = method && plan_make(&request, view, NULL, plan);
    Py_XDECREF(method);
    return planned;
}

static bool view_reals(struct module_state *state, PyObject *array, const char *name,
                       struct view *view)
{
    const struct view_request asked = {.name = name, .where = &state->platforms.where};
    if (!array_view(array, &asked, view))
        return false;
    if (is_real_argument(view, name))
        return true;
    array_release(view);
    return false;
}

PyObject *exact_sum(PyObject *module, PyObject *array)
{
    struct module_state *state = PyModule_GetState(module);
    struct view view = {0};
    struct plan plan;
    struct exact sum;
    struct run run = {.exact = &sum, .frames = 1};
    exact_clear(&sum);
    if (!view_reals(state, array, "a", &view))
        return NULL;
    const bool ran = plan_sum(state, &view, &plan) && execute_plan(state, &plan, &run);
    array_release(&view);
    return ran ? words_of(&sum) : NULL;
}

/* ---- sums of products ---- */

PyObject *exact_products(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    struct exact_sums sums;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "exact_products() takes 2 arguments; got %zd", count);
    return dot_exactly(PyModule_GetState(module), arguments[0], arguments[1], &sums)
               ? words_of(&sums.parts[EXACT_REAL])
               : NULL;
}
