#include "python/schedule_tuple.h"

#include "python/step_tuple.h"

static const char *form_name(const struct choice *choice)
{
    static const char *const names[] = {
        [FORM_FLAT] = "flat", [FORM_STRIDED] = "strided", [FORM_GATHERED] = "gathered"};
    return names[choice->form];
}

static const char *kind_name(enum step_kind kind)
{
    static const char *const names[] = {[STEP_PASS] = "pass",     [STEP_LIBRARY] = "library",
                                        [STEP_UNPACK] = "unpack", [STEP_COPY] = "copy",
                                        [STEP_COUNT] = "count",   [STEP_FINISH] = "finish"};
    return names[kind];
}

static bool append_step(PyObject *list, const char *when, const struct step *step)
{
    return step_append(list, when, kind_name(step->kind), step);
}

static bool append_passes(PyObject *list, const char *when, const struct passes *passes)
{
    for (unsigned k = 0; k < passes->count; k++)
        if (!append_step(list, when, &passes->at[k]))
            return false;
    return true;
}

/* For a piece of n elements. */
static bool append_unpack(PyObject *list, const char *when, const struct schedule *self, uint64_t n)
{
    const struct step unpack = course_unpack(&self->course, schedule_mask_length(self, n));
    return append_step(list, when, &unpack);
}

/* A piece of n elements. */
static bool append_piece(PyObject *list, const char *when, const struct schedule *self, uint64_t n,
                         struct passes *passes)
{
    const struct course *course = &self->course;
    course_over_piece(course, n, passes);
    if (course->choice.uploads && course->choice.uploads_mask &&
        !append_unpack(list, when, self, n))
        return false;
    if (course->choice.copy) {
        const struct step copy = course_copy(course, n);
        if (!append_step(list, when, &copy))
            return false;
    }
    return append_passes(list, when, passes);
}

static bool append_pieces(PyObject *list, const struct schedule *self, struct passes *passes)
{
    const struct course *course = &self->course;
    passes->leaves = PART_PARTIALS;
    if (self->pieces == 0)
        return true;
    const uint64_t last = course->plan->n - (self->pieces - 1) * self->piece;
    if (course->choice.uploads_mask && !course->choice.uploads &&
        !append_unpack(list, "begin", self, course->plan->n))
        return false;
    if (!append_piece(list, "piece", self, self->piece, passes))
        return false;
    if (self->pieces == 1)
        return true;
    if (last != self->piece && !append_piece(list, "last piece", self, last, passes))
        return false;
    course_over_results(course, self->pieces, passes);
    return append_passes(list, "results", passes);
}

/* What is done once, when the pieces are. */
static bool append_end(PyObject *list, const struct schedule *self, enum part leaves)
{
    const struct step count =
        self->counts_apart ? course_count(&self->course) : (struct step){.n = 0};
    if (self->counts_apart && !append_step(list, "end", &count))
        return false;
    if (!self->finishes_on_device)
        return true;
    const struct step finish = course_finish(&self->course, leaves);
    return append_step(list, "end", &finish);
}

static PyObject *steps_tuple(const struct schedule *self, enum part *leaves)
{
    struct passes passes;
    PyObject *list = PyList_New(0);
    const bool complete =
        list && append_pieces(list, self, &passes) && append_end(list, self, passes.leaves);
    *leaves = passes.leaves;
    return steps_end(list, complete);
}

PyObject *schedule_tuple(const struct schedule *self)
{
    enum part leaves = PART_PARTIALS;
    PyObject *steps = steps_tuple(self, &leaves);
    PyObject *parts = arena_tuple(&self->arena);
    return Py_BuildValue(
        "ssnKKNNKs", form_name(&self->course.choice), element_name(self->course.choice.accumulator),
        (Py_ssize_t)self->course.state_bytes, (unsigned long long)self->pieces,
        (unsigned long long)self->piece, steps, parts, (unsigned long long)self->arena.total,
        self->course.plan->out ? part_name(PART_OUT) : part_name(leaves));
}
