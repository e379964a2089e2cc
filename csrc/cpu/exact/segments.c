/* Results of segments, each rounded once. Threads share the segments. */
#include "common/segments.h"
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "run/result.h"

#include <stdatomic.h>

enum {
    ELEMENTS_A_TILE = 1 << 16,
    TILES_A_STRETCH = 1 << 8 /* between two thoughts of the watch */
};

struct segmented {
    struct job *job;
    uint64_t segments_a_tile;
    struct exact_ways ways; /* to begin with */
    union scalar of_none;   /* as results hold it */
    atomic_bool failed;
};

static unsigned add_tile(void *context, uint64_t tile, char *memory)
{
    struct segmented *self = context;
    struct exact_maker *maker = (struct exact_maker *)(void *)memory;
    const struct plan *plan = self->job->plan;
    const struct segments *segments = plan->segments.of;
    const size_t size = element_size(plan->results.type);
    const uint64_t first = tile * self->segments_a_tile,
                   end = least(first + self->segments_a_tile, segments->count);
    exact_maker_start(maker, self->job, &self->ways);
    for (uint64_t k = first; k < end; k++) {
        char *const at = (char *)plan->results.at[0] + k * size;
        const struct segment segment = segment_at(segments, k);
        if (segment.n == 0)
            scalar_store(at, self->of_none, plan->results.type);
        else if (!exact_make(maker, plan->layout, segment.start, segment.n, at))
            atomic_store(&self->failed, true);
    }
    return maker->run.findings;
}

bool exact_segments(struct job *job)
{
    const struct segments *segments = job->plan->segments.of;
    struct segmented self = {.job = job, .of_none = run_value_of_none(job->plan)};
    struct exact_adder adder;
    self.segments_a_tile = 1 + ELEMENTS_A_TILE / (segments->elements / (segments->count + 1) + 1);
    exact_adder_start(&adder, job);
    self.ways = adder.ways;
    const uint64_t count = divide_up(segments->count, self.segments_a_tile);
    struct tiles tiles = {.job = job,
                          .sharing.pieces = count,
                          .plain = true,
                          .stretch = TILES_A_STRETCH,
                          .workspace = sizeof(struct exact_maker)};
    return tiles_do(&tiles, count, 1, "exact sums", &(struct tile_works){.whole = add_tile},
                    &self) &&
           (!self.failed ||
            failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for exact sums"));
}
