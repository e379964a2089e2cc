/* Carries a schedule out on a machine: one arena, the pieces one after the other, each fed and
 * passed over, and the result where it is to go. What is done was decided when the schedule was
 * made. */
#include "run/carry_out.h"

#include "plan/rows.h"
#include "run/receive.h"
#include "run/result.h"
#include "run/upload.h"
#include "run/watch.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What a step reads, as a kernel's argument. */
union argument {
    struct kernel_array flat;
    struct kernel_rows rows;
};

/* On the heap: the caller's stack may be small. */
struct carrying {
    struct machine *machine;
    const struct schedule *schedule;
    struct run *run;
    char *memory; /* the arena */
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

static void *address(const struct carrying *self, enum part part)
{
    return arena_part(&self->schedule->arena, self->memory, part);
}

/* ---- one step ---- */

static bool launch(struct carrying *self, const struct step *step, void **arguments)
{
    return machine_launch_step(self->machine, step, arguments);
}

static bool reads_array(const struct step *step)
{
    return step->reads == PART_ARRAY || step->reads == PART_UPLOADED;
}

static bool reads_elements(const struct step *step)
{
    return reads_array(step) || step->reads == PART_COPY;
}

/* A flat part; `start` is where the piece begins in the array. */
static struct kernel_array flat_array(const struct carrying *self, const struct step *step,
                                      uint64_t start)
{
    if (reads_array(step))
        return upload_array(&self->upload, start);
    return (struct kernel_array){.at = address(self, step->reads),
                                 .base = step->reads == PART_COPY ? start : 0};
}

/* The working copy, and the mask that goes with it. */
static void describe_copy(const struct carrying *self, uint64_t n, struct layout *layout)
{
    const enum element type = self->schedule->course.choice.accumulator;
    layout->data = address(self, PART_COPY);
    layout->mask = address(self, PART_COPIED_MASK);
    layout->input = layout->type = type;
    layout->swapped = false;
    layout->dimensions = 1;
    layout->shape[0] = n;
    layout->strides[0] = (int64_t)element_size(type);
    layout->mask_strides[0] = 1;
}

static void read_rows(struct carrying *self, const struct step *step, uint64_t start)
{
    struct kernel_rows *rows = &self->array.rows;
    if (reads_array(step))
        layout_copy(&self->upload.layout, &rows->from);
    else
        describe_copy(self, step->n, &rows->from);
    rows_describe(rows, start, self->schedule->course.choice.accumulator);
    rows->how.counted = address(self, PART_COUNTED);
}

/* Only the first pass of a piece reads rows. */
static void read_array(struct carrying *self, const struct step *step, uint64_t start)
{
    if (reads_elements(step) && choice_reads_rows(&self->schedule->course.choice))
        read_rows(self, step, start);
    else
        self->array.flat = flat_array(self, step, start);
}

/* What the elements are multiplied with, if with anything. */
static const void *factors_of(const struct carrying *self, const struct step *step, uint64_t start)
{
    if (!reads_elements(step) || !plan_adds_products(self->schedule->course.plan))
        return NULL;
    if (!self->factors)
        return self->array.flat.at;
    return step->reads == PART_COPY ? address(self, PART_COPIED_FACTORS)
                                    : upload_array(self->factors, start).at;
}

/* Of complex numbers whose squares are added, each part is one. */
static uint64_t length_of(const struct carrying *self, const struct step *step)
{
    const struct plan *plan = self->schedule->course.plan;
    const bool by_parts = reads_elements(step) && plan->exact && plan->fold == FOLD_norm2 &&
                          element_is_complex(self->schedule->course.choice.accumulator);
    return by_parts ? 2 * step->n : step->n;
}

static struct ending next_ending(struct carrying *self, size_t bytes)
{
    struct mailbox *mailbox = self->machine->mailbox;
    return mailbox ? mailbox_next(mailbox, bytes) : (struct ending){.mailbox = NULL};
}

/* What the last pass of all does besides: an exact one says no more than that it is done. */
static struct ending last_ending(struct carrying *self)
{
    const struct schedule *schedule = self->schedule;
    const struct plan *plan = schedule->course.plan;
    struct ending ending = {.mailbox = NULL};
    if (schedule->posts || schedule->stores)
        ending = next_ending(self, schedule->stores && plan->exact ? sizeof(uint32_t)
                                                                   : schedule->course.state_bytes);
    if (schedule->stores) {
        ending.out = plan->out;
        ending.divisor = reduction_row(plan->reduction)->counts ? (double)self->fed : 0;
    }
    return ending;
}

/* The same of an exact pass, which rounds. */
static struct exact_result exact_result_of(const struct carrying *self, struct ending ending)
{
    const struct plan *plan = self->schedule->course.plan;
    struct exact_result result = {.out = plan->exact ? ending.out : NULL,
                                  .out_type = plan->out_element,
                                  .mean = reduction_row(plan->reduction)->nothing == NOTHING_nan,
                                  .finish = plan->finish};
    result.finish.count = self->fed;
    return result;
}

static void *tickets_of(const struct carrying *self)
{
    return self->machine->tickets ? self->machine->tickets : address(self, PART_TICKETS);
}

static bool make_pass(struct carrying *self, const struct step *step, uint64_t start,
                      struct ending ending)
{
    const struct course *course = &self->schedule->course;
    read_array(self, step, start);
    uint64_t n = length_of(self, step);
    void *written = address(self, step->writes), *tickets = tickets_of(self);
    enum fold fold = course->plan->fold;
    enum element accumulator = course->choice.accumulator, factor = course->choice.factor;
    unsigned watches = exact_asks_for_signs(&course->plan->finish);
    struct exact_result result = exact_result_of(self, ending);
    const void *factors = factors_of(self, step, start);
    void *arguments[] = {&self->array, &n,       &written, &tickets, &ending,      &fold,
                         &accumulator, &watches, &result,  &factors, &accumulator, &factor};
    if (step->kind == STEP_LIBRARY)
        return self->machine->reduce(self->machine, step->reducer, self->array.flat.at, n, written);
    return launch(self, step, arguments);
}

/* What the working copy has where a mask hides an element that is added exactly: what is left out,
 * or, since that counts nobody's sums, -0. */
static union scalar exact_hidden(enum fold fold, enum element accumulator)
{
    const double value = fold == FOLD_nansum ? NAN : -0.0;
    const struct scalar_wide wide = {SCALAR_FLOAT, 0, value, value};
    const union scalar nothing = {.u64 = 0};
    return element_is_integer(accumulator) ? nothing : scalar_narrow(wide, accumulator);
}

/* What the working copy has where a mask hides an element: the identity of a fold whose states are
 * single values. All others see the mask, and do not look. */
static union scalar hidden_value(const struct course *course)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX] = {0};
    union scalar value;
    if (course->plan->exact)
        return exact_hidden(course->plan->fold, course->choice.accumulator);
    state_identity(course->plan->fold, course->choice.accumulator, state);
    memcpy(&value, state, sizeof value);
    return value;
}

