/* The pieces of a whole array one after the other, each brought and passed over, and the result
 * where it is to go. What is done was decided when the schedule was made. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"

#include <stdlib.h>
#include <string.h>

/* ---- what a step reads ---- */

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
    return (struct kernel_array){.at = reads_array(step) ? source_at(self, &self->array, start)
                                                         : executor_part(&self->on, step->reads),
                                 .base = reads_elements(step) ? start : 0};
}

/* Only the first pass of a piece reads rows: of the array, or of the working copy and its mask. */
static void read_array(struct execution *self, const struct step *step, uint64_t start)
{
    struct kernel_rows *rows = &self->argument.rows;
    struct layout *from = &rows->from;
    const struct choice *choice = &self->schedule->choice;
    if (!reads_elements(step) || !choice_reads_rows(choice)) {
        self->argument.flat = flat_array(self, step, start);
        return;
    }
    if (reads_array(step)) {
        layout_copy(&self->array.layout, from);
    } else {
        from->data = executor_part(&self->on, PART_COPY);
        from->mask = executor_part(&self->on, PART_COPIED_MASK);
        from->input = from->type = choice->accumulator;
        from->swapped = false;
        layout_make_flat(from, step->n);
    }
    rows_describe(rows, start, choice->accumulator);
    rows->how.counted = executor_part(&self->on, PART_COUNTED);
}

/* What the elements are multiplied with, if with anything. */
static const void *factors_of(const struct execution *self, const struct step *step, uint64_t start)
{
    if (!reads_elements(step) || !plan_adds_products(self->on.plan))
        return NULL;
    if (!self->factors.from)
        return self->argument.flat.at;
    return step->reads == PART_COPY ? executor_part(&self->on, PART_COPIED_FACTORS)
                                    : source_at(self, &self->factors, start);
}

/* ---- one step ---- */

static struct epilogue next_epilogue(struct execution *self, size_t bytes)
{
    struct mailbox *mailbox = self->on.machine->mailbox;
    return mailbox ? mailbox_next(mailbox, bytes) : (struct epilogue){.mailbox = NULL};
}

/* What the last pass of all does besides: an exact one says no more than that it is done. */
static struct epilogue last_epilogue(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    const struct plan *plan = schedule->plan;
    struct epilogue epilogue = {.mailbox = NULL};
    if (schedule->posts || schedule->stores)
        epilogue = next_epilogue(self, schedule->stores && plan->exact ? sizeof(uint32_t)
                                                                       : schedule->state_bytes);
    if (schedule->stores) {
        epilogue.out = plan->out.at;
        epilogue.divisor = reduction_row(plan->reduction)->counts ? (double)self->fed : 0;
    }
    return epilogue;
}

/* Of complex numbers whose squares are added exactly, each part is an element. */
static bool make_pass(struct execution *self, const struct step *step, uint64_t start,
                      struct epilogue epilogue)
{
    struct machine *machine = self->on.machine;
    const struct plan *plan = self->schedule->plan;
    enum fold fold = plan->fold;
    enum element accumulator = self->schedule->choice.accumulator,
                 factor = self->schedule->choice.factor;
    const bool by_parts = reads_elements(step) && plan->exact && fold == FOLD_norm2 &&
                          element_is_complex(accumulator);
    read_array(self, step, start);
    uint64_t n = by_parts ? 2 * step->n : step->n;
    void *written = executor_part(&self->on, step->writes),
         *tickets = machine->tickets ? machine->tickets : executor_part(&self->on, PART_TICKETS);
    unsigned watches = exact_asks_for_signs(&plan->finish);
    struct exact_result result = step_exact_result(
        plan, accumulator, plan->exact ? epilogue.out : NULL, plan->out.element, self->fed);
    const void *factors = factors_of(self, step, start);
    void *arguments[] = {&self->argument, &n,       &written, &tickets, &epilogue,    &fold,
                         &accumulator,    &watches, &result,  &factors, &accumulator, &factor};
    if (step->reducer)
        return machine->work->reduce(machine, step->reducer, self->argument.flat.at, n, written);
    return machine->work->launch(machine, step, arguments);
}

