/* Exact sums of a whole array: each thread adds chunks to sums of its own, which are merged at the
 * end. The order is irrelevant. */
#include "cpu/exact/exact.h"

#include "common/arithmetic.h"
#include "cpu/tiles.h"
#include "run/result.h"

enum { POLL_INTERVAL = 1 << 24 }; /* elements per thread between polls of the watch */

/* A thread's workspace. `gathered` is for elements that are not ready in memory. */
struct workspace {
    struct exact_adder adder;
    struct exact_gathered gathered;
};

struct adding {
    struct tiles tiles;
    uint64_t tile, count; /* elements per tile, and number of tiles */
};

/* Tiles are large enough to make their overhead small, and enough that threads finish together; a
 * few chunks are not worth waking other threads. Stretches are longer for more threads, since at
 * its end all wait for the last one. */
static struct adding describe(const struct job *job)
{
    enum { SERIAL = 16, LEAST = 4, TILES = 256 };
    const uint64_t n = job->plan->n,
                   stretch = (uint64_t)threads_for(&job->threads, UINT64_MAX) * POLL_INTERVAL,
                   chunks = ceil_div(min_u64(n, stretch), CHUNK_MAX),
                   shared = ceil_div(chunks, TILES);
    struct adding self;
    self.tile = (chunks <= SERIAL ? SERIAL : shared > LEAST ? shared : LEAST) * CHUNK_MAX;
    self.count = ceil_div(n, self.tile);
    self.tiles = (struct tiles){.job = (struct job *)job,
                                .sharing.pieces = self.count,
                                .default_fenv = true,
                                .poll_interval = ceil_div(stretch, self.tile),
                                .workspace = sizeof(struct workspace)};
    if (job->plan->elements.flat)
        self.tiles.workspace = sizeof(struct exact_adder);
    return self;
}

static unsigned add_tile(void *context, uint64_t tile, void *memory)
{
    const struct adding *self = context;
    struct workspace *ws = memory;
    const struct plan *plan = self->tiles.job->plan;
    const uint64_t begin = tile * self->tile, end = min_u64(begin + self->tile, plan->n);
    windows_reset(&ws->adder.floats.windows);
    exact_adder_add_layout(&ws->adder, self->tiles.job, plan->layout, begin, end - begin,
                           &ws->gathered);
    return 0;
}

/* A single thread with elements ready in memory needs no allocation. */
bool exact_run(struct job *job, struct exact_sums *sums)
{
    if (job->plan->elements.list)
        return list_add_exactly(job, sums);
    struct adding self = describe(job);
    struct exact_adder local;
    const bool alone = job->plan->elements.flat && threads_for(&job->threads, self.count) == 1;
    if (alone) {
        self.tiles.memory = (char *)&local;
        self.tiles.threads = 1;
    }
    const bool opened = alone || tiles_open(&self.tiles, self.count, "exact sums");
    for (unsigned thread = 0; opened && thread < self.tiles.threads; thread++) {
        struct exact_adder *const adder = tiles_workspace(&self.tiles, thread);
        exact_adder_start(adder, job);
        adder->floats.long_enough = needs_large_sum(job->plan->layout->input, job->plan->n);
    }
    const bool added = opened && tiles_run(&self.tiles, self.count, add_tile, &self);
    for (unsigned thread = 0; opened && thread < self.tiles.threads; thread++) {
        struct exact_adder *const adder = tiles_workspace(&self.tiles, thread);
        float_adder_end(&adder->floats, &adder->sums.parts[EXACT_REAL]);
        if (thread == 0)
            *sums = adder->sums;
        for (int part = 0; thread > 0 && part < EXACT_PARTS; part++)
            exact_merge(&sums->parts[part], &adder->sums.parts[part]);
    }
    if (!alone)
        tiles_close(&self.tiles);
    return added;
}

bool exact_explain(const struct job *job)
{
    static const char *const ways[][2] = {{"gathered first", "gathered first, added directly"},
                                          {"in place", "in place, added directly"}};
    const struct adding self = describe(job);
    const char *const way = ways[job->plan->elements.flat][exact_adder_adds_plainly(job)];
    return tiles_explain(job, (struct loops){.way = way, .chunk = CHUNK_MAX},
                         min_u64(self.count, self.tiles.poll_interval));
}

/* ---- finishing ---- */

static bool is_zero(const struct exact *sum)
{
    const int64_t *const counts = sum->counts;
    return !counts[EXACT_NANS] && !counts[EXACT_INFINITIES] && !counts[EXACT_NEGATIVE_INFINITIES] &&
           !exact_leading_of_sum(sum).bits;
}

/* A sum of 0 gets the sign of the plain sum: negative if all elements and the initial value are. */
static bool sign_zeros(struct job *job, const struct exact_sums *sums, struct scalar_wide *value)
{
    _Alignas(STATE_ALIGNMENT) char state[STATE_BYTES_MAX];
    const struct plan *plan = job->plan;
    const bool real = is_zero(&sums->parts[EXACT_REAL]),
               imaginary = is_zero(&sums->parts[EXACT_IMAGINARY]);
    struct answer plain;
    uint64_t count;
    if (!real && !(imaginary && element_is_complex(plan->finish.result)))
        return true;
    if (!folding_run(job, state, &count))
        return false;
    state_finish(plan->reduction, &plan->finish, state, &plain);
    if (real && plain.values[0].real == 0)
        value->real = plain.values[0].real;
    if (imaginary && plain.values[0].imag == 0)
        value->imag = plain.values[0].imag;
    return true;
}

bool exact_finish(struct job *job, struct exact_sums *sums)
{
    const struct plan *plan = job->plan;
    const struct finish *finish = &plan->finish;
    const uint64_t count = (uint64_t)sums->parts[EXACT_REAL].counts[EXACT_COUNT];
    const bool negative_zeros[EXACT_PARTS] = {false, false};
    struct scalar_wide value =
        exact_sums_round(finish, plan_exact_rounding(plan), count, negative_zeros, sums);
    if (!finish->includes_identity && !sign_zeros(job, sums, &value))
        return false;
    run_answer_exact(job->run, plan, &sums->parts[EXACT_REAL], value, count);
    return true;
}
