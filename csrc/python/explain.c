#include "python/explain.h"

#include "plan/arguments.h"
#include "python/call.h"
#include "python/execute.h"
#include "python/functions.h"
#include "run/explanation.h"

/* ---- steps ---- */

/* Released once it is a tuple; `failed` with an exception set. */
struct list {
    PyObject *items;
    bool failed;
};

static struct list list_begin(void)
{
    struct list self = {.items = PyList_New(0)};
    self.failed = !self.items;
    return self;
}

/* Takes over the item, which is NULL where there is none to append. */
static void list_append(struct list *self, PyObject *item)
{
    self->failed = self->failed || !item || PyList_Append(self->items, item) < 0;
    Py_XDECREF(item);
}

static PyObject *list_end(struct list *self)
{
    PyObject *tuple = self->failed ? NULL : PyList_AsTuple(self->items);
    Py_XDECREF(self->items);
    return tuple;
}

static void append_named(struct list *list, const char *when, const char *work,
                         const struct step *step)
{
    list_append(list,
                Py_BuildValue("ssKInIOKss", when, work, (unsigned long long)step->grid, step->block,
                              (Py_ssize_t)step->shared_bytes, step->cluster,
                              step->cooperative ? Py_True : Py_False, (unsigned long long)step->n,
                              part_name(step->reads), part_name(step->writes)));
}

static PyObject *parts_of(const struct arena *arena)
{
    struct list parts = list_begin();
    for (int part = 0; part < PARTS; part++)
        if (arena->bytes[part])
            list_append(&parts, Py_BuildValue("sKK", part_name((enum part)part),
                                              (unsigned long long)arena->at[part],
                                              (unsigned long long)arena->bytes[part]));
    return list_end(&parts);
}

/* What all of them have in common. */
static PyObject *launches(const char *form, enum element accumulator, size_t state_bytes,
                          uint64_t pieces, uint64_t piece, struct list *steps,
                          const struct arena *arena, const char *left)
{
    return Py_BuildValue("ssnKKNNKs", form, element_name(accumulator), (Py_ssize_t)state_bytes,
                         (unsigned long long)pieces, (unsigned long long)piece, list_end(steps),
                         parts_of(arena), (unsigned long long)arena->total, left);
}

/* ---- a schedule ---- */

static void append(struct list *list, const char *when, const struct step *step)
{
    static const char *const names[] = {[STEP_PASS] = "pass",     [STEP_LIBRARY] = "library",
                                        [STEP_UNPACK] = "unpack", [STEP_COPY] = "copy",
                                        [STEP_COUNT] = "count",   [STEP_FINISH] = "finish"};
    append_named(list, when, names[step->kind], step);
}

static void append_passes(struct list *list, const char *when, const struct passes *passes)
{
    for (unsigned k = 0; k < passes->count; k++)
        append(list, when, &passes->at[k]);
}

/* For a piece of n elements. */
static void append_unpack(struct list *list, const char *when, const struct schedule *self,
                          uint64_t n)
{
    const struct step unpack = schedule_unpack(self, schedule_mask_length(self, n));
    append(list, when, &unpack);
}

/* A piece of n elements. */
static void append_piece(struct list *list, const char *when, const struct schedule *self,
                         uint64_t n, struct passes *passes)
{
    const struct choice *choice = &self->choice;
    schedule_passes(self, false, n, passes);
    if (choice->uploads && choice->uploads_mask)
        append_unpack(list, when, self, n);
    if (choice->copy) {
        const struct step copy = schedule_copy(self, n);
        append(list, when, &copy);
    }
    append_passes(list, when, passes);
}

static void append_pieces(struct list *list, const struct schedule *self, struct passes *passes)
{
    passes->leaves = PART_PARTIALS;
    if (self->pieces == 0)
        return;
    const uint64_t last = self->plan->n - (self->pieces - 1) * self->piece;
    if (self->choice.uploads_mask && !self->choice.uploads)
        append_unpack(list, "begin", self, self->plan->n);
    append_piece(list, "piece", self, self->piece, passes);
    if (self->pieces == 1)
        return;
    if (last != self->piece)
        append_piece(list, "last piece", self, last, passes);
    schedule_passes(self, true, self->pieces, passes);
    append_passes(list, "results", passes);
}

/* What is done once, when the pieces are. */
static void append_end(struct list *list, const struct schedule *self, enum part leaves)
{
    if (self->counts_apart) {
        const struct step count = schedule_count(self);
        append(list, "end", &count);
    }
    if (self->finishes_on_device) {
        const struct step finish = schedule_finish(self, leaves);
        append(list, "end", &finish);
    }
}

