#include "passes.h"

#include "timing.h"

#include <stdlib.h>
#include <string.h>

/* The memory of one run. Partials alternate between two buffers, pass by pass. */
struct workspace {
    void *uploaded;    /* a host array's copy on the device */
    const void *input; /* the array on the device: uploaded, or where the caller has it */
    void *copy;        /* the working copy, in the accumulator's type */
    void *partials[2];
    void *tickets;
};

/* What a run of the passes needs to know, besides the plan. */
struct passes {
    struct machine *machine;
    const struct plan *plan;
    struct workspace space;
    bool measured;
    unsigned done; /* passes so far */
    uint64_t grid; /* of the first */
};

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

static const void *kernel_from(const struct passes *self, enum element input)
{
    const struct plan *plan = self->plan;
    return self->machine->kernels->of_method(plan->op, method_index_of(plan->method), input,
                                             plan->accumulator, plan->block);
}

static library_reduce *library_from(const struct passes *self, enum element input)
{
    return self->machine->kernels->of_library(self->plan->op, input, self->plan->accumulator);
}

/* In-place methods must not touch the caller's array; others need a copy only to change its type
 * where no kernel does that on the way. */
static bool needs_copy(const struct passes *self)
{
    const struct plan *plan = self->plan;
    if (method_works_in_place(plan->method))
        return true;
    if (plan->method->schedule == SCHEDULE_library)
        return !library_from(self, plan->input);
    return !kernel_from(self, plan->input);
}

static size_t shared_bytes(const struct plan *plan)
{
    return method_works_in_place(plan->method) ? 0 : plan->block * element_size(plan->accumulator);
}

/* Whether a pass leaves partials that take another one. */
static bool repeats(const struct plan *plan)
{
    return plan->method->schedule == SCHEDULE_in_place ||
           plan->method->schedule == SCHEDULE_tiles ||
           plan->method->schedule == SCHEDULE_grid_stride;
}

/* How many blocks a pass over n elements gets. */
static bool grid_for(const struct passes *self, const void *kernel, uint64_t n, uint64_t *grid)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    unsigned a_multiprocessor = plan->method->threads / plan->block;
    *grid = divide_up(n, (uint64_t)plan->block * plan->method->data_blocks);
    switch (plan->method->schedule) {
    case SCHEDULE_cooperative:
        if (!machine->resident(machine, kernel, plan->block, shared_bytes(plan), &a_multiprocessor))
            return false;
        break;
    case SCHEDULE_grid_stride:
    case SCHEDULE_one_atomic:
    case SCHEDULE_last_block:
        break;
    default:
        return true;
    }
    const uint64_t most =
        (uint64_t)machine->multiprocessors * (a_multiprocessor ? a_multiprocessor : 1);
    *grid = *grid < most ? *grid : most;
    return true;
}

static bool launch_pass(struct passes *self, const void *kernel, const void *data, uint64_t n,
                        void *partials, uint64_t grid)
{
    void *arguments[] = {&data, &n, &partials, &self->space.tickets};
    const struct launch launch = {
        .kernel = kernel,
        .arguments = arguments,
        .grid = grid,
        .block = self->plan->block,
        .shared_bytes = shared_bytes(self->plan),
        .cooperative = self->plan->method->schedule == SCHEDULE_cooperative,
    };
    if (!self->machine->launch(self->machine, &launch))
        return false;
    if (self->done++)
        return true;
    self->grid = grid;
    return !self->measured || self->machine->mark(self->machine, MOMENT_FIRST_PASS);
}

/* The upper half onto the lower, until one element is left. */
static bool run_levels(struct passes *self, const void **result)
{
    const void *kernel = kernel_from(self, self->plan->accumulator);
    for (uint64_t n = self->plan->n; n > 1; n -= n / 2)
        if (!launch_pass(self, kernel, self->space.copy, n, NULL,
                         divide_up(n / 2, self->plan->block)))
            return false;
    *result = self->space.copy;
    return true;
}

/* The method on the array, then on the partials, until one is left. The single-launch schedules
 * leave one at once. */
static bool run_rounds(struct passes *self, const void **result)
{
    const struct plan *plan = self->plan;
    const void *data = self->space.copy ? self->space.copy : self->space.input;
    enum element input = self->space.copy ? plan->accumulator : plan->input;
    uint64_t n = plan->n;
    for (unsigned turn = 0;; turn ^= 1) {
        const void *kernel = kernel_from(self, input);
        void *partials = self->space.partials[turn];
        uint64_t grid;
        if (!grid_for(self, kernel, n, &grid) ||
            !launch_pass(self, kernel, data, n, partials, grid))
            return false;
        data = partials;
        input = plan->accumulator;
        n = grid;
        if (n == 1 || !repeats(plan))
            break;
    }
    *result = data;
    return true;
}

