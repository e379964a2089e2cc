/* Exact sums, as words that gred/exact/ makes objects of, and gred.dot, which also adds products in
 * floating point. */
#include "arrays/numpys.h"

#include "arrays/objects.h"
#include "common/exact.h"
#include "common/exact_sums.h"
#include "plan/arguments.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "python/call.h"

/* ---- words ---- */

static_assert(offsetof(struct exact, load) == EXACT_WORDS * sizeof(int64_t), "words come first");

static PyObject *words_to_bytes(const struct exact *sum)
{
    return PyBytes_FromStringAndSize((const char *)sum, EXACT_WORDS * sizeof(int64_t));
}

/* False with an exception set. */
static bool read_words(PyObject *object, struct exact *sum)
{
    CLEANUP(PyBuffer_Release) Py_buffer buffer = {0};
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0)
        return false;
    bool valid = buffer.len == EXACT_WORDS * (Py_ssize_t)sizeof(int64_t);
    memset(sum, 0, sizeof *sum);
    if (valid)
        memcpy(sum, buffer.buf, (size_t)buffer.len);
    for (int k = 0; valid && k < EXACT_DIGITS; k++)
        valid = sum->digits[k] <= EXACT_WORD_MAX && sum->digits[k] >= -EXACT_WORD_MAX;
    return valid || value_error("these are not the words of an exact sum");
}

PyObject *core_exact_normalised(PyObject *Py_UNUSED(module), PyObject *words)
{
    struct exact sum;
    if (!read_words(words, &sum))
        return NULL;
    exact_normalise(&sum);
    const int64_t top = sum.digits[EXACT_DIGITS - 1];
    if (top > EXACT_TOP_MAX || top < -EXACT_TOP_MAX)
        return value_error("these are not the words of an exact sum: it would be greater than any "
                           "sum of 2**63 numbers");
    return words_to_bytes(&sum);
}

PyObject *core_exact_rounded(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *words, *dtype;
    long long divisor;
    struct exact sum;
    enum element type;
    if (!PyArg_ParseTuple(arguments, "OLO:exact_rounded", &words, &divisor, &dtype) ||
        !read_words(words, &sum) || !numpy_element_of_dtype(dtype, "dtype", &type))
        return NULL;
    if (!exact_has_format(type))
        return type_error("dtype must be float16, bfloat16, float32 or float64; got %s",
                          element_name(type));
    return numpy_scalar(exact_value(&sum, divisor, type), type);
}

/* ---- sums ---- */

/* Whether elements have a single exact sum. False with an exception set if they are complex. */
static bool check_real(const struct view *view, const char *name)
{
    return !element_is_complex(view->layout.input) ||
           type_error("%s: elements of %s have two sums: add their real and imaginary parts to two "
                      "accumulators",
                      name, element_name(view->layout.input));
}

/* Runs a plan whose sum is not rounded. */
static bool run_exact(struct call *call, struct exact *sum)
{
    memset(sum, 0, sizeof *sum);
    call->run.exact = sum;
    return call->plan.n == 0 || execute_plan(call->state, &call->plan, &call->run);
}

/* Sums elements of any real type without rounding them. */
PyObject *core_exact_sum(PyObject *module, PyObject *array)
{
    struct module_state *state = PyModule_GetState(module);
    struct exact sum;
    OWNED *method = PyUnicode_FromString("exact");
    PyObject *slots[ARGUMENTS_END] = {
        [A] = array, [METHOD] = method, [DTYPE] = (PyObject *)&PyFloat_Type};
    SCOPED_CALL *call = method ? call_begin(state, REDUCTION_sum, 1, slots) : NULL;
    if (!call || !call_view(call, "a", false, slots) || !check_real(&call->view, "a") ||
        !plan_make(&call->request, &call->view, NULL, &call->plan))
        return NULL;
    return run_exact(call, &sum) ? words_to_bytes(&sum) : NULL;
}

/* ---- products of a call's view and its `offsets` ---- */

static bool check_shapes(const struct call *call, bool as_vectors)
{
    const struct layout *const a = &call->view.layout, *const b = &call->segmented.offsets.layout;
    if (a->dimensions == b->dimensions && (!as_vectors || a->dimensions == 1) &&
        memcmp(a->shape, b->shape, a->dimensions * sizeof *a->shape) == 0)
        return true;
    OWNED *of_a = shape_tuple(a->dimensions, a->shape),
          *of_b = shape_tuple(b->dimensions, b->shape);
    return of_a && of_b &&
           value_error("a and b must %s; got shapes %S and %S",
                       as_vectors ? "be vectors of one length" : "have one shape", of_a, of_b);
}

/* Views the arrays of gred.dot, or two real arrays of one shape. Elements are converted to the type
 * in which NumPy multiplies them, but integers keep all their bits. NULL with an exception set. */
static struct call *view_factors(struct module_state *state, PyObject *const *slots, bool of_dot)
{
    struct call *call = call_begin(state, REDUCTION_sum, !of_dot, slots);
    if (!call)
        return NULL;
    struct view *const a = &call->view, *const b = &call->segmented.offsets;
    bool viewed = call_view(call, "a", false, slots);
    call->view_request.name = "b";
    viewed = viewed && array_view(slots[B], &call->view_request, b) &&
             (of_dot || (check_real(a, "a") && check_real(b, "b"))) && check_shapes(call, of_dot) &&
             numpy_promote(a->layout.input, b->layout.input, &a->layout.type);
    b->layout.type = a->layout.type;
    if (!viewed)
        call_close(&call);
    return call;
}

