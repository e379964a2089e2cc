/* The simulated backend: lends simulators to runs, warns of slow runs, and allocates arrays. */
#define _GNU_SOURCE

#include "common/arithmetic.h"
#include "common/processor.h"
#include "plan/axes.h"
#include "run/counting.h"
#include "simulated/machine.h"
#include "simulated/memory.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct state {
    _Atomic(struct simulator *) idle; /* between runs */
    struct simulated_memory memory;
};

/* The idle simulator, if the number of cores that the process may use is unchanged, or a new one. A
 * cooperative launch takes a core per block; when counting for a larger device, as many as are
 * resident there or as it has blocks. To be reproducible, other recordings use one core. */
static struct simulator *simulator_for(struct state *state, const struct plan *plan,
                                       const struct counting *counting)
{
    if (counting && plan->method->style == STYLE_cooperative) {
        const uint64_t room =
            (uint64_t)counting->multiprocessors * counting_resident(plan->launch.block);
        const uint64_t blocks =
            ceil_div(plan->n, (uint64_t)plan->launch.block * plan->launch.data_blocks);
        return simulator_open((unsigned)min_u64(room, blocks));
    }
    if (counting && counting->room)
        return simulator_open(1);
    struct simulator *idle = atomic_exchange(&state->idle, NULL);
    if (idle && simulator_multiprocessors(idle) == processor_cores())
        return idle;
    simulator_close(idle);
    return simulator_open(processor_cores());
}

static void *create(void)
{
    return calloc(1, sizeof(struct state));
}

static void destroy(void *opaque)
{
    struct state *state = opaque;
    simulator_close(state->idle);
    free(state);
}

static bool out_of_memory(struct failure *failure)
{
    return failure_record(failure, FAILURE_MEMORY, "out of memory for the simulated device");
}

/* ---- runs ---- */

static bool run_job(struct state *state, const struct plan *plan, struct run *run)
{
    struct simulator *simulator = simulator_for(state, plan, run->counting);
    struct simulated_machine *machine = calloc(1, sizeof *machine); /* the stack may be small */
    bool ran = false;
    if (simulator && machine) {
        simulated_machine_open(machine, simulator, plan, run);
        ran = execute(&machine->machine, plan, run);
    } else
        out_of_memory(&run->failure);
    free(machine);
    const bool usable = ran && simulator_multiprocessors(simulator) == processor_cores();
    simulator_close(usable ? atomic_exchange(&state->idle, simulator) : simulator);
    return ran;
}

/* ---- estimating the time ---- */

/* Elements that are all the array's first one, and so in memory, whatever its layout. */
static struct layout repeat_first(const struct layout *array, uint64_t n)
{
    return (struct layout){.data = array->data,
                           .input = array->input,
                           .type = array->type,
                           .swapped = array->swapped,
                           .dimensions = 1,
                           .shape = {n}};
}

/* Estimates the time by a trial of fewer elements. A result takes about as long as some elements.
 */
static bool warn_if_slow(struct state *state, const struct plan *plan, struct run *run)
{
    enum { TRIAL = 1 << 20, SHORT_ENOUGH = 1 << 23, SLOW_SECONDS = 10, RESULT = 64 };
    const double runs = run->timing ? run->timing->warmup + run->timing->samples : 1,
                 each = (double)(plan ? plan->n : run->timing->bytes),
                 all = (plan && plan->axes ? (double)plan->axes->results * (each + RESULT) : each) *
                       runs;
    if (plan ? all <= SHORT_ENOUGH : run->timing->bytes <= TRIAL)
        return true;
    double once;
    struct timing timing = {.bytes = TRIAL, .samples = 1, .seconds = &once};
    struct run tried = {.watch = run->watch,
                        .order = run->order,
                        .seed = run->seed,
                        .timing = plan ? NULL : &timing,
                        .workspace_limit = run->workspace_limit,
                        .substitute = run->substitute};
    struct plan trial;
    struct layout array, factors;
    if (plan) {
        array = repeat_first(plan->layout, TRIAL);
        trial = *plan;
        plan_retarget(&trial, &array, TRIAL, false);
        trial.launch.batch_invariant = false;
        trial.means = NULL;
        trial.results = (struct results){.on_device = false};
    }
    if (plan && plan->factors) {
        factors = repeat_first(plan->factors, TRIAL);
        trial.factors = &factors;
    }
    const double began = clock_now();
    if (!run_job(state, plan ? &trial : NULL, &tried)) {
        run->failure = tried.failure;
        return false;
    }
    const double seconds = (clock_now() - began) * (all / TRIAL);
    char text[160];
    snprintf(text, sizeof text,
             "this will take about %ld seconds on the simulated device; use fewer elements or "
             "device='host', or interrupt with Ctrl-C",
             (long)(seconds + 0.5));
    return seconds < SLOW_SECONDS || run_warn(run, text);
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    if (plan && !plan->axes && !plan_fits(plan, &run->failure))
        return false;
    const bool tried = !plan || (!run->explanation && !plan->segments.of &&
                                 !plan->elements.list); /* of any lengths */
    return (!tried || warn_if_slow(state, plan, run)) && run_job(state, plan, run);
}

/* ---- the backend ---- */

static bool describe(int index, struct device *device)
{
    (void)index;
    *device = (struct device){.name = "simulated",
                              .title = "a GPU simulated on the CPU",
                              .units = processor_cores(),
                              .memory = processor_memory()};
    return true;
}

/* Empty arrays have no address. */
static enum located locate(void *opaque, struct view *view, struct failure *failure)
{
    struct state *state = opaque;
    const struct extent extent = layout_extent(&view->layout);
    (void)failure;
    if (extent.bytes == 0)
        return LOCATED_NOT_FOUND;
    view->held.pin = simulated_allocation_find(&state->memory, extent.first, extent.bytes);
    if (!view->held.pin)
        return LOCATED_NOT_FOUND;
    view->held.unpin = simulated_allocation_release;
    view->platform = &backend_simulated.platform;
    view->device = 0;
    return LOCATED_FOUND;
}

/* ---- memory for results ---- */

static bool allocate(void *opaque, struct device_memory *memory, struct failure *failure)
{
    struct state *state = opaque;
    struct simulated_allocation *block = simulated_allocation_new(&state->memory, memory->bytes);
    if (!block)
        return failure_record(failure, FAILURE_MEMORY,
                              "out of memory for %zu bytes on the simulated device", memory->bytes);
    memory->at = block->bytes;
    memory->pin = block;
    return true;
}

static void release(void *state, const struct device_memory *memory)
{
    (void)state;
    simulated_allocation_release(memory->pin);
}

static bool read_results(void *state, const struct device_memory *memory, void *target,
                         struct failure *failure)
{
    (void)state, (void)failure;
    memcpy(target, memory->at, memory->bytes);
    return true;
}

const struct backend backend_simulated = {
    .platform = {.name = "simulated",
                 .place = METHOD_ON_SIMULATED,
                 .automatic = METHOD_last_block,
                 .locate = locate,
                 .allocate = allocate,
                 .release = release,
                 .read = read_results},
    .uses_order = true,
    .uses_workspace = true,
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .run = run,
};
