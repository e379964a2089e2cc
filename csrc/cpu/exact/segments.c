/* Results of segments, each rounded once. Threads share the segments. */
#include "common/segments.h"
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "run/result.h"
#include "threads/gather.h"

#include <stdatomic.h>

enum {
    CHUNK = LOOP_MOST,   /* elements at a time */
    WIDEST_ELEMENT = 16, /* bytes */
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

/* A thread's. */
struct workspace {
    struct exact_adder adder;
    struct exact_one one; /* segment */
    _Alignas(64) char elements[CHUNK * WIDEST_ELEMENT];
};

/* n elements from `start` on, one after the other. */
static const char *elements_at(const struct segmented *self, struct workspace *own, uint64_t start,
                               uint64_t n)
{
    const struct plan *plan = self->job->plan;
    if (plan->elements.flat)
        return (const char *)plan->layout->data + start * element_size(plan->layout->input);
    gather_unconverted(self->job->instructions, plan->layout, start, n, own->elements);
    return own->elements;
}

static bool add_segment(const struct segmented *self, struct workspace *own, struct segment segment)
{
    struct scalar_wide value;
    uint64_t count;
    own->one.plan.n = own->one.plan.finish.count = segment.n;
    if (segment.n <= CHUNK &&
        exact_adder_round(&own->adder, &own->one.plan,
                          elements_at(self, own, segment.start, segment.n), &value, &count)) {
        run_answer_exact(&own->one.run, &own->one.plan, NULL, value, count);
        return true;
    }
    exact_adder_clear(&own->adder);
    for (uint64_t at = 0; at < segment.n; at += CHUNK) {
        const uint64_t n = least(segment.n - at, CHUNK);
        exact_adder_add(&own->adder, &own->one.plan, elements_at(self, own, segment.start + at, n),
                        n);
    }
    return exact_finish(&own->one.job, &own->adder.sums);
}

static unsigned add_tile(void *context, uint64_t tile, char *memory)
{
    struct segmented *self = context;
    struct workspace *own = (struct workspace *)(void *)memory;
    const struct plan *plan = self->job->plan;
    const struct segments *segments = plan->segments.of;
    const size_t size = element_size(plan->results.type);
    const uint64_t first = tile * self->segments_a_tile,
                   end = least(first + self->segments_a_tile, segments->count);
    own->adder.ways = self->ways;
    exact_one_start(&own->one, self->job);
    for (uint64_t k = first; k < end; k++) {
        char *const at = (char *)plan->results.at[0] + k * size;
        const struct segment segment = segment_at(segments, k);
        if (segment.n == 0)
            scalar_store(at, self->of_none, plan->results.type);
        else if (add_segment(self, own, segment))
            run_store(&own->one.run, &own->one.plan, 0, at);
        else
            atomic_store(&self->failed, true);
    }
    return own->one.run.findings;
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
                          .workspace = sizeof(struct workspace)};
    return tiles_do(&tiles, count, 1, "exact sums", &(struct tile_works){.whole = add_tile},
                    &self) &&
           (!self.failed ||
            failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for exact sums"));
}
