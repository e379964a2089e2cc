/* The pieces of a whole array one after the other, each fed and passed over, and the result where
 * it is to go. What is done was decided when the schedule was made. */
#include "run/execute.h"

#include "run/executor.h"
#include "run/receive.h"
#include "run/result.h"
#include "run/upload.h"
#include "run/watch.h"
#include "schedule/rows.h"

#include <stdlib.h>
#include <string.h>

/* What a step reads, as a kernel's argument. */
union argument {
    struct kernel_array flat;
    struct kernel_rows rows;
};

/* On the heap: the caller's stack may be small. */
struct execution {
    struct executor on; /* first, so that an executor is one of these */
    const struct schedule *schedule;
    struct upload upload;
    struct upload *factors; /* NULL: elements are added as they are, or their squares are */
    uint64_t fed;           /* elements that took part, as far as the host knows */
    unsigned done;          /* passes over the last piece */
    uint64_t grid;          /* of the first of them */
    bool posted;            /* the state that is left comes to the mailbox */
    bool stored;            /* the result is where it is to stay */
    union argument array;   /* of the launch that is being made */
    struct upload of_factors;
};

/* ---- one step ---- */

static bool reads_array(const struct step *step)
{
    return step->reads == PART_ARRAY || step->reads == PART_UPLOADED;
}

static bool reads_elements(const struct step *step)
{
    return reads_array(step) || step->reads == PART_COPY;
}

/* A flat part; `start` is where the piece begins in the array. */
static struct kernel_array flat_array(const struct execution *self, const struct step *step,
                                      uint64_t start)
{
    if (reads_array(step))
        return upload_array(&self->upload, start);
    return (struct kernel_array){.at = executor_part(&self->on, step->reads),
                                 .base = step->reads == PART_COPY ? start : 0};
}

/* The working copy, and the mask that goes with it. */
static void describe_copy(const struct execution *self, uint64_t n, struct layout *layout)
{
    const enum element type = self->schedule->course.choice.accumulator;
    layout->data = executor_part(&self->on, PART_COPY);
    layout->mask = executor_part(&self->on, PART_COPIED_MASK);
    layout->input = layout->type = type;
    layout->swapped = false;
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(type);
    layout->mask_strides[0] = 1;
}

static void read_rows(struct execution *self, const struct step *step, uint64_t start)
{
    struct kernel_rows *rows = &self->array.rows;
    if (reads_array(step))
        layout_copy(&self->upload.layout, &rows->from);
    else
        describe_copy(self, step->n, &rows->from);
    rows_describe(rows, start, self->schedule->course.choice.accumulator);
    rows->how.counted = executor_part(&self->on, PART_COUNTED);
}

/* Only the first pass of a piece reads rows. */
static void read_array(struct execution *self, const struct step *step, uint64_t start)
{
    if (reads_elements(step) && choice_reads_rows(&self->schedule->course.choice))
        read_rows(self, step, start);
    else
        self->array.flat = flat_array(self, step, start);
}

/* What the elements are multiplied with, if with anything. */
static const void *factors_of(const struct execution *self, const struct step *step, uint64_t start)
{
    if (!reads_elements(step) || !plan_adds_products(self->on.plan))
        return NULL;
    if (!self->factors)
        return self->array.flat.at;
    return step->reads == PART_COPY ? executor_part(&self->on, PART_COPIED_FACTORS)
                                    : upload_array(self->factors, start).at;
}

/* Of complex numbers whose squares are added, each part is one. */
static uint64_t length_of(const struct execution *self, const struct step *step)
{
    const struct plan *plan = self->on.plan;
    const bool by_parts = reads_elements(step) && plan->exact && plan->fold == FOLD_norm2 &&
                          element_is_complex(self->schedule->course.choice.accumulator);
    return by_parts ? 2 * step->n : step->n;
}

static struct epilogue next_epilogue(struct execution *self, size_t bytes)
{
    struct mailbox *mailbox = self->on.machine->mailbox;
    return mailbox ? mailbox_next(mailbox, bytes) : (struct epilogue){.mailbox = NULL};
}