static bool copy_factors(struct carrying *self, uint64_t start, uint64_t n)
{
    const struct course *course = &self->schedule->course;
    const struct step step = course_copy(course, n);
    void *copy = address(self, PART_COPIED_FACTORS), *shown = NULL;
    enum element type = course->choice.factor;
    union scalar hidden = {.u64 = 0};
    uint64_t first = course->choice.uploads ? 0 : start;
    void *arguments[] = {&self->factors->layout, &n, &copy, &type, &hidden, &shown, &first};
    return launch(self, &step, arguments);
}

static bool make_copy(struct carrying *self, uint64_t start, uint64_t n)
{
    const struct course *course = &self->schedule->course;
    const struct step step = course_copy(course, n);
    struct kernel_array flat = {.at = NULL};
    const bool copies_flat = course->choice.form == FORM_FLAT;
    if (copies_flat)
        flat = flat_array(self, &step, start);
    void *array = copies_flat ? (void *)&flat : &self->upload.layout;
    void *copy = address(self, PART_COPY), *shown = address(self, PART_COPIED_MASK);
    enum element accumulator = course->choice.accumulator;
    union scalar hidden = hidden_value(course);
    uint64_t first = course->choice.uploads ? 0 : start;
    void *arguments[] = {array, &n, &copy, &accumulator, &hidden, &shown, &first};
    return launch(self, &step, arguments) && (!self->factors || copy_factors(self, start, n));
}

/* Counts what the mask of a device array lets through, on the device. */
static bool count_shown(struct carrying *self)
{
    const struct step step = course_count(&self->schedule->course);
    uint64_t n = step.n;
    void *counted = address(self, PART_COUNTED);
    void *arguments[] = {&self->upload.layout, &n, &counted};
    return launch(self, &step, arguments);
}

