/* The limit that every reduction is measured against: how fast a machine reads its memory. */
#include "common/arithmetic.h"
#include "common/process.h"
#include "run/passes.h"
#include "run/watch.h"

#include <stdlib.h>
#include <string.h>

/* The sample that as many others exceed as not: few samples, so counting is enough. */
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

/* Grids to try: blocks a multiprocessor that stride over the memory; 0 is a block for every tile.
 */
static const unsigned read_grids[] = {0, 2, 4};

static bool measure_read(struct machine *machine, unsigned shape, unsigned blocks, void *data,
                         void *sink, size_t bytes, struct run *run, struct timing *timing)
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
        .cluster = 1,
    };
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (watch_interrupted(run) || (timing->cold && !machine->flush(machine)) ||
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
                        struct run *run)
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
        const double median = read ? median_of(&trial) : 0;
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
    clock_random(random, stretch);
    bool filled = true;
    for (size_t at = 0; filled && at < bytes; at += stretch)
        filled = machine->copy_in(machine, (char *)data + at, random,
                                  bytes - at < stretch ? bytes - at : stretch);
    free(random);
    return filled;
}

bool passes_read(struct machine *machine, size_t bytes, struct run *run)
{
    const size_t packs = divide_up(bytes, PACK_BYTES);
    void *data = NULL;
    if (!machine->allocate(machine, (packs + 1) * PACK_BYTES, &data))
        return false;
    void *sink = (char *)data + packs * PACK_BYTES;
    const bool read =
        fill_randomly(machine, data, bytes) && read_shapes(machine, data, sink, bytes, run);
    machine->release(machine, data);
    return read;
}
