/* Exact sums, as words that gred/exact.py makes objects of; gred.dot, which also adds products as
 * floats. */
#include "arrays/numpys.h"

#include "arrays/objects.h"
#include "common/arithmetic.h"
#include "common/exact.h"
#include "common/exact_sums.h"
#include "cpu/dot.h"
#include "plan/arguments.h"
#include "plan/axes.h"
#include "plan/plan.h"
#include "python/call.h"

/* ---- words ---- */

static_assert(offsetof(struct exact, load) == EXACT_WORDS * sizeof(int64_t), "words come first");

static PyObject *words_of(const struct exact *sum)
{
    return PyBytes_FromStringAndSize((const char *)sum, EXACT_WORDS * sizeof(int64_t));
}

/* False with an exception set. */
static bool read_words(PyObject *object, struct exact *sum)
{
    Py_buffer buffer;
    if (PyObject_GetBuffer(object, &buffer, PyBUF_SIMPLE) < 0)
        return false;
    bool sound = buffer.len == EXACT_WORDS * (Py_ssize_t)sizeof(int64_t);
    exact_clear(sum);
    if (sound)
        memcpy(sum, buffer.buf, (size_t)buffer.len);
    PyBuffer_Release(&buffer);
    for (int k = 0; sound && k < EXACT_DIGITS; k++)
        sound = sum->digits[k] <= EXACT_WORD_MOST && sum->digits[k] >= -EXACT_WORD_MOST;
    return sound || value_error("these are not the words of an exact sum");
}

PyObject *core_exact_normalised(PyObject *Py_UNUSED(module), PyObject *words)
{
    struct exact sum;
    if (!read_words(words, &sum))
        return NULL;
    exact_normalise(&sum);
    const int64_t top = sum.digits[EXACT_DIGITS - 1];
    if (top > EXACT_TOP_MOST || top < -EXACT_TOP_MOST)
        return value_error("these are not the words of an exact sum: it would be greater than any "
                           "sum of 2**63 numbers");
    return words_of(&sum);
}

PyObject *core_exact_rounded(PyObject *Py_UNUSED(module), PyObject *arguments)
{
    PyObject *words, *dtype;
    long long divisor;
    struct exact sum;
    enum element type;
    if (!PyArg_ParseTuple(arguments, "OLO:exact_rounded", &words, &divisor, &dtype) ||
        !read_words(words, &sum) || !numpys_element(dtype, "dtype", &type))
        return NULL;
    if (!exact_has_format(type))
        return type_error("dtype must be float16, bfloat16, float32 or float64; got %s",
                          element_name(type));
    exact_normalise(&sum);
    return numpys_scalar(exact_value(&sum, divisor, type), type);
}

/* ---- sums ---- */

/* Whether elements go to one exact sum. False with an exception set where they are complex. */
static bool has_one_sum(const struct view *view, const char *name)
{
    return !element_is_complex(view->layout.input) ||
           type_error("%s: elements of %s have two sums: add their real and imaginary parts to two "
                      "accumulators",
                      name, element_name(view->layout.input));
}

/* A plan that sums elements of any real type as they are. */
static bool plan_sum(struct module_state *state, struct view *view, struct plan *plan)
{
    OWNED *method = PyUnicode_FromString("exact");
    const struct request request = {.platforms = &state->platforms,
                                    .reduction = REDUCTION_sum,
                                    .method = method,
                                    .dtype = (PyObject *)&PyFloat_Type};
    return method && plan_make(&request, view, NULL, plan);
}