/* What the last pass of all does besides: an exact one says no more than that it is done. */
static struct epilogue last_epilogue(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    const struct plan *plan = schedule->course.plan;
    struct epilogue epilogue = {.mailbox = NULL};
    if (schedule->posts || schedule->stores)
        epilogue =
            next_epilogue(self, schedule->stores && plan->exact ? sizeof(uint32_t)
                                                                : schedule->course.state_bytes);
    if (schedule->stores) {
        epilogue.out = plan->out;
        epilogue.divisor = reduction_row(plan->reduction)->counts ? (double)self->fed : 0;
    }
    return epilogue;
}

static void *tickets_of(const struct execution *self)
{
    return self->on.machine->tickets ? self->on.machine->tickets
                                     : executor_part(&self->on, PART_TICKETS);
}

static bool make_pass(struct execution *self, const struct step *step, uint64_t start,
                      struct epilogue epilogue)
{
    const struct course *course = &self->schedule->course;
    read_array(self, step, start);
    uint64_t n = length_of(self, step);
    void *written = executor_part(&self->on, step->writes), *tickets = tickets_of(self);
    enum fold fold = course->plan->fold;
    enum element accumulator = course->choice.accumulator, factor = course->choice.factor;
    unsigned watches = exact_asks_for_signs(&course->plan->finish);
    struct exact_result result =
        step_exact_result(self->on.plan, course->plan->exact ? epilogue.out : NULL,
                          course->plan->out_element, self->fed);
    const void *factors = factors_of(self, step, start);
    void *arguments[] = {&self->array, &n,       &written, &tickets, &epilogue,    &fold,
                         &accumulator, &watches, &result,  &factors, &accumulator, &factor};
    if (step->kind == STEP_LIBRARY)
        return self->on.machine->work->reduce(self->on.machine, step->reducer, self->array.flat.at,
                                              n, written);
    return executor_launch(&self->on, step, arguments);
}

static bool make_copy(struct execution *self, uint64_t start, uint64_t n)
{
    const struct executor *on = &self->on;
    const struct course *course = &self->schedule->course;
    const struct choice *choice = &course->choice;
    const struct step step = course_copy(course, n);
    const uint64_t first = choice->uploads ? 0 : start;
    const struct kernel_array flat = flat_array(self, &step, start);
    const bool copies_flat = choice->form == FORM_FLAT;
    const struct copying elements = {
        .array = copies_flat ? (const void *)&flat : &self->upload.layout,
        .first = first,
        .type = choice->accumulator,
        .target = executor_part(on, PART_COPY),
        .valid = executor_part(on, PART_COPIED_MASK),
        .fill = course_masked_fill(course),
    };
    return executor_copy(on, &step, elements) &&
           (!self->factors ||
            executor_copy(on, &step,
                          (struct copying){.array = &self->factors->layout,
                                           .first = first,
                                           .type = choice->factor,
                                           .target = executor_part(on, PART_COPIED_FACTORS)}));
}

/* Counts what the mask of a device array lets through, on the device. */
static bool count_valid(struct execution *self)
{
    const struct step step = course_count(&self->schedule->course);
    uint64_t n = step.n;
    void *counted = executor_part(&self->on, PART_COUNTED);
    void *arguments[] = {&self->upload.layout, &n, &counted};
    return executor_launch(&self->on, &step, arguments);
}

/* One thread makes the result of the state that is left, where it is to stay. */
static bool finish_on_device(struct execution *self, enum part leaves)
{
    const struct course *course = &self->schedule->course;
    const struct step step = course_finish(course, leaves);
    enum reduction reduction = course->plan->reduction;
    enum element accumulator = course->choice.accumulator;
    struct finish finish =
        course->plan->exact ? course->plan->finish : finish_in(&course->plan->finish, accumulator);
    finish.count = self->fed;
    enum element out_element = course->plan->out_element;
    void *state = executor_part(&self->on, leaves),
         *counted = executor_part(&self->on, PART_COUNTED);
    void *out = course->plan->out;
    struct epilogue epilogue = next_epilogue(self, sizeof(uint32_t)); /* that it is done */
    void *arguments[] = {&state,       &reduction, &finish,   &counted,
                         &out_element, &out,       &epilogue, &accumulator};
    return executor_launch(&self->on, &step, arguments);
}