/* Plans a single sum of all products. */
static bool plan_products(struct call *call, bool exactly)
{
    layout_normalise(&call->view.layout, true);
    layout_normalise(&call->segmented.offsets.layout, true);
    return products_plan(&call->request, &call->view, &call->segmented.offsets, exactly,
                         &call->plan);
}

PyObject *core_exact_products(PyObject *module, PyObject *arguments)
{
    struct exact sum;
    PyObject *slots[ARGUMENTS_END] = {NULL};
    if (!PyArg_ParseTuple(arguments, "OO:exact_products", &slots[A], &slots[B]))
        return NULL;
    SCOPED_CALL *call = view_factors(PyModule_GetState(module), slots, false);
    return call && plan_products(call, true) && run_exact(call, &sum) ? words_to_bytes(&sum) : NULL;
}

/* ---- along axes ---- */

/* Results are rounded to a float type, or are 64-bit integers that wrap around. */
static bool choose_result(enum element type, PyObject *dtype, bool exactly, struct plan *plan)
{
    enum element *const result = &plan->finish.result;
    const bool narrow = exact_has_format(type) && element_size(type) <= sizeof(float);
    *result = sum_type(type);
    if (dtype != Py_None && !numpy_element_of_dtype(dtype, "dtype", result))
        return false;
    if (dtype != Py_None && !exact_has_format(*result))
        return type_error("results cannot be rounded to %s", element_name(*result));
    plan->exact = exactly && !element_is_integer(*result);
    plan->accumulator = element_is_integer(*result) ? *result
                        : narrow                    ? ELEMENT_FLOAT32
                                                    : ELEMENT_FLOAT64;
    return true;
}

/* Sums along the last `along` axes into a new array. */
static PyObject *sum_along(struct call *call, unsigned along)
{
    struct layout *const a = &call->view.layout, *const b = &call->segmented.offsets.layout;
    struct plan *const plan = &call->plan;
    const unsigned left = a->dimensions - along;
    a->mask = b->data;
    memcpy(a->mask_strides, b->strides, sizeof a->mask_strides);
    axes_make(a, (((uint64_t)1 << along) - 1) << left, false, NULL, &call->axes);
    plan->axes = &call->axes;
    plan->n = layout_length(&call->axes.reduced);
    plan->results.type = plan->finish.result;
    OWNED *results = numpy_empty(left, a->shape, &plan->finish.result, &plan->results.at[0]);
    return results && execute_plan(call->state, plan, &call->run) ? Py_NewRef(results) : NULL;
}

PyObject *core_dots(PyObject *module, PyObject *arguments)
{
    unsigned along;
    int exactly;
    PyObject *dtype, *slots[ARGUMENTS_END] = {NULL};
    if (!PyArg_ParseTuple(arguments, "OOIOp:dots", &slots[A], &slots[B], &along, &dtype, &exactly))
        return NULL;
    SCOPED_CALL *call = view_factors(PyModule_GetState(module), slots, false);
    if (!call ||
        !products_plan(&call->request, &call->view, &call->segmented.offsets, exactly,
                       &call->plan) ||
        !choose_result(call->view.layout.type, dtype, exactly, &call->plan))
        return NULL;
    if (along > call->view.layout.dimensions || call->view.on_device)
        return value_error("dots takes what gred/statistics/products.py gives it");
    return sum_along(call, along);
}

/* ---- gred.dot ---- */

static bool parse_method(PyObject *method, bool *exactly)
{
    struct method_argument parsed;
    if (!method_parse(method, &parsed))
        return false;
    *exactly = parsed.exact;
    return (!parsed.named && !parsed.batch_invariant) ||
           value_error("method of dot must be 'auto' or 'exact'; got %.200R", method);
}

/* Calls gred/statistics/products.py. */
static PyObject *dot_along(PyObject *const *slots, bool exactly)
{
    return python_call(
        "gred.statistics.products", "dots", "(OOOs{sOsO}OOO)", slots[A], slots[B], slots[AXIS],
        exactly ? "exact" : "auto", "device", argument_or(slots[DEVICE], Py_None), "stream",
        argument_or(slots[STREAM], Py_None), Py_False, Py_None, argument_or(slots[OUT], Py_None));
}

SLOTS_FUNCTION(dot)
{
    struct stream consumer;
    bool exactly;
    if (!parse_method(slots[METHOD], &exactly) || !stream_parse(slots[STREAM], &consumer))
        return NULL;
    if (argument_given(slots[AXIS]))
        return dot_along(slots, exactly);
    if (argument_given(slots[OUT]) && slots[OUT] != Py_Ellipsis)
        return type_error("out of dot must be ..., for a new array of zero dimensions");
    SCOPED_CALL *call = view_factors(state, slots, true);
    if (!call)
        return NULL;
    const bool as_integers = element_is_integer(call->view.layout.type);
    return plan_products(call, exactly && !as_integers) ? call_run(call) : NULL;
}
