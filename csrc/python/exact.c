/* Exact sums, as words that gred/exact.py makes objects of; gred.dot, which also adds products as
 * floats. */
#include "common/exact.h"
#include "arrays/array.h"
#include "arrays/numpys.h"
#include "arrays/objects.h"
#include "arrays/stream.h"
#include "common/arithmetic.h"
#include "common/exact_sums.h"
#include "cpu/dot.h"
#include "plan/arguments.h"
#include "plan/plan.h"
#include "python/arguments.h"
#include "python/execute.h"
#include "python/functions.h"
#include "python/results.h"

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
    return PyErr_Format(PyExc_ValueError, "these are not the words of an exact sum");
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

/* Whether elements go to one exact sum. False with an exception set where they are complex. */
static bool has_one_sum(const struct view *view, const char *name)
{
    if (!element_is_complex(view->layout.input))
        return true;
    return PyErr_Format(
        PyExc_TypeError,
        "%s: elements of %s have two sums: add their real and imaginary parts to two "
        "accumulators",
        name, element_name(view->layout.input));
}

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
    if (has_one_sum(view, name))
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

/* ---- products ---- */

/* Two arrays, what they become and how they are multiplied. On the heap, since arguments' own code
 * may call again. */
struct factors {
    struct view a, b;
    enum element type;
    struct plan plan;
};

static PyObject *shape_of(const struct layout *layout)
{
    return shape_tuple(layout->dimensions, layout->shape);
}

static bool refuse_shapes(const struct factors *factors, const char *wanted)
{
    PyObject *a = shape_of(&factors->a.layout), *b = a ? shape_of(&factors->b.layout) : NULL;
    if (b)
        PyErr_Format(PyExc_ValueError, "a and b must %s; got shapes %S and %S", wanted, a, b);
    Py_XDECREF(a);
    Py_XDECREF(b);
    return false;
}

static bool have_one_shape(const struct layout *a, const struct layout *b)
{
    bool same = a->dimensions == b->dimensions;
    for (unsigned k = 0; same && k < a->dimensions; k++)
        same = a->shape[k] == b->shape[k];
    return same;
}

/* Elements become what NumPy would multiply them as, but for integers, which keep all their bits.
 */
static bool find_types(struct factors *factors)
{
    struct layout *const a = &factors->a.layout, *const b = &factors->b.layout;
    if (!numpys_promote(a->input, b->input, &factors->type))
        return false;
    a->type = b->type = factors->type;
    layout_normalise(a, true);
    layout_normalise(b, true);
    return true;
}

/* To be released in either case. False with an exception set. */
static bool view_factors(const struct request *request, PyObject *a, PyObject *b,
                         struct factors *factors)
{
    struct view_request asked = {
        .name = "a", .where = &request->platforms->where, .consumer = request->consumer};
    if (!array_view(a, &asked, &factors->a))
        return false;
    asked.name = "b";
    return array_view(b, &asked, &factors->b);
}

static void release(struct factors *factors)
{
    array_release(&factors->a);
    array_release(&factors->b);
    PyMem_Free(factors);
}

static struct factors *new_factors(void)
{
    struct factors *factors = PyMem_Calloc(1, sizeof *factors);
    if (!factors)
        PyErr_NoMemory();
    return factors;
}

/* ---- adding ---- */

/* Signals are heard between two stretches. NULL with an exception set. */
static struct dot *add_all(const struct module_state *state, const struct factors *factors,
                           bool exactly)
{
    enum { STRETCH = 1024 * DOT_PIECE };
    const struct pairs pairs = {&factors->a.layout, &factors->b.layout, factors->a.n};
    const struct platform *host = platforms_on(&state->platforms, METHOD_ON_HOST);
    struct dot *dot = dot_begin(platforms_state(&state->platforms, host), &pairs, exactly);
    if (!dot) {
        PyErr_NoMemory();
        return NULL;
    }
    for (uint64_t start = 0; start < pairs.n; start += STRETCH) {
        Py_BEGIN_ALLOW_THREADS;
        dot_add(dot, start, least(pairs.n - start, STRETCH));
        Py_END_ALLOW_THREADS;
        if (PyErr_CheckSignals() < 0) {
            dot_end(dot);
            return NULL;
        }
    }
    return dot;
}

