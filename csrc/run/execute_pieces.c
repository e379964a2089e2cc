/* Executes the schedule of a whole array: uploads and reduces it piece by piece. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"

#include <stdlib.h>
#include <string.h>

/* A kernel's first argument. */
union argument {
    struct kernel_array flat;
    struct kernel_rows rows;
};

/* The array, or the second operand of its products. */
struct source {
    const struct layout *from;  /* the plan's layout or factors; NULL: no factors */
    enum part uploaded, copied; /* the pieces' parts, if uploaded or copied */
    struct layout layout;       /* as the device reads it, if not flat */
};

/* On the heap, since the caller's stack may be small. */
struct execution {
    struct executor exec;
    const struct schedule *schedule;
    struct source array, factors;
    uint64_t piece;          /* index of the current piece */
    uint64_t count;          /* elements included so far, to the host's knowledge */
    uint64_t n;              /* elements of the current piece among these */
    struct passes passes;    /* over the piece, or over the pieces' states */
    bool posted;             /* the final state will arrive in the mailbox */
    bool stored;             /* the result is stored in the plan's `out` */
    union argument argument; /* of the current launch */
};

/* ---- uploads ---- */

/* Uploads of consecutive pieces alternate between buffers. */
static void *buffer(const struct execution *self, enum part part)
{
    const unsigned buffers = self->schedule->buffers;
    return (char *)executor_part(&self->exec, part) +
           self->piece % buffers * (self->exec.arena->bytes[part] / buffers);
}

/* Uploads the unmasked elements of a layout at positions [start, start + length). */
static bool upload(const struct execution *self, enum part to, const struct layout *from,
                   uint64_t start, uint64_t length, uint64_t *n)
{
    struct machine *machine = self->exec.machine;
    return machine->memory->feed(machine, buffer(self, to), from, start, length, n);
}