static bool run_library(struct passes *self, const void **result)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const void *data = self->space.copy ? self->space.copy : self->space.input;
    library_reduce *reduce = library_from(self, self->space.copy ? plan->accumulator : plan->input);
    if (!machine->reduce(machine, reduce, data, plan->n, self->space.partials[0]))
        return false;
    self->done = 1;
    *result = self->space.partials[0];
    return !self->measured || machine->mark(machine, MOMENT_FIRST_PASS);
}

static bool run_once(struct passes *self, const void **result)
{
    const struct plan *plan = self->plan;
    self->done = 0;
    self->grid = 0;
    switch (plan->method->schedule) {
    case SCHEDULE_levels:
        return run_levels(self, result);
    case SCHEDULE_library:
        return run_library(self, result);
    default:
        return run_rounds(self, result);
    }
}

/* ---- memory ---- */

static void release(struct passes *self)
{
    struct machine *machine = self->machine;
    machine->release(machine, self->space.uploaded);
    machine->release(machine, self->space.copy);
    machine->release(machine, self->space.partials[0]);
    machine->release(machine, self->space.partials[1]);
    machine->release(machine, self->space.tickets);
}

static bool upload(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const size_t bytes = plan->n * element_size(plan->input);
    self->space.input = plan->data;
    if (plan->data_on_device)
        return true;
    if (!machine->allocate(machine, bytes, &self->space.uploaded) ||
        !machine->copy_in(machine, self->space.uploaded, plan->data, bytes))
        return false;
    self->space.input = self->space.uploaded;
    return true;
}

/* How many partials the first pass can leave; later passes leave fewer. */
static bool count_partials(const struct passes *self, uint64_t *count)
{
    *count = 1;
    if (self->plan->method->schedule == SCHEDULE_levels ||
        self->plan->method->schedule == SCHEDULE_library)
        return true;
    const bool copied = needs_copy(self);
    return grid_for(self, kernel_from(self, copied ? self->plan->accumulator : self->plan->input),
                    self->plan->n, count);
}

static bool prepare(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const size_t size = element_size(plan->accumulator);
    uint64_t count;
    if (!upload(self) || !count_partials(self, &count))
        return false;
    if (needs_copy(self)) {
        /* A host array's copy on the device is gred's own: run once, it may serve as the working
         * copy. */
        if (self->space.uploaded && plan->input == plan->accumulator && !self->measured) {
            self->space.copy = self->space.uploaded;
            self->space.uploaded = NULL;
            self->space.input = NULL;
        } else if (!machine->allocate(machine, plan->n * size, &self->space.copy)) {
            return false;
        }
    }
    if (!machine->allocate(machine, count * size, &self->space.partials[0]) ||
        (repeats(plan) && !machine->allocate(machine, count * size, &self->space.partials[1])))
        return false;
    const unsigned zero = 0;
    return plan->method->schedule != SCHEDULE_last_block ||
           (machine->allocate(machine, sizeof zero, &self->space.tickets) &&
            machine->copy_in(machine, self->space.tickets, &zero, sizeof zero));
}

static bool restore_copy(struct passes *self)
{
    enum { BLOCK = 512, BLOCKS_A_MULTIPROCESSOR = 8 };
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    uint64_t n = plan->n;
    void *arguments[] = {&self->space.input, &n, &self->space.copy};
    const uint64_t most = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
                   grid = divide_up(n, BLOCK);
    const struct launch launch = {
        .kernel = machine->kernels->working_copy(plan->input, plan->accumulator),
        .arguments = arguments,
        .grid = grid < most ? grid : most,
        .block = BLOCK,
    };
    return machine->launch(machine, &launch);
}

/* What a method expects to find: a fresh working copy, where it works on one, and the identity,
 * where its blocks combine into the result. */
static bool make_ready(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const union scalar identity = op_identity(plan->op, plan->accumulator);
    if (plan->method->schedule == SCHEDULE_one_atomic &&
        !machine->copy_in(machine, self->space.partials[0], &identity,
                          element_size(plan->accumulator)))
        return false;
    return !self->space.copy || !self->space.input || restore_copy(self);
}

static bool interrupted(struct machine *machine, const struct run *run)
{
    if (!run->watch->interrupted(run->watch->context))
        return false;
    failure_note(machine->failure, FAILURE_EXCEPTION, "interrupted");
    return true;
}

/* ---- one run, or many measured ---- */

