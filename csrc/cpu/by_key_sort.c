/* Any reduction by key: a stable counting sort groups the elements by key, and the groups are
 * reduced as segments. Positions are mapped back to those before sorting. */
#include "common/arithmetic.h"
#include "cpu/by_key.h"
#include "plan/axes.h"
#include "threads/gather.h"

#include <stdlib.h>
#include <string.h>

struct sorting {
    struct keyed all;  /* tables: elements per key, then the next index of each */
    size_t size;       /* bytes per element */
    int64_t *offsets;  /* of segments */
    char *elements;    /* sorted */
    uint64_t *origins; /* their original positions, or NULL */
};

static unsigned count_part(void *context, uint64_t part, void *memory)
{
    struct sorting *self = context;
    struct keyed_chunk *chunk = memory;
    const struct keyed *all = &self->all;
    const uint64_t begin = part * all->part, end = min_u64(begin + all->part, all->plan->n);
    uint64_t *const counts = keyed_table(all, part);
    unsigned found = 0;
    memset(counts, 0, all->count * sizeof *counts);
    for (uint64_t at = begin; at < end; at += CHUNK_MAX) {
        const uint64_t n = min_u64(end - at, CHUNK_MAX);
        const int64_t *const keys = keyed_gather(all, &all->keys, at, n, chunk->keys);
        found |= keyed_count(all, keys, n, counts);
    }
    return found;
}

/* Assigns the places of elements: by key, and by part within a key. Returns their number. */
static uint64_t scan_counts(struct sorting *self)
{
    uint64_t next = 0;
    for (uint64_t key = 0; key < self->all.count; key++) {
        self->offsets[key] = (int64_t)next;
        for (uint64_t part = 0; part < self->all.parts; part++) {
            uint64_t *const place = (uint64_t *)keyed_table(&self->all, part) + key;
            const uint64_t n = *place;
            *place = next;
            next += n;
        }
    }
    return next;
}

/* Moves n elements, the first of index `start`. With a constant size, memcpy becomes a move. */
static inline __attribute__((always_inline)) void scatter(const struct sorting *self,
                                                          const int64_t *keys, const char *elements,
                                                          uint64_t start, uint64_t n, size_t size,
                                                          uint64_t *places)
{
    const struct prefetch ahead = prefetch_of(places, sizeof *places, self->all.count, n);
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t key = read_key(&keys[k]);
        prefetch_entry(ahead, keys, k);
        if (key >= self->all.count)
            continue;
        const uint64_t place = places[key]++;
        if (place >= self->all.plan->n) /* keys were modified after they were counted */
            continue;
        memcpy(self->elements + place * size, elements + k * size, size);
        if (self->origins)
            self->origins[place] = start + k;
    }
}

static unsigned move_part(void *context, uint64_t part, void *memory)
{
    struct sorting *self = context;
    struct keyed_chunk *chunk = memory;
    const struct keyed *all = &self->all;
    const struct plan *plan = all->plan;
    const uint64_t begin = part * all->part, end = min_u64(begin + all->part, plan->n);
    uint64_t *const places = keyed_table(all, part);
    for (uint64_t at = begin; at < end; at += CHUNK_MAX) {
        const uint64_t n = min_u64(end - at, CHUNK_MAX);
        const int64_t *const keys = keyed_gather(all, &all->keys, at, n, chunk->keys);
        const char *elements = (const char *)plan->layout->data + at * self->size;
        if (!plan->elements.flat) {
            gather_unconverted(all->tiles.job->instructions, plan->layout, at, n, chunk->values);
            elements = chunk->values;
        }
        switch (self->size) {
#define SCATTER(bytes)                                                                             \
    case bytes:                                                                                    \
        scatter(self, keys, elements, at, n, bytes, places);                                       \
        break;
            SCATTER(1) SCATTER(2) SCATTER(4) SCATTER(8) SCATTER(16)
#undef SCATTER
        }
    }
    return 0;
}

/* ---- segments ---- */

static bool reduce_segments(const struct sorting *self, uint64_t n)
{
    const struct plan *all = self->all.plan;
    const struct segments segments = {
        .offsets = self->offsets, .count = self->all.count, .elements = n, .may_be_empty = true};
    struct layout layout = {
        .data = self->elements, .input = all->layout->input, .type = all->layout->type};
    struct plan plan = *all;
    struct job job = *self->all.tiles.job;
    layout_make_flat(&layout, n);
    plan_retarget(&plan, &layout, n, true);
    plan.segments = (struct plan_segments){.of = &segments};
    job.plan = &plan;
    return segments_run(&job);
}

/* Positions within a key's elements are replaced by those in the array. */
static bool sort_and_reduce(struct sorting *self)
{
    int64_t *const positions = self->all.plan->results.at[0];
    if (!tiles_run(&self->all.tiles, self->all.parts, count_part, self))
        return false;
    const uint64_t n = scan_counts(self);
    if (!tiles_run(&self->all.tiles, self->all.parts, move_part, self) || !reduce_segments(self, n))
        return false;
    for (uint64_t key = 0; self->origins && key < self->all.count; key++)
        if (positions[key] >= 0)
            positions[key] = (int64_t)self->origins[self->offsets[key] + positions[key]];
    return true;
}

bool keyed_sort(struct job *job)
{
    const struct plan *plan = job->plan;
    struct sorting self = {.size = element_size(plan->layout->input)};
    keyed_describe(&self.all, job, sizeof(uint64_t), false, sizeof(struct keyed_chunk));
    const bool indexed = fold_is_indexed(plan->fold);
    self.offsets = malloc((self.all.count + 1) * sizeof *self.offsets);
    self.elements = malloc(plan->n * self.size + 1);
    self.origins = indexed ? malloc((plan->n + 1) * sizeof *self.origins) : NULL;
    bool ok = tiles_open(&self.all.tiles, self.all.parts, "places of keys");
    if (!self.offsets || !self.elements || (indexed && !self.origins))
        ok = failure_record(&job->run->failure, FAILURE_MEMORY, "out of memory for a sort by key");
    ok = ok && sort_and_reduce(&self);
    tiles_close(&self.all.tiles);
    free(self.origins);
    free(self.elements);
    free(self.offsets);
    return ok;
}