/* One thread makes the result of the state that is left, where it is to stay. */
static bool finish_on_device(struct carrying *self, enum part leaves)
{
    const struct course *course = &self->schedule->course;
    const struct step step = course_finish(course, leaves);
    enum reduction reduction = course->plan->reduction;
    enum element accumulator = course->choice.accumulator;
    struct finish finish =
        course->plan->exact ? course->plan->finish : finish_in(&course->plan->finish, accumulator);
    finish.count = self->fed;
    enum element out_element = course->plan->out_element;
    void *state = address(self, leaves), *counted = address(self, PART_COUNTED);
    void *out = course->plan->out;
    struct ending ending = next_ending(self, sizeof(uint32_t)); /* that it is done */
    void *arguments[] = {&state,       &reduction, &finish, &counted,
                         &out_element, &out,       &ending, &accumulator};
    return launch(self, &step, arguments);
}

/* ---- one piece ---- */

static bool store_identity(struct carrying *self)
{
    const struct course *course = &self->schedule->course;
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    if (course->plan->exact)
        return self->machine->clear(self->machine, address(self, PART_PARTIALS),
                                    course->state_bytes);
    state_identity(course->plan->fold, course->choice.accumulator, state);
    return self->machine->copy_in(self->machine, address(self, PART_PARTIALS), state,
                                  course->state_bytes);
}

static bool store_no_tickets(struct carrying *self)
{
    void *tickets = address(self, PART_TICKETS);
    return !tickets || self->machine->tickets ||
           self->machine->clear(self->machine, tickets, self->schedule->arena.bytes[PART_TICKETS]);
}

static bool store_no_count(struct carrying *self)
{
    void *counted = address(self, PART_COUNTED);
    return !counted || self->machine->clear(self->machine, counted, sizeof(uint64_t));
}

/* What the passes expect to find: the identity where blocks combine, and a fresh working copy. */
static bool make_ready(struct carrying *self, uint64_t start, uint64_t n)
{
    const struct course *course = &self->schedule->course;
    if (course_begins_with_identity(course) && !store_identity(self))
        return false;
    return !course->choice.copy || make_copy(self, start, n);
}

/* Where `all` of the array is in the state that the passes leave, the last of them may post it. */
static bool make_passes(struct carrying *self, const struct passes *passes, uint64_t start,
                        bool all)
{
    struct machine *machine = self->machine;
    for (unsigned k = 0; k < passes->count; k++) {
        struct ending ending = {.mailbox = NULL};
        if (all && k + 1 == passes->count)
            ending = last_ending(self);
        self->posted = ending.mailbox;
        self->stored = ending.out;
        if (!make_pass(self, &passes->at[k], start, ending) ||
            (k == 0 && self->run->timing && !machine->mark(machine, MOMENT_FIRST_PASS)))
            return false;
    }
    self->done = passes->count;
    self->grid = passes->count ? passes->at[0].grid : 0;
    return true;
}

static bool feed_piece(struct carrying *self, uint64_t start, uint64_t length, uint64_t *n)
{
    uint64_t of_factors;
    if (!upload_piece(&self->upload, start, length, n) ||
        (self->factors && !upload_piece(self->factors, start, length, &of_factors)))
        return false;
    self->fed += *n;
    return true;
}

/* *leaves is the part that begins with the piece's state. */
static bool reduce_piece(struct carrying *self, uint64_t start, uint64_t length, enum part *leaves)
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

static bool keep_result(struct carrying *self, uint64_t piece, enum part leaves)
{
    const size_t size = self->schedule->course.state_bytes;
    char *results = address(self, PART_RESULTS);
    return !results || self->machine->copy_within(self->machine, results + piece * size,
                                                  address(self, leaves), size);
}

static bool reduce_results(struct carrying *self, enum part *leaves)
{
    const struct course *course = &self->schedule->course;
    struct passes passes;
    course_over_results(course, self->schedule->pieces, &passes);
    *leaves = passes.leaves;
    if (course_begins_with_identity(course) && !store_identity(self))
        return false;
    return make_passes(self, &passes, 0, true);
}

static bool reduce_all(struct carrying *self, enum part *leaves)
{
    const struct schedule *schedule = self->schedule;
    const uint64_t n = schedule->course.plan->n;
    double asked = clock_now();
    for (uint64_t p = 0; p < schedule->pieces; p++) {
        const uint64_t start = p * schedule->piece, rest = n - start;
        if ((p && watch_interrupted_lately(self->run, &asked)) ||
            !reduce_piece(self, start, rest < schedule->piece ? rest : schedule->piece, leaves) ||
            !keep_result(self, p, *leaves))
            return false;
    }
    return schedule->pieces == 1 || reduce_results(self, leaves);
}