/* The same where the plan says. */
static bool add_exactly(struct module_state *state, const struct factors *factors,
                        const struct plan *plan, struct exact_sums *sums)
{
    exact_sums_clear(sums);
    if (plan->n == 0)
        return true;
    if (plan->platform->place != METHOD_ON_HOST) {
        struct run run = {.exact = &sums->parts[EXACT_REAL], .frames = 1};
        return execute_plan(state, plan, &run);
    }
    struct dot *dot = add_all(state, factors, true);
    if (dot)
        dot_sums(dot, sums);
    dot_end(dot);
    return dot;
}

PyObject *exact_products(PyObject *module, PyObject *const *arguments, Py_ssize_t count)
{
    struct module_state *state = PyModule_GetState(module);
    struct exact_sums sums;
    if (count != 2)
        return PyErr_Format(PyExc_TypeError, "exact_products() takes 2 arguments; got %zd", count);
    const struct request request = {.platforms = &state->platforms};
    struct factors *factors = new_factors();
    if (!factors)
        return NULL;
    const bool added = view_factors(&request, arguments[0], arguments[1], factors) &&
                       has_one_sum(&factors->a, "a") && has_one_sum(&factors->b, "b") &&
                       (have_one_shape(&factors->a.layout, &factors->b.layout) ||
                        refuse_shapes(factors, "have one shape")) &&
                       find_types(factors) &&
                       products_plan(&request, &factors->a, &factors->b, true, &factors->plan) &&
                       add_exactly(state, factors, &factors->plan, &sums);
    release(factors);
    return added ? words_of(&sums.parts[EXACT_REAL]) : NULL;
}

/* ---- gred.dot ---- */

/* Rounded once, each part of it. */
static struct scalar_wide rounded(const struct exact_sums *sums, enum element type)
{
    const enum element part = element_real_part(type);
    double values[EXACT_PARTS];
    for (int k = 0; k < EXACT_PARTS; k++)
        values[k] = scalar_widen(exact_value(&sums->parts[k], 1, part), part).real;
    return (struct scalar_wide){SCALAR_FLOAT, 0, values[EXACT_REAL], values[EXACT_IMAGINARY]};
}

static PyObject *dot_on_host(const struct module_state *state, const struct factors *factors,
                             bool exactly)
{
    const enum element type = products_type(factors->type);
    struct dot *dot = add_all(state, factors, exactly);
    if (!dot)
        return NULL;
    struct exact_sums sums;
    if (exactly)
        dot_sums(dot, &sums);
    const struct scalar_wide value = exactly ? rounded(&sums, type) : dot_value(dot);
    dot_end(dot);
    return numpys_scalar(scalar_narrow(value, type), type);
}

static PyObject *dot_of(struct module_state *state, const struct factors *factors,
                        const struct plan *plan)
{
    struct run run;
    if (plan->n == 0) {
        union scalar nothing;
        memset(&nothing, 0, sizeof nothing);
        return numpys_scalar(nothing, products_type(factors->type));
    }
    if (plan->platform->place == METHOD_ON_HOST)
        return dot_on_host(state, factors, plan->exact);
    run_begin(&run, 0);
    return execute_plan(state, plan, &run) ? answer_to_python(plan, &run) : NULL;
}

static bool parse_method(PyObject *method, bool *exactly)
{
    const struct method *rung;
    if (!method_parse(method, &rung, exactly))
        return false;
    if (rung)
        PyErr_Format(PyExc_ValueError, "method of dot must be 'auto' or 'exact'; got '%s'",
                     rung->name);
    return !rung;
}

static bool are_vectors(const struct factors *factors)
{
    const struct layout *const a = &factors->a.layout, *const b = &factors->b.layout;
    return (a->dimensions == 1 && have_one_shape(a, b)) ||
           refuse_shapes(factors, "be vectors of one length");
}

PyObject *dot_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count, PyObject *names)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    struct request request = {.platforms = &state->platforms};
    struct factors *factors;
    bool exactly;
    if (!arguments_parse(signature_at(SIGNATURE_dot), arguments, count, names, slots) ||
        !parse_method(slots[METHOD], &exactly) || !stream_parse(slots[STREAM], &request.consumer))
        return NULL;
    if (!(factors = new_factors()))
        return NULL;
    request.device = slots[DEVICE];
    PyObject *result = NULL;
    if (view_factors(&request, slots[A], slots[B], factors) && are_vectors(factors) &&
        find_types(factors) &&
        products_plan(&request, &factors->a, &factors->b,
                      exactly && !element_is_integer(factors->type), &factors->plan))
        result = dot_of(state, factors, &factors->plan);
    release(factors);
    return result;
}