static bool make_copy(struct execution *self, uint64_t start, uint64_t n)
{
    const struct executor *on = &self->on;
    const struct choice *choice = &self->schedule->choice;
    const struct step step = schedule_copy(self->schedule, n);
    const struct kernel_array flat = flat_array(self, &step, start);
    const bool copies_flat = choice->form == FORM_FLAT;
    struct copying copying = {
        .array = copies_flat ? (const void *)&flat : &self->array.layout,
        .first = choice->uploads ? 0 : start,
        .type = choice->accumulator,
        .target = executor_part(on, PART_COPY),
        .valid = executor_part(on, PART_COPIED_MASK),
        .fill = schedule_masked_fill(self->schedule),
    };
    if (!executor_copy(on, &step, copying))
        return false;
    copying = (struct copying){.array = &self->factors.layout,
                               .first = copying.first,
                               .type = choice->factor,
                               .target = executor_part(on, PART_COPIED_FACTORS)};
    return !self->factors.from || executor_copy(on, &step, copying);
}

/* One thread makes the result of the state that is left, where it is to stay; what is posted is
 * that it is done. */
static bool finish_on_device(struct execution *self, enum part leaves)
{
    const struct plan *plan = self->schedule->plan;
    const struct step step = schedule_finish(self->schedule, leaves);
    enum reduction reduction = plan->reduction;
    enum element accumulator = self->schedule->choice.accumulator, out_element = plan->out.element;
    struct finish finish = finish_in(&plan->finish, accumulator);
    finish.count = self->fed;
    void *state = executor_part(&self->on, leaves),
         *counted = executor_part(&self->on, PART_COUNTED), *out = plan->out.at;
    struct exact_result result = step_exact_result(plan, accumulator, out, out_element, self->fed);
    struct epilogue epilogue = next_epilogue(self, sizeof(uint32_t));
    void *exactly[] = {&state, &result, &counted, &epilogue},
         *arguments[] = {&state, &reduction, &finish, &counted, &out_element, &out, &epilogue};
    return executor_launch(&self->on, &step, plan->exact ? exactly : arguments);
}

/* ---- passes ---- */

static bool store_identity(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    struct machine *machine = self->on.machine;
    void *const at = executor_part(&self->on, PART_PARTIALS);
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    if (schedule->plan->exact)
        return machine->memory->clear(machine, at, schedule->state_bytes);
    state_identity(schedule->plan->fold, schedule->choice.accumulator, state);
    return machine->memory->copy_in(machine, at, state, schedule->state_bytes);
}

