#define _GNU_SOURCE

#include "simulated/machine.h"

#include "common/clock.h"
#include "run/counting.h"
#include "run/gather.h"
#include "simulated/regions.h"

#include <stdlib.h>
#include <string.h>

static struct simulated_machine *simulation_of(struct machine *machine)
{
    return (struct simulated_machine *)machine;
}

/* ---- memory ---- */

/* Fresh memory is full of garbage, as a GPU's is; zeros would hide a read of what nobody wrote. */
static bool machine_allocate(struct machine *machine, size_t bytes, void **memory)
{
    enum { GARBAGE = 0xa5 };
    *memory = aligned_alloc(256, (bytes / 256 + 1) * 256);
    if (!*memory) {
        failure_note(machine->failure, FAILURE_MEMORY,
                     "out of memory for %zu bytes on the simulated device", bytes);
        return false;
    }
    memset(*memory, GARBAGE, bytes);
    return true;
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

static bool machine_copy(struct machine *machine, void *target, const void *source, size_t bytes)
{
    (void)machine;
    memcpy(target, source, bytes);
    return true;
}

/* What a piece needs is got and filled at one go, which shall not take long. */
static size_t machine_room(struct machine *machine, size_t bytes)
{
    const size_t enough = (size_t)256 << 20;
    (void)machine;
    return bytes < enough ? bytes : enough;
}

static bool machine_feed(struct machine *machine, void *target, const struct layout *layout,
                         uint64_t start, uint64_t length, uint64_t *fed)
{
    (void)machine;
    *fed = gather_unconverted(INSTRUCTIONS_baseline, layout, start, length, target);
    return true;
}

static bool machine_feed_bits(struct machine *machine, void *target, const struct layout *layout,
                              uint64_t start, uint64_t length)
{
    (void)machine;
    gather_bits(INSTRUCTIONS_baseline, layout, start, length, target);
    return true;
}

/* What is fed is there at once. */
static bool machine_run_ahead(struct machine *machine)
{
    (void)machine;
    return true;
}

/* ---- launches ---- */

/* Kernels that do not count have nothing to add. */
static bool keep_counts(struct simulated_machine *self, struct counted_launch *counts)
{
    if (counts->count == 0 || counting_add(self->counting, counts))
        return true;
    counted_launch_free(counts);
    failure_note(self->machine.failure, FAILURE_MEMORY, "out of memory for what is counted");
    return false;
}

/* Whether it is a pass, and not the making of a copy. */
static bool is_pass(const struct simulated_machine *self, const struct launch *launch)
{
    const struct plan *plan = self->plan;
    const enum method_index method = method_index_of(plan->method);
    const enum element type = plan->accumulator;
    const struct kernel_key key = {KERNEL_FLAT, plan->fold, type, type, method, plan->block};
    return launch->kernel == kernel_find(&self->kernels, key);
}

/* A kernel of a user's own may declare shared memory itself. */
static size_t shared_bytes(const struct simulated_machine *self, const struct launch *launch)
{
    return self->shared_bytes ? self->shared_bytes(launch->shared_bytes) : launch->shared_bytes;
}

/* *checker is NULL where nothing is to be checked. False when memory is short. */
static bool make_checker(struct simulated_machine *self, const struct launch *launch,
                         struct checker **checker)
{
    struct checked_launch checked = {.grid = launch->grid,
                                     .block = launch->block,
                                     .shared_bytes = shared_bytes(self, launch),
                                     .cores = simulator_multiprocessors(self->simulator)};
    *checker = NULL;
    if (!self->counting || !self->counting->fault || !is_pass(self, launch))
        return true;
    regions_of(self->plan, launch, &checked);
    *checker = checker_open(&checked, self->counting->fault);
    if (!*checker)
        failure_note(self->machine.failure, FAILURE_MEMORY, "out of memory for what is checked");
    return *checker;
}

/* Kernels that count are given the array, its length, what they write and a counter of blocks. */
static void note_memory(struct counted_launch *counts, void **arguments)
{
    if (!counts->recording.count)
        return;
    counts->array = *(const uintptr_t *)arguments[0];
    counts->partials = *(const uintptr_t *)arguments[2];
    counts->tickets = *(const uintptr_t *)arguments[3];
}

static bool launch_checked(struct simulated_machine *self, const struct launch *launch,
                           struct checker *checker)
{
    struct counted_launch counts = {.grid = launch->grid,
                                    .block = launch->block,
                                    .room = self->counting ? self->counting->room : 0};
    const struct simulator_launch simulated = {
        .kernel = (void (*)(void **))launch->kernel,
        .arguments = launch->arguments,
        .grid = launch->grid,
        .block = launch->block,
        .shared_bytes = shared_bytes(self, launch),
        .cluster = launch->cluster,
        .cooperative = launch->cooperative,
        .counts = self->counting ? &counts : NULL,
        .checker = checker,
    };
    switch (simulator_launch(self->simulator, &simulated)) {
    case SIMULATOR_DONE:
        note_memory(&counts, launch->arguments);
        return keep_counts(self, &counts);
    case SIMULATOR_INTERRUPTED:
        counted_launch_free(&counts);
        failure_note(self->machine.failure, FAILURE_EXCEPTION, "interrupted");
        return false;
    default:
        counted_launch_free(&counts);
        failure_note(self->machine.failure, FAILURE_RUNTIME, "simulated device: %s",
                     simulator_message(self->simulator));
        return false;
    }
}

static bool machine_launch(struct machine *machine, const struct launch *launch)
{
    struct simulated_machine *self = simulation_of(machine);
    struct checker *checker;
    if (!make_checker(self, launch, &checker))
        return false;
    bool done = launch_checked(self, launch, checker);
    if (done && checker && !checker_end(checker)) {
        failure_note(machine->failure, FAILURE_RUNTIME, "the kernel is at fault");
        done = false;
    }
    checker_close(checker);
    return done;
}

/* A launch returns when it is done. */
static bool machine_wait(struct machine *machine)
{
    (void)machine;
    return true;
}

static enum progress machine_progress(struct machine *machine)
{
    (void)machine;
    return PROGRESS_DONE;
}

/* One, unless what is counted is to be what another device would do. */
static bool machine_resident(struct machine *machine, const void *kernel, unsigned block,
                             size_t shared_bytes, unsigned *blocks)
{
    (void)kernel;
    (void)shared_bytes;
    *blocks = simulation_of(machine)->counting ? counting_resident(block) : 1;
    return true;
}

/* ---- measuring ---- */

/* A simulated run is far too slow for a cache to make a difference. */
static bool machine_flush(struct machine *machine)
{
    (void)machine;
    return true;
}

static bool machine_mark(struct machine *machine, enum moment moment)
{
    simulation_of(machine)->moments[moment] = clock_now();
    return true;
}

static bool machine_elapsed(struct machine *machine, double *first_pass, double *seconds)
{
    const double *moments = simulation_of(machine)->moments;
    *first_pass = moments[MOMENT_FIRST_PASS] - moments[MOMENT_BEGIN];
    *seconds = moments[MOMENT_END] - moments[MOMENT_BEGIN];
    return true;
}

/* ---- the whole ---- */

/* Where it is counted, passes are those of the device that is counted for, by kernels that count.
 */
static void choose_kernels(struct simulated_machine *self, const struct substitute *substitute)
{
    self->kernels = kernels_simulated;
    if (self->counting) {
        self->kernels.flat = counting_flat;
        self->machine.multiprocessors = self->counting->multiprocessors;
    }
    if (substitute_is_for(substitute, self->plan)) {
        self->kernels.flat = self->counting ? substitute->counting : substitute->plain;
        self->shared_bytes = substitute->shared_bytes;
    }
}

static const struct machine_memory machine_memory = {
    .allocate = machine_allocate,
    .release = machine_release,
    .leave = machine_wait,
    .lend = machine_allocate,
    .take_back = machine_release,
    .room = machine_room,
    .clear = machine_clear,
    .copy_in = machine_copy,
    .copy_out = machine_copy,
    .copy_within = machine_copy,
    .feed = machine_feed,
    .feed_bits = machine_feed_bits,
};

static const struct machine_work machine_work = {
    .run_ahead = machine_run_ahead,
    .launch = machine_launch,
    .resident = machine_resident,
    .wait = machine_wait,
    .progress = machine_progress,
    .flush = machine_flush,
    .mark = machine_mark,
    .elapsed = machine_elapsed,
};

void simulated_machine_open(struct simulated_machine *self, struct simulator *simulator,
                            struct mailbox *mailbox, const struct plan *plan,
                            const struct substitute *substitute, struct run *run)
{
    *self = (struct simulated_machine){
        .machine =
            {
                .memory = &machine_memory,
                .work = &machine_work,
                .multiprocessors = simulator_multiprocessors(simulator),
                .kernels = &self->kernels,
                .failure = &run->failure,
                .mailbox = mailbox,
            },
        .simulator = simulator,
        .counting = run->counting,
        .plan = plan,
    };
    choose_kernels(self, substitute);
}