/* Before the first piece: uploads the host mask of a device array. */
static bool source_prepare(const struct execution *self, struct source *source)
{
    const struct choice *choice = &self->schedule->choice;
    if (!source->from || choice->uploads || choice->form == FORM_FLAT)
        return true;
    source->layout = *source->from;
    if (!choice->uploads_mask)
        return true;
    /* without broadcast dimensions */
    struct layout mask = {.data = source->from->mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
    struct axes axes = {.reduced = *source->from};
    uint64_t count;
    axes_compact(&axes, true, 1, &mask);
    source->layout = axes.reduced;
    source->layout.mask = buffer(self, PART_MASK);
    return upload(self, PART_MASK, &mask, 0, layout_length(&mask), &count);
}

/* If the mask is uploaded, all elements are, along with it. */
static bool upload_source(const struct execution *self, struct source *source, uint64_t start,
                          uint64_t length, uint64_t *n)
{
    const struct layout *from = source->from, mask = layout_of_mask(from);
    struct layout array = *from;
    const bool masked = self->schedule->choice.uploads_mask;
    if (masked)
        array.mask = NULL;
    if (!upload(self, source->uploaded, &array, start, length, n) ||
        (masked && !upload(self, PART_MASK, &mask, start, length, n)))
        return false;
    layout_set_flat(&source->layout, buffer(self, source->uploaded),
                    masked ? buffer(self, PART_MASK) : NULL, from->input, *n);
    source->layout.type = from->type;
    return true;
}

/* Uploads the piece at `start` of a host array; self->n is the number of unmasked elements. */
static bool upload_piece(struct execution *self, uint64_t start, uint64_t length)
{
    struct machine *machine = self->exec.machine;
    uint64_t count;
    self->n = length;
    if (self->schedule->choice.uploads) {
        self->piece = start / self->schedule->piece;
        if ((self->schedule->buffers > 1 && !machine->work->run_ahead(machine)) ||
            !upload_source(self, &self->array, start, length, &self->n) ||
            (self->factors.from && !upload_source(self, &self->factors, start, length, &count)))
            return false;
    }
    self->count += self->n;
    return true;
}

/* ---- inputs of steps ---- */

static bool reads_elements(const struct step *step)
{
    return step->reads == PART_ARRAY || step->reads == PART_UPLOADED || step->reads == PART_COPY;
}

/* Address of a flat part, or of the source's elements; the piece starts at element `start`. */
static const void *part_address(const struct execution *self, const struct source *source,
                                enum part reads, uint64_t start)
{
    switch (reads) {
    case PART_ARRAY:
        return (const char *)source->from->data + start * element_size(source->from->input);
    case PART_UPLOADED:
        return buffer(self, source->uploaded);
    case PART_COPY:
        return executor_part(&self->exec, source->copied);
    default:
        return executor_part(&self->exec, reads);
    }
}

/* Only a piece's first pass reads rows: of the array, or of the working copy and its mask. */
static void set_array_argument(struct execution *self, const struct step *step, uint64_t start)
{
    struct kernel_rows *rows = &self->argument.rows;
    struct layout *from = &rows->from;
    const struct choice *choice = &self->schedule->choice;
    if (!reads_elements(step) || !choice_reads_rows(choice)) {
        self->argument.flat =
            (struct kernel_array){.at = part_address(self, &self->array, step->reads, start),
                                  .base = reads_elements(step) ? start : 0};
        return;
    }
    if (step->reads != PART_COPY) {
        layout_copy(&self->array.layout, from);
    } else {
        layout_set_flat(from, executor_part(&self->exec, PART_COPY),
                        executor_part(&self->exec, PART_COPIED_MASK), choice->accumulator, step->n);
        from->type = choice->accumulator;
    }
    rows_describe(rows, start, choice->accumulator);
    rows->how.counted = executor_part(&self->exec, PART_COUNTED);
}

/* The second operand of products, or NULL. */
static const void *factors_at(const struct execution *self, const struct step *step, uint64_t start)
{
    if (!reads_elements(step) || !plan_adds_products(self->exec.plan))
        return NULL;
    return self->factors.from ? part_address(self, &self->factors, step->reads, start)
                              : self->argument.flat.at;
}

/* ---- one step ---- */

static struct epilogue next_epilogue(struct execution *self, size_t bytes)
{
    struct mailbox *mailbox = self->exec.machine->mailbox;
    return mailbox ? mailbox_next(mailbox, bytes) : (struct epilogue){.mailbox = NULL};
}

/* What the last pass does besides: an exact one that stores its result posts only its end. */
static struct epilogue last_epilogue(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    const struct plan *plan = schedule->plan;
    struct epilogue epilogue = {.mailbox = NULL};
    if (schedule->posts || schedule->stores)
        epilogue = next_epilogue(self, schedule->stores && plan->exact ? sizeof(uint32_t)
                                                                       : schedule->state_bytes);
    if (schedule->stores) {
        epilogue.out = plan_device_result(plan);
        epilogue.divisor = reduction_row(plan->reduction)->counts ? (double)self->count : 0;
    }
    return epilogue;
}

/* For exact sums of squares of complex numbers, each part is an element. */
static bool launch_pass(struct execution *self, const struct step *step, uint64_t start,
                        struct epilogue epilogue)
{
    struct machine *machine = self->exec.machine;
    const struct plan *plan = self->schedule->plan;
    enum fold fold = plan->fold;
    enum element accumulator = self->schedule->choice.accumulator,
                 factor = self->schedule->choice.factor;
    const bool by_parts = reads_elements(step) && plan->exact && fold == FOLD_norm2 &&
                          element_is_complex(accumulator);
    set_array_argument(self, step, start);
    uint64_t n = by_parts ? 2 * step->n : step->n;
    void *written = executor_part(&self->exec, step->writes),
         *tickets = machine->tickets ? machine->tickets : executor_part(&self->exec, PART_TICKETS);
    unsigned zero_signs = exact_needs_zero_signs(&plan->finish);
    struct exact_result result =
        step_exact_result(plan, accumulator, plan->exact ? epilogue.out : NULL, self->count);
    const void *factors = factors_at(self, step, start);
    void *arguments[] = {&self->argument, &n,          &written, &tickets, &epilogue,    &fold,
                         &accumulator,    &zero_signs, &result,  &factors, &accumulator, &factor};
    if (step->reducer)
        return machine->work->reduce(machine, step->reducer, self->argument.flat.at, n, written);
    return machine->work->launch(machine, step, arguments);
}

static bool launch_copy(struct execution *self, uint64_t start, uint64_t n)
{
    const struct executor *exec = &self->exec;
    const struct choice *choice = &self->schedule->choice;
    const struct step step = schedule_copy(self->schedule, n);
    const struct kernel_array flat = {part_address(self, &self->array, step.reads, start), start};
    struct copy_arguments copy = {
        .array = choice->form == FORM_FLAT ? (const void *)&flat : &self->array.layout,
        .first = choice->uploads ? 0 : start,
        .type = choice->accumulator,
        .target = executor_part(exec, PART_COPY),
        .valid = executor_part(exec, PART_COPIED_MASK),
        .fill = schedule_masked_fill(self->schedule),
    };
    if (!executor_copy(exec, &step, copy))
        return false;
    copy = (struct copy_arguments){.array = &self->factors.layout,
                                   .first = copy.first,
                                   .type = choice->factor,
                                   .target = executor_part(exec, PART_COPIED_FACTORS)};
    return !self->factors.from || executor_copy(exec, &step, copy);
}

/* One thread computes the result from the final state and posts that it is done. */
static bool finish_on_device(struct execution *self)
{
    const struct plan *plan = self->schedule->plan;
    const struct step step = schedule_finish(self->schedule, self->passes.leaves);
    enum reduction reduction = plan->reduction;
    enum element accumulator = self->schedule->choice.accumulator, out_element = plan->results.type;
    struct finish finish = finish_convert(&plan->finish, accumulator);
    finish.count = self->count;
    void *state = executor_part(&self->exec, self->passes.leaves),
         *counted = executor_part(&self->exec, PART_COUNTED), *out = plan_device_result(plan);
    struct exact_result result = step_exact_result(plan, accumulator, out, self->count);
    struct epilogue epilogue = next_epilogue(self, sizeof(uint32_t));
    void *exact_arguments[] = {&state, &result, &counted, &epilogue},
         *arguments[] = {&state, &reduction, &finish, &counted, &out_element, &out, &epilogue};
    return executor_launch(&self->exec, &step, plan->exact ? exact_arguments : arguments);
}

/* ---- passes ---- */

static bool store_identity(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    struct machine *machine = self->exec.machine;
    void *const at = executor_part(&self->exec, PART_PARTIALS);
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    if (schedule->plan->exact)
        return machine->memory->clear(machine, at, schedule->state_bytes);
    state_identity(schedule->plan->fold, schedule->choice.accumulator, state);
    return machine->memory->copy(machine, COPY_TO_DEVICE, at, state, schedule->state_bytes);
}

/* Prepares what passes expect: the identity where blocks combine, and a fresh working copy. */
static bool prepare_passes(struct execution *self, uint64_t start)
{
    return (self->exec.plan->method->style != STYLE_one_atomic || store_identity(self)) &&
           (!self->schedule->choice.copy || launch_copy(self, start, self->n));
}

/* `all`: the state that these passes leave is final, so the last of them may post it. */
static bool launch_passes(struct execution *self, uint64_t start, bool all)
{
    struct machine *machine = self->exec.machine;
    const struct passes *passes = &self->passes;
    for (unsigned k = 0; k < passes->count; k++) {
        struct epilogue epilogue = {.mailbox = NULL};
        if (all && k + 1 == passes->count)
            epilogue = last_epilogue(self);
        self->posted = epilogue.mailbox;
        self->stored = epilogue.out;
        if (!launch_pass(self, &passes->at[k], start, epilogue) ||
            (k == 0 && self->exec.run->timing && !machine->work->mark(machine, TIMING_FIRST_PASS)))
            return false;
    }
    return true;
}

/* Keeps the piece's state if there are several pieces. */
static bool reduce_piece(struct execution *self, uint64_t start, uint64_t length)
{
    struct machine *machine = self->exec.machine;
    const size_t size = self->schedule->state_bytes;
    char *const results = executor_part(&self->exec, PART_RESULTS);
    if (!upload_piece(self, start, length))
        return false;
    self->passes.leaves = PART_PARTIALS;
    if (self->n > 0)
        schedule_passes(self->schedule, false, self->n, &self->passes);
    if (self->n > 0 ? !prepare_passes(self, start) ||
                          !launch_passes(self, start, self->schedule->pieces == 1)
                    : !store_identity(self))
        return false;
    return !results || machine->memory->copy(machine, COPY_ON_DEVICE,
                                             results + start / self->schedule->piece * size,
                                             executor_part(&self->exec, self->passes.leaves), size);
}

static bool reduce_all(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    const uint64_t n = schedule->plan->n;
    for (uint64_t start = 0; start < n; start += schedule->piece)
        if ((start && run_check_interrupt(self->exec.run)) ||
            !reduce_piece(self, start, min_u64(n - start, schedule->piece)))
            return false;
    if (schedule->pieces == 1)
        return true;
    schedule_passes(schedule, true, schedule->pieces, &self->passes);
    return (schedule->plan->method->style != STYLE_one_atomic || store_identity(self)) &&
           launch_passes(self, 0, true);
}

/* ---- timing ---- */

/* Restores the working copy. */
static bool prepare_sample(void *execution)
{
    return prepare_passes(execution, 0);
}

static bool launch_sample(void *execution)
{
    return launch_passes(execution, 0, false);
}

static bool measure(struct execution *self)
{
    struct timing *timing = self->exec.run->timing;
    const struct passes *passes = &self->passes;
    if (!upload_piece(self, 0, self->schedule->piece))
        return false;
    schedule_passes(self->schedule, false, self->n, &self->passes);
    if (!machine_time_samples(self->exec.machine, self->exec.run, timing, prepare_sample,
                              launch_sample, self))
        return false;
    if (passes->count == 0) /* there is no first pass */
        memcpy(timing->first_pass, timing->seconds, timing->samples * sizeof *timing->seconds);
    timing->passes = passes->count;
    timing->grid = passes->count ? passes->at[0].grid : 0;
    timing->block = self->exec.plan->launch.block;
    timing->method = self->exec.plan->method;
    return true;
}

/* ---- runs ---- */

static bool finish_result(struct execution *self)
{
    const struct schedule *schedule = self->schedule;
    const enum element accumulator = schedule->choice.accumulator;
    const struct plan *plan = schedule->plan;
    struct machine *machine = self->exec.machine;
    struct run *run = self->exec.run;
    _Alignas(STATE_ALIGNMENT) char state[POSTED_BYTES_MAX];
    uint64_t count = self->count;
    if (schedule->counts_separately) { /* counts the unmasked elements of a device array */
        const struct step step = schedule_count(schedule);
        uint64_t n = step.n;
        void *counted = executor_part(&self->exec, PART_COUNTED);
        void *arguments[] = {&self->array.layout, &n, &counted};
        if (!executor_launch(&self->exec, &step, arguments))
            return false;
    }
    if (self->stored)
        return true;
    if (plan_device_result(plan))
        return finish_on_device(self);
    run_meanwhile(run);
    if (self->posted ? !executor_receive(&self->exec, state)
                     : !machine->memory->copy(machine, COPY_TO_HOST, state,
                                              executor_part(&self->exec, self->passes.leaves),
                                              schedule->state_bytes))
        return false;
    if (schedule->counts &&
        !machine->memory->copy(machine, COPY_TO_HOST, &count,
                               executor_part(&self->exec, PART_COUNTED), sizeof count))
        return false;
    if (plan->exact)
        run_finish_exact(run, plan, accumulator, (const int64_t *)state, count);
    else
        run_finish(run, plan, accumulator, state, count);
    return true;
}

/* An empty array has a result to deliver, too. */
static bool reduce(struct executor *exec, void *context)
{
    struct execution *self = context;
    self->passes.leaves = PART_PARTIALS;
    if (self->schedule->pieces == 0)
        return store_identity(self) && finish_result(self);
    return source_prepare(self, &self->array) && source_prepare(self, &self->factors) &&
           (exec->machine->tickets || executor_clear(exec, PART_TICKETS)) &&
           executor_clear(exec, PART_COUNTED) &&
           (exec->run->timing ? measure(self) : reduce_all(self)) && finish_result(self);
}

bool execute_pieces(struct machine *machine, const struct schedule *schedule, struct run *run)
{
    struct execution *self = calloc(1, sizeof *self);
    if (!self)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for a call");
    self->exec = (struct executor){machine, run, schedule->plan, &schedule->arena, NULL};
    self->schedule = schedule;
    self->array.from = schedule->plan->layout;
    self->array.uploaded = PART_UPLOADED;
    self->array.copied = PART_COPY;
    self->factors.from = schedule->plan->factors;
    self->factors.uploaded = PART_UPLOADED_FACTORS;
    self->factors.copied = PART_COPIED_FACTORS;
    const bool reduced = executor_run(&self->exec, reduce, self);
    free(self);
    return reduced;
}
