#include "python/dot.h"

#include "arrays/array.h"
#include "arrays/numpys.h"
#include "arrays/shape.h"
#include "arrays/stream.h"
#include "common/arithmetic.h"
#include "cpu/dot.h"
#include "plan/method_argument.h"
#include "plan/products.h"
#include "python/answer.h"
#include "python/arguments.h"
#include "python/execute.h"
#include "python/real_argument.h"

/* Two arrays, what they become and how they are multiplied. On the heap, since arguments' own code
 * may call again. */
struct factors {
    struct view a, b;
    enum element type;
    struct plan plan;
};

/* ---- what is multiplied ---- */

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

bool dot_exactly(struct module_state *state, PyObject *a, PyObject *b, struct exact_sums *sums)
{
    const struct request request = {.platforms = &state->platforms};
    struct factors *factors = new_factors();
    if (!factors)
        return false;
    const bool added = view_factors(&request, a, b, factors) &&
                       is_real_argument(&factors->a, "a") && is_real_argument(&factors->b, "b") &&
                       (have_one_shape(&factors->a.layout, &factors->b.layout) ||
                        refuse_shapes(factors, "have one shape")) &&
                       find_types(factors) &&
                       products_plan(&request, &factors->a, &factors->b, true, &factors->plan) &&
                       add_exactly(state, factors, &factors->plan, sums);
    release(factors);
    return added;
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
    enum { A, B, METHOD, DEVICE, STREAM };
    static const char *const keywords[] = {"a", "b", "method", "device", "stream", NULL};
    static const struct signature signature = {"dot", 2, 2, 0, keywords, NULL};
    struct module_state *state = PyModule_GetState(module);
    PyObject *slots[ARGUMENTS_MAX];
    struct request request = {.platforms = &state->platforms};
    struct factors *factors;
    bool exactly;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
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