static bool measure(struct passes *self, struct run *run, const void **result)
{
    struct timing *timing = run->timing;
    struct machine *machine = self->machine;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (interrupted(machine, run) || !make_ready(self) ||
            (timing->cold && !machine->flush(machine)) || !machine->mark(machine, MOMENT_BEGIN) ||
            !run_once(self, result) || !machine->mark(machine, MOMENT_END) ||
            !machine->elapsed(machine, &first_pass, &seconds))
            return false;
        if (s >= timing->warmup) {
            timing->first_pass[s - timing->warmup] = self->done ? first_pass : seconds;
            timing->seconds[s - timing->warmup] = seconds;
        }
    }
    timing->passes = self->done;
    timing->grid = self->grid;
    timing->block = self->plan->block;
    return true;
}

bool passes_run(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct passes self = {.machine = machine, .plan = plan, .measured = run->timing};
    const void *result = NULL;
    const bool ran =
        prepare(&self) &&
        (run->timing ? measure(&self, run, &result)
                     : make_ready(&self) && run_once(&self, &result)) &&
        machine->copy_out(machine, &run->result, result, element_size(plan->accumulator));
    release(&self);
    return ran;
}

/* ---- the read limit ---- */

enum { READ_BLOCK = 512, PACK_BYTES = 16 };

/* Grids to try: blocks a multiprocessor that stride over the memory; 0 is a block for every tile.
 */
static const unsigned read_grids[] = {0, 2, 4};

static bool measure_read(struct machine *machine, unsigned shape, unsigned blocks, void *data,
                         void *sink, size_t bytes, const struct run *run, struct timing *timing)
{
    static const unsigned loads[READ_SHAPES] = {2, 4, 8};
    uint64_t packs = bytes / PACK_BYTES;
    void *arguments[] = {&data, &packs, &sink};
    const uint64_t tiles = divide_up(packs, (uint64_t)READ_BLOCK * loads[shape]);
    const uint64_t most = blocks ? (uint64_t)machine->multiprocessors * blocks : tiles;
    const struct launch launch = {
        .kernel = machine->kernels->read(shape),
        .arguments = arguments,
        .grid = tiles < most ? tiles : most,
        .block = READ_BLOCK,
    };
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (interrupted(machine, run) || !machine->flush(machine) ||
            !machine->mark(machine, MOMENT_BEGIN) || !machine->launch(machine, &launch) ||
            !machine->mark(machine, MOMENT_FIRST_PASS) || !machine->mark(machine, MOMENT_END) ||
            !machine->elapsed(machine, &first_pass, &seconds))
            return false;
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = seconds;
    }
    timing->grid = launch.grid;
    timing->block = READ_BLOCK;
    return true;
}

/* Tries every shape and leaves the best one's samples in run->timing. */
static bool read_shapes(struct machine *machine, void *data, void *sink, size_t bytes,
                        const struct run *run)
{
    struct timing *best = run->timing;
    struct timing trial = *best;
    trial.seconds = malloc(best->samples * sizeof *trial.seconds);
    if (!trial.seconds) {
        failure_note(machine->failure, FAILURE_MEMORY, "out of memory for the samples");
        return false;
    }
    double least = 0;
    bool read = true;
    for (unsigned k = 0; read && k < READ_SHAPES * (sizeof read_grids / sizeof *read_grids); k++) {
        read = measure_read(machine, k % READ_SHAPES, read_grids[k / READ_SHAPES], data, sink,
                            bytes, run, &trial);
        const double median = read ? timing_median(&trial) : 0;
        if (read && (k == 0 || median < least)) {
            least = median;
            memcpy(best->seconds, trial.seconds, best->samples * sizeof *best->seconds);
            best->grid = trial.grid;
            best->block = trial.block;
        }
    }
    free(trial.seconds);
    return read;
}

/* Fills device memory with random bits, a stretch at a time: memory full of one value can be read
 * faster than real data. */
static bool fill_randomly(struct machine *machine, void *data, size_t bytes)
{
    enum { STRETCH = 16 << 20 };
    const size_t stretch = bytes < STRETCH ? bytes : STRETCH;
    void *random = malloc(stretch);
    if (!random) {
        failure_note(machine->failure, FAILURE_MEMORY, "out of memory for random data");
        return false;
    }
    timing_random(random, stretch);
    bool filled = true;
    for (size_t at = 0; filled && at < bytes; at += stretch)
        filled = machine->copy_in(machine, (char *)data + at, random,
                                  bytes - at < stretch ? bytes - at : stretch);
    free(random);
    return filled;
}

bool passes_read(struct machine *machine, size_t bytes, struct run *run)
{
    void *data = NULL, *sink = NULL;
    const bool read =
        machine->allocate(machine, bytes, &data) && machine->allocate(machine, PACK_BYTES, &sink) &&
        fill_randomly(machine, data, bytes) && read_shapes(machine, data, sink, bytes, run);
    machine->release(machine, data);
    machine->release(machine, sink);
    return read;
}
