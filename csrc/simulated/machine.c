#define _GNU_SOURCE

#include "simulated/machine.h"

#include "common/processor.h"
#include "run/counting.h"
#include "simulated/checker.h"
#include "simulated/memory.h"
#include "threads/gather.h"

#include <stdlib.h>
#include <string.h>

enum { SHARED_BYTES = 48 << 10 }; /* per block, as on any GPU */

static struct simulated_machine *simulation_of(struct machine *machine)
{
    return (struct simulated_machine *)machine;
}

/* ---- memory ---- */

static bool machine_allocate(struct machine *machine, size_t bytes, void **memory)
{
    *memory = simulated_malloc(bytes);
    return *memory || failure_record(machine->failure, FAILURE_MEMORY,
                                     "out of memory for %zu bytes on the simulated device", bytes);
}

static void machine_release(struct machine *machine, void *memory)
{
    (void)machine;
    free(memory);
}

static bool machine_clear(struct machine *machine, void *target, size_t bytes)
{
    (void)machine;
    memset(target, 0, bytes);
    return true;
}

static bool machine_copy(struct machine *machine, enum copy_kind way, void *target,
                         const void *source, size_t bytes)
{
    (void)machine, (void)way;
    memcpy(target, source, bytes);
    return true;
}

/* A piece is allocated and filled in one call, which should not take long. */
static size_t machine_room(struct machine *machine, size_t bytes)
{
    const size_t enough = (size_t)256 << 20;
    (void)machine;
    return bytes < enough ? bytes : enough;
}

static bool machine_upload(struct machine *machine, void *target, const struct layout *layout,
                           uint64_t start, uint64_t length, uint64_t *fed)
{
    (void)machine;
    *fed = gather_unconverted(INSTRUCTIONS_baseline, layout, start, length, target);
    return true;
}

/* ---- what is checked ---- */

/* Whether the step is a pass, not a copy. */
static bool is_pass(const struct simulated_machine *self, const struct step *step)
{
    const struct plan *plan = self->plan;
    const enum method_index method = method_index_of(plan->method);
    const enum element type = plan->accumulator;
    const struct kernel_key key = {KERNEL_FLAT, plan->fold, type, type, method, plan->launch.block};
    return step->kernel == kernel_find(&self->kernels, key);
}

/* The memory of a rung's pass over elements of the accumulator's type: the array; a partial result
 * per block, one result, or none if the method works in place; and tickets. */
static struct regions regions_of(const struct plan *plan, const struct simulator_launch *launch)
{
    const struct kernel_array *array = launch->arguments[0];
    const uint64_t n = *(const uint64_t *)launch->arguments[1];
    const uintptr_t written = *(const uintptr_t *)launch->arguments[2];
    const uintptr_t tickets = *(const uintptr_t *)launch->arguments[3];
    const unsigned size = (unsigned)element_size(plan->accumulator);
    const bool combines = plan->method->style == STYLE_one_atomic;
    struct regions regions = {.at = {{.name = "element",
                                      .at = (uintptr_t)array->at,
                                      .bytes = n * size,
                                      .element = size,
                                      .initialized = true,
                                      .read_only = !method_is(plan->method, METHOD_IN_PLACE)}},
                              .count = 1};
    if (plan->method->style != STYLE_levels)
        regions.at[regions.count++] = (struct region){.name = combines ? "result" : "partial",
                                                      .at = written,
                                                      .bytes = (combines ? 1 : launch->grid) * size,
                                                      .element = size,
                                                      .initialized = combines,
                                                      .must_be_written = true};
    if (tickets)
        regions.at[regions.count++] = (struct region){.name = "ticket",
                                                      .at = tickets,
                                                      .bytes = sizeof(unsigned),
                                                      .element = sizeof(unsigned),
                                                      .initialized = true,
                                                      .is_atomic = true};
    return regions;
}

/* Has a pass checked if the run requires it. False if out of memory. */
static bool check_launch(const struct simulated_machine *self, const struct step *step,
                         struct simulator_launch *launch)
{
    const struct counting *counting = self->run->counting;
    if (!counting || !counting->fault || !is_pass(self, step))
        return true;
    const struct regions regions = regions_of(self->plan, launch);
    launch->checker =
        checker_open(launch, simulator_multiprocessors(self->simulator), &regions, counting->fault);
    return launch->checker ||
           failure_record(&self->run->failure, FAILURE_MEMORY, "out of memory for what is checked");
}

/* ---- launches ---- */

/* Moves the counts to the run. Launches without counts are dropped. Counting kernels take the
 * array, its length, their output and a ticket counter. */