PyObject *explain_schedule(const struct schedule *self)
{
    static const char *const forms[] = {
        [FORM_FLAT] = "flat", [FORM_STRIDED] = "strided", [FORM_GATHERED] = "gathered"};
    const struct choice *choice = &self->choice;
    struct passes passes;
    struct list steps = list_begin();
    append_pieces(&steps, self, &passes);
    append_end(&steps, self, passes.leaves);
    return launches(forms[choice->form], choice->accumulator, self->state_bytes, self->pieces,
                    self->piece, &steps, &self->arena,
                    part_name(self->plan->out ? PART_OUT : passes.leaves));
}

/* ---- along axes ---- */

static const char *kind_name(enum axes_kind kind)
{
    static const char *const names[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "strided"};
    return names[kind];
}

/* Results are stored where they are asked for once all parts' are made. */
static PyObject *steps_along(const struct explained_along *self, const struct plan *asked)
{
    static const char when[] = "begin";
    const struct axes_schedule *schedule = &self->schedule;
    const struct step made = axes_schedule_step(schedule),
                      store = step_store(NULL, asked->axes->results);
    struct list steps = list_begin();
    if (schedule->copy.kernel)
        append_named(&steps, when, "copy", &schedule->copy);
    append_named(&steps, when, launch_name(&schedule->launch), &made);
    if (asked->results.out)
        append_named(&steps, when, "store", &store);
    return launches(schedule->copy.kernel ? "gathered" : kind_name(schedule->axes.kind),
                    schedule->accumulator, schedule->state_bytes, 1, made.n, &steps,
                    &schedule->arena, asked->results.on_device ? part_name(PART_OUT) : "results");
}

/* ---- the whole ---- */

/* It is called by gred/explanation.py, whose frame is not the user's. */
enum { WRAPPER_FRAMES = 1 };

/* Why the plan runs where it does. */
static const char *why_there(const struct call *call)
{
    const struct plan *plan = &call->plan;
    if (call->view.on_device && (call->view.n || plan->axes))
        return "array";
    if (plan->out || call->output.view.on_device)
        return "out";
    if (argument_given(call->request.device))
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
        return explain_schedule(&explanation->schedule);
    case EXPLAINED_ALONG:
        return steps_along(&explanation->along, plan);
    default:
        return loops_tuple(&explanation->loops);
    }
}

static PyObject *answer(const struct call *call, const struct explanation *explanation)
{
    const struct plan *const plan = &call->plan;
    const bool scheduled = explanation->by == EXPLAINED_SCHEDULE;
    const struct plan *run = scheduled ? &explanation->plan : plan;
    const bool named = run->method && (scheduled || !plan->axes);
    const unsigned long long results = plan->axes ? plan->axes->results : 1;
    return Py_BuildValue("sNssIsKsKKN", reduction_row(call->request.reduction)->name,
                         platform_name(plan->platform, plan->device), why_there(call),
                         plan->exact ? "exact"
                         : named     ? run->method->name
                                     : "auto",
                         named ? run->block : 0, element_name(plan->layout->input),
                         (unsigned long long)plan->n * results, element_name(plan->accumulator),
                         results,
                         explanation->at_once ? (unsigned long long)explanation->at_once : results,
                         how_tuple(explanation, plan));
}

/* What there is to reduce, and results for it, is a backend's to explain. */
static PyObject *explain(struct call *call)
{
    struct explanation *explanation = PyMem_Calloc(1, sizeof *explanation);
    PyObject *result = NULL;
    if (!explanation)
        return PyErr_NoMemory();
    explanation->by = EXPLAINED_LOOPS;
    call->run.explanation = explanation;
    if (call->plan.axes)
        array_results_describe(&call->results, &call->plan);
    if (array_results_run(&call->results, &call->plan, &call->run))
        result = answer(call, explanation);
    PyMem_Free(explanation);
    return result;
}

PyObject *explain_call(PyObject *module, PyObject *const *arguments, Py_ssize_t count,
                       PyObject *names)
{
    static const struct signature signature = {
        "explain",
        1,
        2,
        2,
        {A, OP, AXIS, KEEPDIMS, METHOD, BLOCK_SIZE, DTYPE, DEVICE, WHERE, OUT, INITIAL}};
    PyObject *slots[ARGUMENTS_END];
    enum reduction reduction;
    if (!arguments_parse(&signature, arguments, count, names, slots) ||
        !reduction_parse(slots[OP], &reduction))
        return NULL;
    struct call *call = call_open(PyModule_GetState(module), reduction, WRAPPER_FRAMES, slots);
    PyObject *explained = call ? explain(call) : NULL;
    if (call)
        call_close(call);
    if (!explained && several_were_given(slots[A]))
        PyErr_SetString(
            PyExc_TypeError,
            "a: explain takes one array; of a list of arrays on devices each is reduced "
            "by itself, so explain each");
    return explained;
}