/* ---- one piece ---- */

static bool store_identity(struct execution *self)
{
    const struct course *course = &self->schedule->course;
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    if (course->plan->exact)
        return self->on.machine->memory->clear(
            self->on.machine, executor_part(&self->on, PART_PARTIALS), course->state_bytes);
    state_identity(course->plan->fold, course->choice.accumulator, state);
    return self->on.machine->memory->copy_in(
        self->on.machine, executor_part(&self->on, PART_PARTIALS), state, course->state_bytes);
}

static bool clear_tickets(struct execution *self)
{
    return self->on.machine->tickets || executor_clear(&self->on, PART_TICKETS);
}

/* What the passes expect to find: the identity where blocks combine, and a fresh working copy. */
static bool make_ready(struct execution *self, uint64_t start, uint64_t n)
{
    const struct course *course = &self->schedule->course;
    if (course_begins_with_identity(course) && !store_identity(self))
        return false;
    return !course->choice.copy || make_copy(self, start, n);
}

/* Where `all` of the array is in the state that the passes leave, the last of them may post it. */
static bool make_passes(struct execution *self, const struct passes *passes, uint64_t start,
                        bool all)
{
    struct machine *machine = self->on.machine;
    for (unsigned k = 0; k < passes->count; k++) {
        struct epilogue epilogue = {.mailbox = NULL};
        if (all && k + 1 == passes->count)
            epilogue = last_epilogue(self);
        self->posted = epilogue.mailbox;
        self->stored = epilogue.out;
        if (!make_pass(self, &passes->at[k], start, epilogue) ||
            (k == 0 && self->on.run->timing && !machine->work->mark(machine, MOMENT_FIRST_PASS)))
            return false;
    }
    self->done = passes->count;
    self->grid = passes->count ? passes->at[0].grid : 0;
    return true;
}

static bool feed_piece(struct execution *self, uint64_t start, uint64_t length, uint64_t *n)
{
    uint64_t of_factors;
    if (!upload_piece(&self->upload, start, length, n) ||
        (self->factors && !upload_piece(self->factors, start, length, &of_factors)))
        return false;
    self->fed += *n;
    return true;
}

/* *leaves is the part that begins with the piece's state. */
static bool reduce_piece(struct execution *self, uint64_t start, uint64_t length, enum part *leaves)
{
    struct passes passes;
    uint64_t n;
    if (!feed_piece(self, start, length, &n))
        return false;
    *leaves = PART_PARTIALS;
    if (n == 0)
        return store_identity(self);
    course_over_piece(&self->schedule->course, n, &passes);
    *leaves = passes.leaves;
    return make_ready(self, start, n) &&
           make_passes(self, &passes, start, self->schedule->pieces == 1);
}

/* ---- all of them ---- */

static bool keep_result(struct execution *self, uint64_t piece, enum part leaves)
{
    const size_t size = self->schedule->course.state_bytes;
    char *results = executor_part(&self->on, PART_RESULTS);
    return !results ||
           self->on.machine->memory->copy_within(self->on.machine, results + piece * size,
                                                 executor_part(&self->on, leaves), size);
}

static bool reduce_results(struct execution *self, enum part *leaves)
{
    const struct course *course = &self->schedule->course;
    struct passes passes;
    course_over_results(course, self->schedule->pieces, &passes);
    *leaves = passes.leaves;
    if (course_begins_with_identity(course) && !store_identity(self))
        return false;
    return make_passes(self, &passes, 0, true);
}

static bool reduce_all(struct execution *self, enum part *leaves)
{
    const struct schedule *schedule = self->schedule;
    const uint64_t n = self->on.plan->n;
    double asked = clock_now();
    for (uint64_t p = 0; p < schedule->pieces; p++) {
        const uint64_t start = p * schedule->piece, rest = n - start;
        if ((p && watch_interrupted_lately(self->on.run, &asked)) ||
            !reduce_piece(self, start, rest < schedule->piece ? rest : schedule->piece, leaves) ||
            !keep_result(self, p, *leaves))
            return false;
    }
    return schedule->pieces == 1 || reduce_results(self, leaves);
}

