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

/* Time is proportional to the number of elements, so a run on a part of them gives an estimate.
 * Along axes, the part is the first results, as many as there is work for; of a single result, its
 * first elements. So the same kernel is used. The trial must not move: the plan points into it. */
struct trial {
    struct plan plan;
    struct axes axes; /* only a layout if there are no axes */
    union scalar out;
    void *results; /* memory for results; NULL: no axes */
};

/* Reduces a shape to about `length` elements, and returns their number. */
static uint64_t shrink(uint64_t *shape, unsigned dimensions, uint64_t length)
{
    uint64_t all = 1;
    for (unsigned k = 0; k < dimensions; k++)
        all *= shape[k];
    for (unsigned k = 0; k < dimensions; k++) {
        const uint64_t times = all / length, before = shape[k];
        if (times > 1)
            shape[k] = before > times ? before / times : 1;
        all = all / before * shape[k];
    }
    return all;
}

/* Not 0. */
static double total_elements(const struct plan *plan)
{
    return (double)plan->n * (double)(plan->axes ? plan->axes->results : 1);
}

/* Uses no given means, which are indexed by all results. The remaining results are contiguous. */
static bool shrink_results(struct trial *self, const struct axes *all, uint64_t elements)
{
    struct plan *plan = &self->plan;
    struct results *results = &plan->results;
    struct axes *axes = &self->axes;
    int64_t place = 1;
    axes_copy(all, axes);
    axes->results = shrink(axes->shape, axes->outer, plan->n < elements ? elements / plan->n : 1);
    axes->first = 0;
    for (unsigned k = axes->outer; k-- > 0; place *= (int64_t)axes->shape[k])
        axes->places[k] = place;
    const size_t bytes = axes->results * results_max_size(results);
    self->results = malloc(bytes * results->values);
    plan->axes = axes;
    plan->means = NULL;
    results->out = NULL;
    for (unsigned k = 0; k < results->values; k++)
        results->at[k] = (char *)self->results + k * bytes;
    return self->results;
}

static struct trial *trial_begin(const struct plan *all, uint64_t elements)
{
    struct trial *self = malloc(sizeof *self); /* threads' stacks may be small */
    if (!self)
        return NULL;
    struct layout *layout = &self->axes.reduced;
    self->plan = *all;
    self->plan.layout = layout;
    self->plan.results.at[0] = &self->out;
    self->results = NULL;
    self->axes.results = 1;
    if (all->axes && !shrink_results(self, all->axes, elements)) {
        free(self);
        return NULL;
    }
    if (!all->axes)
        layout_copy(all->layout, layout);
    shrink(layout->shape, layout->dimensions, ceil_div(elements, self->axes.results));
    self->plan.n = layout_length(layout);
    return self;
}

/* Estimates the time by a trial on a part of the elements. */
static bool warn_if_slow(struct state *state, const struct plan *plan, struct run *run)
{
    enum { TRIAL = 1 << 20, SHORT_ENOUGH = 1 << 23, SLOW_SECONDS = 10 };
    const double runs = run->timing ? run->timing->warmup + run->timing->samples : 1,
                 all = (plan ? total_elements(plan) : (double)run->timing->bytes) * runs;
    if (plan ? all <= SHORT_ENOUGH : run->timing->bytes <= TRIAL)
        return true;
    double once, part = TRIAL;
    struct timing timing = {.bytes = TRIAL, .samples = 1, .seconds = &once};
    struct run tried = {.watch = run->watch,
                        .order = run->order,
                        .seed = run->seed,
                        .timing = plan ? NULL : &timing,
                        .workspace_limit = run->workspace_limit,
                        .substitute = run->substitute};
    struct trial *trial = plan ? trial_begin(plan, TRIAL) : NULL;
    if (plan && !trial)
        return out_of_memory(&run->failure);
    const double began = clock_now();
    const bool ran = run_job(state, plan ? &trial->plan : NULL, &tried);
    const double took = clock_now() - began;
    char text[160];
    if (plan) {
        part = total_elements(&trial->plan);
        free(trial->results);
        free(trial);
    }
    const double seconds = took * (all / part);
    if (!ran)
        run->failure = tried.failure;
    if (!ran || seconds < SLOW_SECONDS)
        return ran;
    snprintf(text, sizeof text,
             "this will take about %ld seconds on the simulated device; use fewer elements or "
             "device='host', or interrupt with Ctrl-C",
             (long)(seconds + 0.5));
    return run_warn(run, text);
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