PyObject *core_exact_sum(PyObject *module, PyObject *array)
{
    struct module_state *state = PyModule_GetState(module);
    const struct view_request asked = {.name = "a", .where = &state->platforms.where};
    struct view view;
    struct plan plan;
    struct exact sum;
    struct run run = {.exact = &sum, .frames = 1};
    exact_clear(&sum);
    if (!array_view(array, &asked, &view))
        return NULL;
    const bool ran = has_one_sum(&view, "a") && plan_sum(state, &view, &plan) &&
                     execute_plan(state, &plan, &run);
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

static bool check_shapes(const struct factors *factors, bool as_vectors)
{
    const struct layout *const a = &factors->a.layout, *const b = &factors->b.layout;
    if (a->dimensions == b->dimensions && (!as_vectors || a->dimensions == 1) &&
        memcmp(a->shape, b->shape, a->dimensions * sizeof *a->shape) == 0)
        return true;
    OWNED *of_a = shape_tuple(a->dimensions, a->shape),
          *of_b = shape_tuple(b->dimensions, b->shape);
    return of_a && of_b &&
           value_error("a and b must %s; got shapes %S and %S",
                       as_vectors ? "be vectors of one length" : "have one shape", of_a, of_b);
}

/* Elements become what NumPy would multiply them as, but for integers, which keep all their bits.
 */
static bool find_types(struct factors *factors)
{
    struct layout *const a = &factors->a.layout, *const b = &factors->b.layout;
    if (!numpys_promote(a->input, b->input, &factors->type))
        return false;
    a->type = b->type = factors->type;
    return true;
}

static void factors_release(struct factors *factors)
{
    array_release(&factors->a);
    array_release(&factors->b);
    PyMem_Free(factors);
}

/* Of gred.dot, or of two arrays of one shape, of real numbers; to be released. NULL with an
 * exception set. */
static struct factors *factors_view(const struct request *request, PyObject *a, PyObject *b,
                                    bool of_dot)
{
    struct view_request asked = {
        .name = "a", .where = &request->platforms->where, .consumer = request->consumer};
    struct factors *factors = PyMem_Malloc(sizeof *factors);
    if (!factors) {
        PyErr_NoMemory();
        return NULL;
    }
    view_nothing(&factors->a);
    view_nothing(&factors->b);
    bool made = array_view(a, &asked, &factors->a);
    asked.name = "b";
    made = made && array_view(b, &asked, &factors->b) &&
           (of_dot || (has_one_sum(&factors->a, "a") && has_one_sum(&factors->b, "b"))) &&
           check_shapes(factors, of_dot) && find_types(factors);
    if (made)
        return factors;
    factors_release(factors);
    return NULL;
}

/* The same, all of whose products are one sum. */
static struct factors *factors_make(const struct request *request, PyObject *a, PyObject *b,
                                    bool of_dot, bool exactly)
{
    struct factors *factors = factors_view(request, a, b, of_dot);
    if (!factors)
        return NULL;
    layout_normalise(&factors->a.layout, true);
    layout_normalise(&factors->b.layout, true);
    if (products_plan(request, &factors->a, &factors->b,
                      exactly && !(of_dot && element_is_integer(factors->type)), &factors->plan))
        return factors;
    factors_release(factors);
    return NULL;
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
                        struct exact_sums *sums)
{
    const struct plan *plan = &factors->plan;
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

PyObject *core_exact_products(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    const struct request request = {.platforms = &state->platforms};
    struct exact_sums sums;
    PyObject *a, *b;
    if (!PyArg_ParseTuple(arguments, "OO:exact_products", &a, &b))
        return NULL;
    struct factors *factors = factors_make(&request, a, b, false, true);
    if (!factors)
        return NULL;
    const bool added = add_exactly(state, factors, &sums);
    factors_release(factors);
    return added ? words_of(&sums.parts[EXACT_REAL]) : NULL;
}

/* ---- along axes ---- */

/* Rounded to a float type, or of integers, which wrap around in 64 bits. */
static bool choose_result(struct factors *factors, PyObject *dtype, bool exactly)
{
    struct finish *const finish = &factors->plan.finish;
    const enum element type = factors->type;
    const bool narrow = exact_has_format(type) && element_size(type) <= sizeof(float);
    finish->result = products_type(type);
    if (dtype != Py_None && !numpys_element(dtype, "dtype", &finish->result))
        return false;
    if (dtype != Py_None && !exact_has_format(finish->result))
        return type_error("results are not rounded to %s", element_name(finish->result));
    factors->plan.exact = exactly && !element_is_integer(finish->result);
    factors->plan.accumulator = element_is_integer(finish->result) ? finish->result
                                : narrow                           ? ELEMENT_FLOAT32
                                                                   : ELEMENT_FLOAT64;
    return true;
}

/* A new array, of the axes before the last `along`. */
static PyObject *sum_along(struct module_state *state, struct factors *factors, unsigned along)
{
    struct layout *const a = &factors->a.layout, *const b = &factors->b.layout;
    struct plan *const plan = &factors->plan;
    const unsigned left = a->dimensions - along;
    struct axes axes;
    struct run run;
    a->mask = b->data;
    memcpy(a->mask_strides, b->strides, sizeof a->mask_strides);
    axes_make(a, (((uint64_t)1 << along) - 1) << left, false, &axes);
    plan->axes = &axes;
    plan->n = layout_length(&axes.reduced);
    plan->results.type = plan->finish.result;
    OWNED *results = numpys_new(left, a->shape, &plan->finish.result, &plan->results.at[0]);
    run_begin(&run, 0);
    return results && execute_plan(state, plan, &run) ? Py_NewRef(results) : NULL;
}

PyObject *core_dots(PyObject *module, PyObject *arguments)
{
    struct module_state *state = PyModule_GetState(module);
    const struct request request = {.platforms = &state->platforms};
    unsigned along;
    int exactly;
    PyObject *a, *b, *dtype;
    if (!PyArg_ParseTuple(arguments, "OOIOp:dots", &a, &b, &along, &dtype, &exactly))
        return NULL;
    struct factors *factors = factors_view(&request, a, b, false);
    if (!factors)
        return NULL;
    const bool is_planned =
        products_plan(&request, &factors->a, &factors->b, exactly, &factors->plan) &&
        choose_result(factors, dtype, exactly);
    PyObject *results = NULL;
    if (is_planned && (along > factors->a.layout.dimensions || factors->a.on_device))
        value_error("dots takes what gred/statistics/products.py gives it");
    else if (is_planned)
        results = sum_along(state, factors, along);
    factors_release(factors);
    return results;
}

/* ---- gred.dot ---- */

/* On the host. NULL with an exception set. */
static bool multiply_here(struct module_state *state, const struct factors *factors,
                          struct scalar_wide *value)
{
    const enum element type = products_type(factors->type);
    struct dot *dot = add_all(state, factors, factors->plan.exact);
    if (!dot)
        return false;
    *value = scalar_widen(dot_result(dot, type), type);
    dot_end(dot);
    return true;
}

/* In a scalar, or with out=... in an array, where the factors lie. */
static PyObject *dot_of(struct call *call, const struct factors *factors)
{
    struct plan *const plan = &call->plan;
    *plan = factors->plan;
    plan->finish.result = products_type(factors->type);
    call->view.on_device = factors->a.on_device;
    run_begin(&call->run, 0);
    memset(&call->run.answer, 0, sizeof call->run.answer); /* what there is of no products */
    if (!results_make(call))
        return NULL;
    const bool here = plan->platform->place == METHOD_ON_HOST;
    if ((plan->n > 0 || plan->out.at) &&
        !(here ? multiply_here(call->state, factors, &call->run.answer.values[0])
               : execute_plan(call->state, plan, &call->run)))
        return NULL;
    return call->output.as_array ? results_deliver(call) : answer_to_python(plan, &call->run);
}

static bool parse_method(PyObject *method, bool *exactly)
{
    struct asked_method asked;
    if (!method_parse(method, &asked))
        return false;
    *exactly = asked.exact;
    return (!asked.way && !asked.batch_invariant) ||
           value_error("method of dot must be 'auto' or 'exact'; got %R", method);
}

/* By gred/statistics/products.py. */
static PyObject *dot_along(PyObject *const *slots, bool exactly)
{
    OWNED *module = PyImport_ImportModule("gred.statistics.products");
    return module ? PyObject_CallMethod(module, "dots", "OOOs{sOsO}OOO", slots[A], slots[B],
                                        slots[AXIS], exactly ? "exact" : "auto", "device",
                                        argument_or(slots[DEVICE], Py_None), "stream",
                                        argument_or(slots[STREAM], Py_None), Py_False, Py_None,
                                        argument_or(slots[OUT], Py_None))
                  : NULL;
}

CORE_FUNCTION(dot)
{
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_END];
    struct request request = {.platforms = &state->platforms};
    bool exactly;
    if (!arguments_parse(SIGNATURE_dot, arguments, count, names, slots) ||
        !parse_method(slots[METHOD], &exactly) || !stream_parse(slots[STREAM], &request.consumer))
        return NULL;
    if (argument_given(slots[AXIS]))
        return dot_along(slots, exactly);
    if (argument_given(slots[OUT]) && slots[OUT] != Py_Ellipsis)
        return type_error("out of dot can be ... alone, for a new array without dimensions");
    request.device = slots[DEVICE];
    struct factors *factors = factors_make(&request, slots[A], slots[B], true, exactly);
    struct call *call = factors ? call_begin(state, slots[A]) : NULL;
    PyObject *result = NULL;
    if (call) {
        call->output.as_array = slots[OUT] == Py_Ellipsis;
        result = dot_of(call, factors);
    }
    call_close(call);
    if (factors)
        factors_release(factors);
    return result;
}