/* ---- measured ---- */

struct sampled {
    struct execution *execution;
    struct passes passes;
    uint64_t n;
};

/* From where the working copy is as new. */
static bool prepare_sample(void *context)
{
    const struct sampled *self = context;
    return make_ready(self->execution, 0, self->n);
}

static bool make_sample(void *context)
{
    const struct sampled *self = context;
    return make_passes(self->execution, &self->passes, 0, false);
}

static bool measure(struct execution *self, enum part *leaves)
{
    struct timing *timing = self->on.run->timing;
    struct sampled sampled = {.execution = self};
    const struct measured measured = {prepare_sample, make_sample, &sampled};
    if (!feed_piece(self, 0, self->schedule->piece, &sampled.n))
        return false;
    course_over_piece(&self->schedule->course, sampled.n, &sampled.passes);
    *leaves = sampled.passes.leaves;
    if (!machine_time_samples(self->on.machine, self->on.run, timing, &measured))
        return false;
    if (self->done == 0) /* there was no first pass */
        memcpy(timing->first_pass, timing->seconds, timing->samples * sizeof *timing->seconds);
    timing->passes = self->done;
    timing->grid = self->grid;
    timing->block = self->on.plan->block;
    timing->method = self->on.plan->method;
    return true;
}

/* ---- runs ---- */

static bool fetch_state(struct execution *self, enum part leaves, void *state)
{
    struct machine *machine = self->on.machine;
    const size_t bytes = self->schedule->course.state_bytes;
    return self->posted
               ? receive_state(machine, self->on.run, state)
               : machine->memory->copy_out(machine, state, executor_part(&self->on, leaves), bytes);
}

static bool deliver(struct execution *self, enum part leaves)
{
    const struct schedule *schedule = self->schedule;
    struct machine *machine = self->on.machine;
    _Alignas(STATE_ALIGNMENT) char state[POSTED_BYTES_MAX];
    uint64_t count = self->fed;
    if (schedule->counts_apart && !count_valid(self))
        return false;
    if (self->stored)
        return true;
    if (self->on.plan->out)
        return finish_on_device(self, leaves);
    if (!fetch_state(self, leaves, state) ||
        (schedule->counts &&
         !machine->memory->copy_out(machine, &count, executor_part(&self->on, PART_COUNTED),
                                    sizeof count)))
        return false;
    if (self->on.plan->exact)
        run_finish_exact(self->on.run, schedule->course.plan, schedule->course.choice.accumulator,
                         (const int64_t *)state, count);
    else
        run_finish(self->on.run, schedule->course.plan, schedule->course.choice.accumulator, state,
                   count);
    return true;
}

static bool reduce(struct execution *self)
{
    enum part leaves = PART_PARTIALS;
    if (self->schedule->pieces == 0) /* nothing to reduce, but a result to be left somewhere */
        return store_identity(self) && deliver(self, leaves);
    return upload_prepare(&self->upload) && (!self->factors || upload_prepare(self->factors)) &&
           clear_tickets(self) && executor_clear(&self->on, PART_COUNTED) &&
           (self->on.run->timing ? measure(self, &leaves) : reduce_all(self, &leaves)) &&
           deliver(self, leaves);
}

static bool execute_all(struct executor *on)
{
    struct execution *self = (struct execution *)on;
    upload_begin(&self->upload, on, self->schedule, PART_UPLOADED);
    if (on->plan->factors) {
        self->factors = &self->of_factors;
        upload_begin(self->factors, on, self->schedule, PART_UPLOADED_FACTORS);
    }
    return reduce(self);
}

bool execute_pieces(struct machine *machine, const struct schedule *schedule, struct run *run)
{
    struct execution *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(machine->failure, FAILURE_MEMORY, "out of memory for a call");
        return false;
    }
    self->on = (struct executor){machine, run, schedule->course.plan, &schedule->arena, NULL};
    self->schedule = schedule;
    const bool reduced = executor_run(&self->on, false, execute_all);
    free(self);
    return reduced;
}
