#include "python/explain.h"

#include "arrays/mask.h"
#include "arrays/output.h"
#include "python/along_tuple.h"
#include "python/arguments.h"
#include "python/array_results.h"
#include "python/execute.h"
#include "python/nan_argument.h"
#include "python/reduction_argument.h"
#include "python/schedule_tuple.h"
#include "python/several.h"
#include "run/explanation.h"

/* It is called by gred/explanation.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

/* What is asked about, what keeps it alive, and the answer. On the heap, since arguments' own code
 * may ask again. */
struct question {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
    struct axes axes;
    struct array_results results; /* which are never made */
    struct plan plan;
    struct explanation explanation;
    struct run run;
};

enum { A, OP, AXIS, KEEPDIMS, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT, INITIAL };

/* False with an exception set; what was viewed is to be released in either case. */
static bool view_arguments(struct question *self, PyObject *const *slots)
{
    const struct where *where = &self->state->platforms.where;
    const struct view_request asked = {.name = "a", .where = where};
    if (!output_view(slots[OUT], &asked, &self->output))
        return false;
    self->request.out = self->output.object ? &self->output : NULL;
    if (!array_view(slots[A], &asked, &self->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && self->view.on_device && !where->locate(where, &self->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &self->view, &self->mask) &&
           nan_left_out(&self->request, slots[A], slots[WHERE], &asked, &self->view, &self->mask) &&
           array_results_choose(&self->results, &self->request, slots[AXIS], slots[KEEPDIMS],
                                &self->axes);
}

/* Why the plan runs where it does. */
static const char *why_there(const struct question *self, const struct plan *plan)
{
    const PyObject *device = self->request.device;
    if (self->view.on_device && (self->view.n || plan->axes))
        return "array";
    if (plan->out || self->output.view.on_device)
        return "out";
    if (device && device != Py_None)
        return "device";
    return plan->method ? "method" : "default";
}

static PyObject *loops_tuple(const struct loops *loops)
{
    return Py_BuildValue("zzKIzK", loops->results, loops->way, (unsigned long long)loops->chunk,
                         loops->threads, loops->instructions, (unsigned long long)loops->copied);
}

static PyObject *how_tuple(const struct explanation *explanation, const struct plan *plan)
{
    switch (explanation->by) {
    case EXPLAINED_SCHEDULE:
        return schedule_tuple(&explanation->schedule);
    case EXPLAINED_ALONG:
        return along_tuple(&explanation->along, plan);
    default:
        return loops_tuple(&explanation->loops);
    }
}

static PyObject *answer(const struct question *self)
{
    const struct plan *const plan = &self->plan;
    const struct explanation *const explanation = &self->explanation;
    const struct plan *run = explanation->by == EXPLAINED_SCHEDULE ? &explanation->plan : plan;
    const bool named = run->method && (explanation->by == EXPLAINED_SCHEDULE || !plan->axes);
    const char *method = plan->exact ? "exact" : named ? run->method->name : "auto";
    const unsigned long long results = plan->axes ? plan->axes->results : 1;
    return Py_BuildValue("sNssIsKsKKN", reduction_row(self->request.reduction)->name,
                         platform_name(plan->platform, plan->device), why_there(self, plan), method,
                         named ? run->block : 0, element_name(plan->layout->input),
                         (unsigned long long)plan->n * results, element_name(plan->accumulator),
                         results,
                         explanation->at_once ? (unsigned long long)explanation->at_once : results,
                         how_tuple(explanation, plan));
}

/* What there is to reduce, and results for it, is a backend's to explain. */
static bool explain_plan(struct question *self)
{
    const struct plan *plan = &self->plan;
    if (plan->axes)
        array_results_describe(&self->results, &self->plan);
    return (plan->axes && plan->axes->results == 0) || execute_plan(self->state, plan, &self->run);
}

static PyObject *explain(struct question *self, PyObject *const *slots)
{
    const bool explained =
        reduction_parse(slots[OP], &self->request.reduction) && view_arguments(self, slots) &&
        plan_make(&self->request, &self->view, &self->mask, &self->plan) && explain_plan(self);
    PyObject *result = explained ? answer(self) : NULL;
    array_release(&self->view);
    mask_release(&self->mask);
    output_release(&self->output);
    return result;
}

static struct question *new_question(struct module_state *state, PyObject *const *slots)
{
    struct question *self = PyMem_Calloc(1, sizeof *self);
    if (!self) {
        PyErr_NoMemory();
        return NULL;
    }
    self->state = state;
    self->request = (struct request){.platforms = &state->platforms,
                                     .method = slots[METHOD],
                                     .block_size = slots[BLOCK_SIZE],
                                     .dtype = slots[DTYPE],
                                     .device = slots[DEVICE],
                                     .initial = slots[INITIAL],
                                     .frames = WRAPPER_FRAMES};
    array_results_begin(&self->results, state, slots[A], &self->view, &self->output);
    if (self->request.initial == Py_Ellipsis) /* how the signature writes that there is none */
        self->request.initial = NULL;
    self->explanation.by = EXPLAINED_LOOPS;
    self->run.explanation = &self->explanation;
    self->run.frames = WRAPPER_FRAMES;
    return self;
}

PyObject *explain_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names)
{
    static const char *const keywords[] = {"axis",   "keepdims", "method", "block_size", "dtype",
                                           "device", "where",    "out",    "initial",    NULL};
    static const struct signature signature = {"explain", 1, 2, 2, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    struct question *question = new_question(PyModule_GetState(module), slots);
    if (!question)
        return NULL;
    PyObject *explained = explain(question, slots);
    PyMem_Free(question);
    if (!explained && several_were_given(slots[A]))
        PyErr_SetString(
            PyExc_TypeError,
            "a: explain takes one array; of a list of arrays on devices each is reduced "
            "by itself, so explain each");
    return explained;
}