/* ---- measured ---- */

/* From where the working copy is as new and the caches are as asked for. */
static bool sample(struct carrying *self, const struct passes *passes, uint64_t n,
                   double *first_pass, double *seconds)
{
    struct machine *machine = self->machine;
    return !watch_interrupted(self->run) && make_ready(self, 0, n) &&
           (!self->run->timing->cold || machine->flush(machine)) &&
           machine->mark(machine, MOMENT_BEGIN) && make_passes(self, passes, 0, false) &&
           machine->mark(machine, MOMENT_END) && machine->elapsed(machine, first_pass, seconds);
}

static bool measure(struct carrying *self, enum part *leaves)
{
    struct timing *timing = self->run->timing;
    struct passes passes;
    uint64_t n;
    if (!feed_piece(self, 0, self->schedule->piece, &n))
        return false;
    course_over_piece(&self->schedule->course, n, &passes);
    *leaves = passes.leaves;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (!sample(self, &passes, n, &first_pass, &seconds))
            return false;
        if (s >= timing->warmup) {
            timing->first_pass[s - timing->warmup] = self->done ? first_pass : seconds;
            timing->seconds[s - timing->warmup] = seconds;
        }
    }
    timing->passes = self->done;
    timing->grid = self->grid;
    timing->block = self->schedule->course.plan->block;
    timing->method = self->schedule->course.plan->method;
    return true;
}

/* ---- runs ---- */

static bool fetch_state(struct carrying *self, enum part leaves, void *state)
{
    struct machine *machine = self->machine;
    const size_t bytes = self->schedule->course.state_bytes;
    return self->posted ? receive_state(machine, self->run, state)
                        : machine->copy_out(machine, state, address(self, leaves), bytes);
}

static bool deliver(struct carrying *self, enum part leaves)
{
    const struct schedule *schedule = self->schedule;
    struct machine *machine = self->machine;
    _Alignas(STATE_ALIGNMENT) char state[POSTED_BYTES_MAX];
    uint64_t count = self->fed;
    if (schedule->counts_apart && !count_shown(self))
        return false;
    if (self->stored)
        return true;
    if (schedule->course.plan->out)
        return finish_on_device(self, leaves);
    if (!fetch_state(self, leaves, state) ||
        (schedule->counts &&
         !machine->copy_out(machine, &count, address(self, PART_COUNTED), sizeof count)))
        return false;
    if (schedule->course.plan->exact)
        run_finish_exact(self->run, schedule->course.plan, schedule->course.choice.accumulator,
                         (const int64_t *)state, count);
    else
        run_finish(self->run, schedule->course.plan, schedule->course.choice.accumulator, state,
                   count);
    return true;
}

static bool reduce(struct carrying *self)
{
    enum part leaves = PART_PARTIALS;
    if (self->schedule->pieces == 0) /* nothing to reduce, but a result to be left somewhere */
        return store_identity(self) && deliver(self, leaves);
    return upload_prepare(&self->upload) && (!self->factors || upload_prepare(self->factors)) &&
           store_no_tickets(self) && store_no_count(self) &&
           (self->run->timing ? measure(self, &leaves) : reduce_all(self, &leaves)) &&
           deliver(self, leaves);
}

static bool carry_all_out(struct carrying *self, const struct schedule *schedule)
{
    upload_begin(&self->upload, self->machine, schedule, self->memory, PART_UPLOADED);
    self->schedule = schedule;
    self->factors = schedule->course.plan->factors ? &self->of_factors : NULL;
    if (self->factors)
        upload_begin(self->factors, self->machine, schedule, self->memory, PART_UPLOADED_FACTORS);
    return reduce(self);
}

bool carry_out(struct machine *machine, const struct schedule *schedule, struct run *run)
{
    void *memory = NULL;
    if (!machine->allocate(machine, schedule->arena.total, &memory))
        return false;
    struct carrying *self = calloc(1, sizeof *self);
    if (self) {
        self->machine = machine;
        self->run = run;
        self->memory = memory;
    } else
        failure_note(machine->failure, FAILURE_MEMORY, "out of memory for a call");
    const bool reduced = self && carry_all_out(self, schedule);
    free(self);
    machine->release(machine, memory);
    return reduced;
}
