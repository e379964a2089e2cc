#include "python/explain.h"

#include "arrays/mask.h"
#include "arrays/output.h"
#include "python/arguments.h"
#include "python/execute.h"
#include "python/reduction_argument.h"
#include "python/schedule_tuple.h"
#include "run/explanation.h"

/* It is called by gred/explanation.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

/* What is asked about, and what keeps it alive. */
struct question {
    struct module_state *state;
    struct request request;
    struct view view;
    struct mask mask;
    struct output output;
};

enum { A, OP, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT, INITIAL };

/* False with an exception set; what was viewed is to be released in either case. */
static bool view_arguments(struct question *self, PyObject *const *slots)
{
    const struct where *where = &self->state->platforms.where;
    const struct view_request asked = {.name = "a", .where = where};
    if (!output_view(slots[OUT], &asked, &self->output) ||
        (self->output.object &&
         !(output_is_one(&self->output) && output_locate(&self->output, asked.where))))
        return false;
    self->request.out = self->output.object ? &self->output : NULL;
    if (!array_view(slots[A], &asked, &self->view))
        return false;
    /* The mask has to lie where the array does. */
    if (slots[WHERE] && self->view.on_device && !where->locate(where, &self->view, "a"))
        return false;
    return mask_apply(slots[WHERE], &asked, &self->view, &self->mask);
}

/* Why the plan runs where it does. */
static const char *why_there(const struct question *self, const struct plan *plan)
{
    const PyObject *device = self->request.device;
    if (self->view.on_device && self->view.n)
        return "array";
    if (plan->out)
        return "out";
    if (device && device != Py_None)
        return "device";
    return plan->method ? "method" : "default";
}

static PyObject *loops_tuple(const struct loops *loops)
{
    return Py_BuildValue("sKIzK", loops->way, (unsigned long long)loops->chunk, loops->threads,
                         loops->instructions, (unsigned long long)loops->copied);
}

static PyObject *answer(const struct question *self, const struct plan *plan,
                        const struct explanation *explanation)
{
    const struct plan *run = explanation->launches ? &explanation->plan : plan;
    const char *method = plan->exact ? "exact" : run->method ? run->method->name : "auto";
    return Py_BuildValue("sNssIsKsN", reduction_row(self->request.reduction)->name,
                         platform_name(plan->platform, plan->device), why_there(self, plan), method,
                         run->block, element_name(plan->layout->input), (unsigned long long)plan->n,
                         element_name(plan->accumulator),
                         explanation->launches ? schedule_tuple(&explanation->schedule)
                                               : loops_tuple(&explanation->loops));
}

PyObject *explain_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names)
{
    static const char *const keywords[] = {"method", "block_size", "dtype",   "device",
                                           "where",  "out",        "initial", NULL};
    static const struct signature signature = {"explain", 1, 2, 2, keywords, NULL};
    PyObject *slots[ARGUMENTS_MAX];
    struct question question = {.state = PyModule_GetState(module)};
    if (!arguments_parse(&signature, arguments, count, names, slots))
        return NULL;
    question.request = (struct request){.platforms = &question.state->platforms,
                                        .method = slots[METHOD],
                                        .block_size = slots[BLOCK_SIZE],
                                        .dtype = slots[DTYPE],
                                        .device = slots[DEVICE],
                                        .initial = slots[INITIAL],
                                        .frames = WRAPPER_FRAMES};
    if (question.request.initial == Py_Ellipsis) /* how the signature writes that there is none */
        question.request.initial = NULL;
    struct plan plan;
    struct explanation explanation = {.launches = false};
    struct run run = {.explanation = &explanation, .frames = WRAPPER_FRAMES};
    PyObject *explained = NULL;
    if (reduction_parse(slots[OP], &question.request.reduction) &&
        view_arguments(&question, slots) &&
        plan_make(&question.request, &question.view, &question.mask, &plan) &&
        execute_plan(question.state, &plan, &run))
        explained = answer(&question, &plan, &explanation);
    array_release(&question.view);
    mask_release(&question.mask);
    output_release(&question.output);
    return explained;
}