/* What the passes expect to find: the identity where blocks combine, and a fresh working copy. */
static bool make_ready(struct execution *self, uint64_t start, uint64_t n)
{
    return (!schedule_begins_with_identity(self->schedule) || store_identity(self)) &&
           (!self->schedule->choice.copy || make_copy(self, start, n));
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

/* *leaves is the part that begins with the piece's state, which is kept if there are others. */
static bool reduce_piece(struct execution *self, uint64_t start, uint64_t length, enum part *leaves)
{
    struct machine *machine = self->on.machine;
    const size_t size = self->schedule->state_bytes;
    char *const results = executor_part(&self->on, PART_RESULTS);
    struct passes passes;
    uint64_t n;
    if (!feed_piece(self, start, length, &n))
        return false;
    *leaves = PART_PARTIALS;
    if (n == 0) {
        if (!store_identity(self))
            return false;
    } else {
        schedule_passes(self->schedule, false, n, &passes);
        *leaves = passes.leaves;
        if (!make_ready(self, start, n) ||
            !make_passes(self, &passes, start, self->schedule->pieces == 1))
            return false;
    }
    return !results ||
           machine->memory->copy_within(machine, results + start / self->schedule->piece * size,
                                        executor_part(&self->on, *leaves), size);
}

static bool reduce_all(struct execution *self, enum part *leaves)
{
    const struct schedule *schedule = self->schedule;
    const uint64_t n = schedule->plan->n;
    struct passes passes;
    double asked = clock_now();
    for (uint64_t start = 0; start < n; start += schedule->piece)
        if ((start && watch_interrupted_lately(self->on.run, &asked)) ||
            !reduce_piece(self, start, least(n - start, schedule->piece), leaves))
            return false;
    if (schedule->pieces == 1)
        return true;
    schedule_passes(schedule, true, schedule->pieces, &passes);
    *leaves = passes.leaves;
    return (!schedule_begins_with_identity(schedule) || store_identity(self)) &&
           make_passes(self, &passes, 0, true);
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
    if (!feed_piece(self, 0, self->schedule->piece, &sampled.n))
        return false;
    schedule_passes(self->schedule, false, sampled.n, &sampled.passes);
    *leaves = sampled.passes.leaves;
    if (!machine_time_samples(self->on.machine, self->on.run, timing, prepare_sample, make_sample,
                              &sampled))
        return false;
    if (self->done == 0) /* there was no first pass */
        memcpy(timing->first_pass, timing->seconds, timing->samples * sizeof *timing->seconds);
    timing->passes = self->done;
    timing->grid = self->grid;
    timing->block = self->on.plan->launch.block;
    timing->method = self->on.plan->method;
    return true;
}

/* ---- runs ---- */

static bool deliver(struct execution *self, enum part leaves)
{
    const struct schedule *schedule = self->schedule;
    const enum element accumulator = schedule->choice.accumulator;
    const struct plan *plan = schedule->plan;
    struct machine *machine = self->on.machine;
    struct run *run = self->on.run;
    _Alignas(STATE_ALIGNMENT) char state[POSTED_BYTES_MAX];
    uint64_t count = self->fed;
    if (schedule->counts_apart) { /* what the mask of a device's array lets through */
        const struct step step = schedule_count(schedule);
        uint64_t n = step.n;
        void *counted = executor_part(&self->on, PART_COUNTED);
        void *arguments[] = {&self->array.layout, &n, &counted};
        if (!executor_launch(&self->on, &step, arguments))
            return false;
    }
    if (self->stored)
        return true;
    if (plan->out.at)
        return finish_on_device(self, leaves);
    run_meanwhile(run);
    if (self->posted ? !executor_receive(&self->on, state)
                     : !machine->memory->copy_out(machine, state, executor_part(&self->on, leaves),
                                                  schedule->state_bytes))
        return false;
    if (schedule->counts &&
        !machine->memory->copy_out(machine, &count, executor_part(&self->on, PART_COUNTED),
                                   sizeof count))
        return false;
    if (plan->exact)
        run_finish_exact(run, plan, accumulator, (const int64_t *)state, count);
    else
        run_finish(run, plan, accumulator, state, count);
    return true;
}

/* Of nothing, there is a result to be left somewhere. */
static bool reduce(struct execution *self)
{
    const struct executor *on = &self->on;
    enum part leaves = PART_PARTIALS;
    if (self->schedule->pieces == 0)
        return store_identity(self) && deliver(self, leaves);
    return source_prepare(self, &self->array) && source_prepare(self, &self->factors) &&
           (on->machine->tickets || executor_clear(on, PART_TICKETS)) &&
           executor_clear(on, PART_COUNTED) &&
           (on->run->timing ? measure(self, &leaves) : reduce_all(self, &leaves)) &&
           deliver(self, leaves);
}

bool execute_pieces(struct machine *machine, const struct schedule *schedule, struct run *run)
{
    struct execution *self = calloc(1, sizeof *self);
    if (!self)
        return failure_note(machine->failure, FAILURE_MEMORY, "out of memory for a call");
    self->on = (struct executor){machine, run, schedule->plan, &schedule->arena, NULL};
    self->schedule = schedule;
    self->array.from = schedule->plan->layout;
    self->array.part = PART_UPLOADED;
    self->factors.from = schedule->plan->factors;
    self->factors.part = PART_UPLOADED_FACTORS;
    const bool reduced = executor_begin(&self->on) && executor_end(&self->on, false, reduce(self));
    free(self);
    return reduced;
}
