/* Timed samples of launches, and the limits that reductions are compared with: memory bandwidth and
 * the time of an empty launch. */
#include "common/arithmetic.h"
#include "common/processor.h"
#include "run/machine.h"

#include <stdlib.h>
#include <string.h>

bool machine_time_samples(struct machine *machine, struct run *run, struct timing *timing,
                          machine_sample *prepare, machine_sample *work, void *context)
{
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (run_check_interrupt(run) || (prepare && !prepare(context)) ||
            (timing->cold && !machine->work->flush(machine)) ||
            !machine->work->mark(machine, TIMING_BEGIN) || !work(context) ||
            !machine->work->mark(machine, TIMING_END) ||
            !machine->work->elapsed(machine, &first_pass, &seconds))
            return false;
        if (s < timing->warmup)
            continue;
        if (timing->first_pass)
            timing->first_pass[s - timing->warmup] = first_pass;
        timing->seconds[s - timing->warmup] = seconds;
    }
    return true;
}

/* ---- reading ---- */

/* The median sample, by counting: samples are few. */
static double median_of(const struct timing *timing)
{
    for (unsigned k = 0; k < timing->samples; k++) {
        unsigned below = 0, same = 0;
        for (unsigned other = 0; other < timing->samples; other++) {
            below += timing->seconds[other] < timing->seconds[k];
            same += timing->seconds[other] == timing->seconds[k];
        }
        if (below <= timing->samples / 2 && timing->samples / 2 < below + same)
            return timing->seconds[k];
    }
    return timing->seconds[0];
}

enum { READ_BLOCK = 512, PACK_BYTES = 16 };

struct read_context {
    struct machine *machine;
    struct step step;
    void **arguments;
};

static bool launch_read(void *context)
{
    const struct read_context *self = context;
    return self->machine->work->launch(self->machine, &self->step, self->arguments) &&
           self->machine->work->mark(self->machine, TIMING_FIRST_PASS);
}

/* Tries every shape, with several grid sizes per multiprocessor and with one block per tile, and
 * leaves the fastest one's samples in run->timing. */
static bool time_read_shapes(struct machine *machine, void *data, void *sink, uint64_t packs,
                             struct run *run)
{
    static const unsigned grids[] = {0, 2, 4}, loads[READ_SHAPES] = {2, 4, 8};
    struct timing *best = run->timing;
    struct timing trial = *best;
    trial.seconds = malloc(best->samples * sizeof *trial.seconds);
    if (!trial.seconds)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for the samples");
    double best_median = 0;
    bool read = true;
    for (unsigned k = 0; read && k < READ_SHAPES * (sizeof grids / sizeof *grids); k++) {
        const unsigned shape = k % READ_SHAPES, blocks = grids[k / READ_SHAPES];
        const uint64_t tiles = ceil_div(packs, (uint64_t)READ_BLOCK * loads[shape]);
        void *arguments[] = {&data, &packs, &sink};
        const uint64_t most = (uint64_t)machine->facts.multiprocessors * blocks;
        trial.grid = blocks ? min_u64(tiles, most) : tiles;
        trial.block = READ_BLOCK;
        struct read_context context = {
            machine,
            launch_step(kernel_of_reads(machine->facts.kernels, shape), trial.grid, READ_BLOCK, 0),
            arguments};
        read = machine_time_samples(machine, run, &trial, NULL, launch_read, &context);
        const double median = read ? median_of(&trial) : 0;
        if (read && (k == 0 || median < best_median)) {
            best_median = median;
            memcpy(best->seconds, trial.seconds, best->samples * sizeof *best->seconds);
            best->grid = trial.grid;
            best->block = trial.block;
        }
    }
    free(trial.seconds);
    return read;
}

/* Fills device memory with random bits: constant memory can be read faster. */
static bool fill_random(struct machine *machine, void *data, size_t bytes)
{
    enum { CHUNK_BYTES = 16 << 20 };
    const size_t chunk = min_u64(bytes, CHUNK_BYTES);
    void *random = malloc(chunk);
    if (!random)
        return failure_record(machine->failure, FAILURE_MEMORY, "out of memory for random data");
    random_fill(random, chunk);
    bool filled = true;
    for (size_t at = 0; filled && at < bytes; at += chunk)
        filled = machine->memory->copy(machine, COPY_TO_DEVICE, (char *)data + at, random,
                                       min_u64(bytes - at, chunk));
    free(random);
    return filled;
}

bool machine_time_read(struct machine *machine, size_t bytes, struct run *run)
{
    const size_t packs = ceil_div(bytes, PACK_BYTES);
    void *data;
    if (!machine->memory->allocate(machine, (packs + 1) * PACK_BYTES, &data))
        return false;
    const bool read =
        fill_random(machine, data, bytes) &&
        time_read_shapes(machine, data, (char *)data + packs * PACK_BYTES, bytes / PACK_BYTES, run);
    machine->memory->release(machine, data);
    return read;
}

/* ---- launching ---- */

bool machine_time_launch(struct machine *machine, struct run *run)
{
    enum { SHAPE = 0, WARP = 32 };
    struct timing *timing = run->timing;
    void *null = NULL;
    uint64_t zero = 0;
    void *arguments[] = {&null, &zero, &null};
    const struct step step =
        launch_step(kernel_of_reads(machine->facts.kernels, SHAPE), 1, WARP, 0);
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        const double start = clock_now();
        if (run_check_interrupt(run) || !machine->work->launch(machine, &step, arguments) ||
            !machine->work->wait(machine))
            return false;
        if (s >= timing->warmup)
            timing->seconds[s - timing->warmup] = clock_now() - start;
    }
    return true;
}
