/* gred.explain: how a call would run, as plain tuples, and for tests, schedules without arrays. */
#include "plan/arguments.h"
#include "python/call.h"
#include "python/hooks.h"
#include "run/explanation.h"

static void append_step(PyObject **list, const char *when, struct step step)
{
    list_append(list, Py_BuildValue("sskInIOkss", when, step.name, step.grid, step.block,
                                    (Py_ssize_t)step.shared_bytes, step.cluster,
                                    step.cooperative ? Py_True : Py_False, step.n,
                                    part_name(step.reads), part_name(step.writes)));
}

/* The tuple of any schedule. Steals the steps. Parts are (name, offset, bytes). */
static PyObject *schedule_tuple(const char *form, enum element accumulator, size_t state_bytes,
                                uint64_t pieces, uint64_t piece, PyObject *steps,
                                const struct arena *arena, const char *result_part)
{
    PyObject *parts = PyList_New(0);
    for (int part = 0; part < PARTS; part++)
        if (arena->bytes[part])
            list_append(&parts, Py_BuildValue("skk", part_name((enum part)part), arena->at[part],
                                              arena->bytes[part]));
    return Py_BuildValue("ssnkkNNks", form, element_name(accumulator), (Py_ssize_t)state_bytes,
                         pieces, piece, list_to_tuple(steps), list_to_tuple(parts), arena->total,
                         result_part);
}

/* ---- a schedule ---- */

static void append_passes(PyObject **list, const char *when, const struct passes *passes)
{
    for (unsigned k = 0; k < passes->count; k++)
        append_step(list, when, passes->at[k]);
}

/* Appends the steps of a piece of n elements. */
static void append_piece(PyObject **list, const char *when, const struct schedule *self, uint64_t n,
                         struct passes *passes)
{
    schedule_passes(self, false, n, passes);
    if (self->choice.copy)
        append_step(list, when, schedule_copy(self, n));
    append_passes(list, when, passes);
}

static void append_all_pieces(PyObject **list, const struct schedule *self, struct passes *passes)
{
    const uint64_t n = self->plan->n;
    passes->leaves = PART_PARTIALS;
    if (self->pieces == 0)
        return;
    const uint64_t last = n - (self->pieces - 1) * self->piece;
    append_piece(list, "piece", self, self->piece, passes);
    if (self->pieces == 1)
        return;
    if (last != self->piece)
        append_piece(list, "last piece", self, last, passes);
    schedule_passes(self, true, self->pieces, passes);
    append_passes(list, "results", passes);
}

PyObject *explain_schedule(const struct schedule *self)
{
    static const char *const forms[] = {
        [FORM_FLAT] = "flat", [FORM_STRIDED] = "strided", [FORM_GATHERED] = "gathered"};
    const struct choice *choice = &self->choice;
    struct passes passes;
    PyObject *steps = PyList_New(0);
    append_all_pieces(&steps, self, &passes);
    if (self->counts_separately)
        append_step(&steps, "end", schedule_count(self));
    if (self->finishes_on_device)
        append_step(&steps, "end", schedule_finish(self, passes.leaves));
    return schedule_tuple(forms[choice->form], choice->accumulator, self->state_bytes, self->pieces,
                          self->piece, steps, &self->arena,
                          part_name(plan_device_result(self->plan) ? PART_OUT : passes.leaves));
}

/* ---- along axes ---- */

/* If results are not written to the caller's out directly, the last step converts them to it. */
static PyObject *steps_along(const struct axes_schedule *self, const struct plan *plan)
{
    static const char when[] = "begin";
    static const char *const kinds[] = {
        [AXES_ROWS] = "rows", [AXES_COLUMNS] = "columns", [AXES_GENERAL] = "strided"};
    const struct step step = axes_schedule_step(self);
    PyObject *steps = PyList_New(0);
    if (self->copy.kernel)
        append_step(&steps, when, self->copy);
    append_step(&steps, when, step);
    if (plan->results.out)
        append_step(&steps, when, step_store(NULL, plan->axes->results));
    return schedule_tuple(self->copy.kernel ? "gathered" : kinds[self->axes.kind],
                          self->accumulator, self->state_bytes, 1, step.n, steps, &self->arena,
                          plan->results.on_device ? part_name(PART_OUT) : "results");
}

/* Why the plan runs where it does. */
static const char *device_reason(const struct call *call)
{
    const struct plan *plan = &call->plan;
    if (call->view.on_device && (call->view.n || plan->axes))
        return "array";
    if (plan_device_result(plan) || call->output.view.on_device)
        return "out";
    if (argument_given(call->request.device))
        return "device";
    return plan->method ? "method" : "default";
}

static PyObject *execution_tuple(const struct explanation *explanation, const struct plan *plan)
{
    const struct loops *loops = &explanation->loops;
    if (explanation->by == EXPLAINED_SCHEDULE)
        return explain_schedule(&explanation->schedule);
    if (explanation->by == EXPLAINED_AXES)
        return steps_along(&explanation->along.schedule, plan);
    return Py_BuildValue("zzkIzk", loops->results, loops->way, loops->chunk, loops->threads,
                         loops->instructions, loops->copied);
}

static PyObject *explanation_tuple(const struct call *call, const struct explanation *explanation)
{
    const struct plan *const plan = &call->plan;
    const bool scheduled = explanation->by == EXPLAINED_SCHEDULE;
    const struct plan *run = scheduled ? &explanation->plan : plan;
    const bool named = run->method && explanation->by != EXPLAINED_AXES;
    const uint64_t results = plan->axes ? plan->axes->results : 1;
    return Py_BuildValue("sNssIskskkN", reduction_row(call->request.reduction)->name,
                         platform_name(plan->platform, plan->device), device_reason(call),
                         plan->exact                    ? "exact"
                         : plan->launch.batch_invariant ? "batch_invariant"
                         : named                        ? run->method->name
                                                        : "auto",
                         named ? run->launch.block : 0, element_name(plan->layout->input),
                         plan->n * results, element_name(plan->accumulator), results,
                         explanation->at_once ? explanation->at_once : results,
                         execution_tuple(explanation, plan));
}

/* The backend fills in the explanation instead of running the plan. */
static PyObject *explain(struct call *call)
{
    struct explanation *explanation = PyMem_Calloc(1, sizeof *explanation);
    PyObject *result = NULL;
    if (!explanation)
        return PyErr_NoMemory();
    explanation->by = EXPLAINED_LOOPS;
    call->run.explanation = explanation;
    if (call->plan.axes)
        results_describe(call);
    if (execute_plan(call->state, &call->plan, &call->run))
        result = explanation_tuple(call, explanation);
    PyMem_Free(explanation);
    return result;
}

SLOTS_FUNCTION(explain)
{
    SCOPED_CALL *call = call_open_op(state, slots);
    PyObject *explained = call ? explain(call) : NULL;
    if (!explained && slots[A] && is_list_with_device_arrays(slots[A]))
        type_error("a: explain takes one array; the arrays of a list on devices are reduced "
                   "separately, so explain each");
    return explained;
}