static bool store_counts(struct run *run, struct counted_launch *counts, void **arguments)
{
    struct counting *counting = run->counting;
    if (counts->recording.count) {
        counts->array = *(const uintptr_t *)arguments[0];
        counts->partials = *(const uintptr_t *)arguments[2];
        counts->tickets = *(const uintptr_t *)arguments[3];
    }
    if (counts->count == 0)
        return true;
    struct counted_launch *more =
        realloc(counting->launches, (counting->count + 1) * sizeof *counting->launches);
    if (!more)
        return failure_record(&run->failure, FAILURE_MEMORY, "out of memory for what is counted");
    counting->launches = more;
    more[counting->count++] = *counts;
    return true;
}

/* A user's kernel may declare shared memory itself. */
static bool machine_launch(struct machine *machine, const struct step *step, void **arguments)
{
    struct simulated_machine *self = simulation_of(machine);
    struct run *run = self->run;
    const struct substitute *sub = run->substitute;
    struct counted_launch counts = {
        .grid = step->grid, .block = step->block, .room = run->counting ? run->counting->room : 0};
    struct simulator_launch launch = {
        .kernel = (void (*)(void **))step->kernel,
        .arguments = arguments,
        .grid = step->grid,
        .block = step->block,
        .shared_bytes =
            sub && sub->shared_bytes ? sub->shared_bytes(step->shared_bytes) : step->shared_bytes,
        .cluster = step->cluster,
        .cooperative = step->cooperative,
        .order = run->order,
        .seed = run->seed,
        .run = run,
        .counts = run->counting ? &counts : NULL,
    };
    if (!check_launch(self, step, &launch))
        return false;
    const struct failure *failure = simulator_launch(self->simulator, &launch);
    bool done =
        failure->kind == FAILURE_NONE
            ? store_counts(run, &counts, arguments)
            : failure_record(&run->failure, failure->kind, "simulated device: %s", failure->text);
    if (!done)
        counted_launch_free(&counts);
    else if (launch.checker && !checker_end(launch.checker))
        done = failure_record(&run->failure, FAILURE_RUNTIME, "the kernel is at fault");
    checker_close(launch.checker);
    return done;
}

/* Feeding and launching are synchronous, so there is nothing to wait for. The cache is not flushed:
 * simulated runs are too slow for it to matter. */
static bool machine_no_op(struct machine *machine)
{
    (void)machine;
    return true;
}

static enum progress machine_progress(struct machine *machine)
{
    (void)machine;
    return PROGRESS_DONE;
}

/* One, unless another device's work is counted. */
static bool machine_resident(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                             unsigned *blocks)
{
    (void)kernel, (void)shared_bytes;
    *blocks = simulation_of(device)->run->counting ? counting_resident(block) : 1;
    return true;
}

/* ---- measuring ---- */

static bool machine_mark(struct machine *machine, enum timing_event timing_event)
{
    simulation_of(machine)->times[timing_event] = clock_now();
    return true;
}

static bool machine_elapsed(struct machine *machine, double *first_pass, double *seconds)
{
    const double *times = simulation_of(machine)->times;
    *first_pass = times[TIMING_FIRST_PASS] - times[TIMING_BEGIN];
    *seconds = times[TIMING_END] - times[TIMING_BEGIN];
    return true;
}

/* ---- the machine ---- */

static const struct machine_memory machine_memory = {
    .allocate = machine_allocate,
    .release = machine_release,
    .leave = machine_no_op,
    .acquire = machine_allocate,
    .room = machine_room,
    .clear = machine_clear,
    .copy = machine_copy,
    .feed = machine_upload,
};

static const struct machine_work machine_work = {
    .run_ahead = machine_no_op,
    .launch = machine_launch,
    .wait = machine_no_op,
    .progress = machine_progress,
    .flush = machine_no_op,
    .mark = machine_mark,
    .elapsed = machine_elapsed,
};

/* When counting, it has the parameters of the device counted for, and counting kernels. */
void simulated_machine_open(struct simulated_machine *self, struct simulator *simulator,
                            const struct plan *plan, struct run *run)
{
    const struct counting *counting = run->counting;
    const struct substitute *substitute = run->substitute;
    self->machine =
        (struct machine){.memory = &machine_memory,
                         .work = &machine_work,
                         .facts = {.kernels = &self->kernels,
                                   .multiprocessors = simulator_multiprocessors(simulator),
                                   .shared_bytes = SHARED_BYTES,
                                   .resident = machine_resident,
                                   .device = &self->machine},
                         .failure = &run->failure,
                         .mailbox = &self->mailbox};
    self->mailbox = (struct mailbox){.words = self->words, .on_device = self->words};
    self->simulator = simulator;
    self->run = run;
    self->plan = plan;
    self->kernels = kernels_simulated;
    if (counting) {
        self->kernels.flat = counting_flat;
        self->machine.facts.multiprocessors = counting->multiprocessors;
    }
    if (substitute)
        self->kernels.flat = counting ? substitute->counting : substitute->plain;
}
