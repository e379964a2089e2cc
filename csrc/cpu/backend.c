/* The host backend: plain loops, shared among the cores, and the recursion that the ladder starts
 * from. */
#include "common/processor.h"
#include "cpu/exact.h"

#include <stdio.h>
#include <stdlib.h>

struct host {
    struct threads *threads;
    enum instructions instructions;
    bool tells_rounding; /* the processor does */
};

static void *create(void)
{
    struct host *self = malloc(sizeof *self);
    struct threads *const threads = threads_create();
    if (!self || !threads) {
        free(self);
        threads_destroy(threads);
        return NULL;
    }
    const enum instructions instructions = instructions_here();
    *self = (struct host){.threads = threads,
                          .instructions = instructions,
                          .tells_rounding = unrounded_is_told(instructions)};
    return self;
}

static void destroy(void *state)
{
    struct host *self = state;
    if (self)
        threads_destroy(self->threads);
    free(self);
}

static int count(void *state, struct failure *failure)
{
    (void)state;
    (void)failure;
    return 1;
}

static bool describe(int index, struct device *device)
{
    (void)index;
    *device = (struct device){.units = processor_cores(),
                              .memory = processor_memory(),
                              .l2_cache = processor_last_level_cache()};
    snprintf(device->name, sizeof device->name, "host");
    processor_title(device->title, sizeof device->title);
    return true;
}

static unsigned threads(void *state, unsigned most)
{
    return threads_bound(((struct host *)state)->threads, most);
}

/* One loop takes a few microseconds, and hardly ever more than twenty; and so do those that are not
 * worth another thread. */
static bool is_brief(const struct plan *plan)
{
    const bool folds_all = !plan->method && !plan->exact && !plan->axes;
    return folds_all && plan->flat && (plan->n <= LOOP_MOST || folding_is_short(plan));
}

struct job host_job(void *state)
{
    const struct host *self = state;
    return (struct job){.threads = threads_crew(self->threads),
                        .instructions = self->instructions,
                        .tells_rounding = self->tells_rounding};
}

static bool run(void *state, const struct plan *plan, struct run *run)
{
    struct job job = host_job(state);
    job.plan = plan;
    job.run = run;
    if (plan->segments)
        return segments_run(&job);
    if (run->explanation) {
        work_explain(&job);
        return true;
    }
    if (plan->axes)
        return plan->exact ? exact_along(&job) : along_run(&job);
    return work_run(&job);
}

static bool read_memory(void *state, int index, size_t bytes, struct run *run)
{
    (void)index;
    struct job job = host_job(state);
    job.run = run;
    return measure_reading(&job, bytes);
}

const struct backend backend_host = {
    .platform = {.name = "host", .place = METHOD_ON_HOST, .automatic = METHODS, .count = count},
    .create = create,
    .destroy = destroy,
    .describe = describe,
    .threads = threads,
    .is_brief = is_brief,
    .run = run,
    .read = read_memory,
};
