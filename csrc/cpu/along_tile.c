/* Chunks of a result's elements are folded where they lie or gathered, and their states
 * merge as soon as there are two of as many. */
#include "cpu/along.h"

#include "common/arithmetic.h"
#include "cpu/finalize.h"
#include "threads/gather.h"

#include <string.h>

enum { MOVED = 4 << 10 /* bytes that are gathered at a time, about */ };

static uint64_t part_start(struct parts parts, uint64_t part)
{
    return part == parts.count ? parts.n
                               : (parts.n * part >> parts.shift) & ~((uint64_t)ALONG_GRAIN - 1);
}

/* A thread's workspace. */
struct workspace {
    char *buffer, *states, *done;
    struct chunks *chunks; /* of the result that it is at */
    struct finalize waiting;
    unsigned findings;
};

/* One of the results that are folded side by side. */
struct lane {
    int64_t offset, mask_offset, place; /* of its elements, of their mask, and among the results */
    char *states;                       /* that wait for their like */
    uint64_t depth;                     /* how many do */
    bool settled;
};

/* ---- one result's elements ---- */

static void move_to(const struct along *self, struct workspace *own, const struct lane *lane)
{
    const struct layout *first = &self->axes->reduced;
    chunks_move(own->chunks, (const char *)first->data + lane->offset,
                first->mask ? first->mask + lane->mask_offset : NULL);
}

/* Chunks' states merge as soon as there are two of as many chunks; where positions matter, what has
 * been found goes from one chunk to the next. `done`: chunks that were folded before. */
static void fold_next_chunk(const struct along *self, struct workspace *own, struct lane *lane,
                            uint64_t chunk, uint64_t done)
{
    const struct chunks *chunks = own->chunks;
    const uint64_t start = part_start(self->parts, chunk),
                   n = part_start(self->parts, chunk + 1) - start;
    char *const state = lane->states + (chunks->indexed ? 0 : lane->depth * chunks->width);
    move_to(self, own, lane);
    chunk_fold(chunks, own->buffer, start, n, state);
    lane->settled = chunks->settled && chunks->settled(state, n);
    if (chunks->indexed)
        return;
    lane->depth++;
    for (; done & 1; done >>= 1)
        chunks->merge(lane->states + (--lane->depth - 1) * chunks->width, 2);
}

/* ---- results ---- */

static void finalize_waiting(const struct along *self, struct workspace *own)
{
    if (own->waiting.n)
        own->findings |= finalize_run(self->plan, &own->waiting);
    own->waiting.n = 0;
}

/* Whether more may: results from `place` on at that distance. */
static bool may_wait(const struct finalize *waiting, int64_t place, int64_t step, uint64_t count)
{
    return waiting->n < ALONG_DONE && waiting->count == count && waiting->step == step &&
           place == waiting->place + (int64_t)waiting->n * step;
}

/* Where states of neighbouring results wait for others of as many elements: of *n of them, or of as
 * many as there is room for. */
static char *let_wait(const struct along *self, struct workspace *own, int64_t place,
                      uint64_t count, uint64_t *n)
{
    const int64_t step = self->axes->places[self->axes->kept - 1];
    struct finalize *const waiting = &own->waiting;
    if (waiting->n && !may_wait(waiting, place, step, count))
        finalize_waiting(self, own);
    if (waiting->n == 0)
        *waiting =
            (struct finalize){.states = own->done, .count = count, .place = place, .step = step};
    char *const state = own->done + waiting->n * self->chunks.width;
    *n = least(*n, ALONG_DONE - waiting->n);
    waiting->n += *n;
    return state;
}

static uint64_t count_shown(const struct along *self, const struct workspace *own)
{
    const struct plan *plan = self->plan;
    const struct layout *layout = &own->chunks->layout;
    return plan->counts && layout->mask ? gather_count(layout, 0, plan->n) : plan->n;
}

/* Finishes the result that is at hand, or lets it wait for that. */
static void finish_result(const struct along *self, struct workspace *own, const struct lane *lane,
                          const char *state)
{
    uint64_t one = 1;
    move_to(self, own, lane);
    memcpy(let_wait(self, own, lane->place, count_shown(self, own), &one), state,
           self->chunks.width);
}

/* Where so many neighbouring results begin. */
static void find_lanes(const struct along *self, const struct workspace *own, uint64_t first,
                       unsigned count, struct lane *lanes)
{
    struct walk_of_results walk;
    results_start(&walk, self->axes, first);
    for (unsigned k = 0; k < count; k++, results_next(&walk))
        lanes[k] = (struct lane){.offset = walk.offset,
                                 .mask_offset = walk.mask_offset,
                                 .place = walk.place,
                                 .states = own->states + k * ALONG_LEVELS * self->chunks.width};
}

/* Folds chunks of neighbours, one's and the next one's by turns, so that what lies between one's
 * elements serves the next. Each one's state is its first then. */
static void fold_side_by_side(const struct along *self, struct workspace *own, struct lane *lanes,
                              unsigned count, uint64_t first, uint64_t end)
{
    const size_t width = self->chunks.width;
    for (unsigned k = 0; k < count; k++)
        if (self->chunks.indexed || self->plan->n == 0)
            memcpy(lanes[k].states, self->identity, width);
    for (uint64_t chunk = first; chunk < end; chunk++)
        for (unsigned k = 0; k < count; k++)
            if (!lanes[k].settled)
                fold_next_chunk(self, own, &lanes[k], chunk, chunk - first);
    for (unsigned k = 0; k < count; k++)
        for (; lanes[k].depth > 1; lanes[k].depth--)
            self->chunks.merge(lanes[k].states + (lanes[k].depth - 2) * width, 2);
}

/* Elements of neighbouring results, up to a chunk of them: where they lie, or on the own.
 * *distance: from one result's to the next one's, bytes. */
static const char *ready(const struct along *self, const struct workspace *own, const char *at,
                         uint64_t results, int64_t *distance)
{
    const uint64_t n = self->plan->n;
    if (!self->move && !self->transpose)
        return at;
    if (self->transpose) {
        const struct transposition columns = {.at = at,
                                              .rows = n,
                                              .n = results,
                                              .row_stride = self->axes->reduced.strides[0],
                                              .stride = *distance,
                                              .end = axes_end(self->axes)};
        self->transpose(&columns, n, own->buffer);
        *distance = (int64_t)(n * self->chunks.size);
        return own->buffer;
    }
    const struct tile rows = {.at = at,
                              .rows = results,
                              .columns = n,
                              .row_stride = *distance,
                              .column_stride = self->axes->reduced.strides[0]};
    self->move(&rows, own->buffer);
    *distance = (int64_t)(n * self->chunks.size);
    return own->buffer;
}

/* Neighbouring results of a single part each. */
static void fold_neighbours(const struct along *self, struct workspace *own, const char *at,
                            int64_t distance, uint64_t results, char *states)
{
    const uint64_t n = self->plan->n;
    const size_t width = self->chunks.width;
    fold_values *const fold = self->chunks.fold_elements;
    at = ready(self, own, at, results, &distance);
    for (uint64_t k = 0; k < results; k++, at += distance, states += width) {
        if (self->chunks.indexed)
            memcpy(states, self->identity, width);
        fold(at, n, 0, states);
    }
}

static void fold_at_once(const struct along *self, struct workspace *own, uint64_t first,
                         uint64_t end)
{
    const struct axes *axes = self->axes;
    const unsigned inner = axes->kept - 1;
    const uint64_t fitting = MOVED / (self->plan->n * self->chunks.size) + 1,
                   brought = self->transpose ? ALONG_DONE : fitting,
                   most = self->move || self->transpose ? least(brought, CHUNK / self->plan->n)
                                                        : ALONG_DONE;
    uint64_t results;
    for (uint64_t result = first; result < end; result += results) {
        struct walk_of_results walk;
        results_start(&walk, axes, result);
        results = least(least(end - result, axes->shape[inner] - walk.index[inner]), most);
        char *const states = let_wait(self, own, walk.place, self->plan->n, &results);
        fold_neighbours(self, own, (const char *)axes->reduced.data + walk.offset,
                        axes->strides[inner], results, states);
    }
}

static struct workspace workspace_at(const struct along *self, char *memory)
{
    return (struct workspace){.buffer = memory,
                              .states = memory + self->states,
                              .done = memory + self->done,
                              .chunks = (struct chunks *)(void *)(memory + self->chunks_at)};
}

static void finish_workspace(struct along *self, struct workspace *own)
{
    finalize_waiting(self, own);
    if (own->findings)
        atomic_fetch_or(&self->findings, own->findings);
}

void along_fold_results(void *context, uint64_t tile, char *memory)
{
    struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t first = tile * self->results_a_tile,
                   end = least(first + self->results_a_tile, self->axes->results);
    struct lane lanes[ALONG_LANES];
    if (self->at_once)
        fold_at_once(self, &own, first, end);
    for (uint64_t result = first; result < end && !self->at_once; result += self->lanes) {
        const unsigned count = (unsigned)least(self->lanes, end - result);
        find_lanes(self, &own, result, count, lanes);
        fold_side_by_side(self, &own, lanes, count, 0, self->parts.count);
        for (unsigned k = 0; k < count; k++)
            finish_result(self, &own, &lanes[k], lanes[k].states);
    }
    finish_workspace(self, &own);
}

/* ---- few results, in runs of parts ---- */

static char *branches_of(const struct along *self, uint64_t result)
{
    return tiles_common(&self->tiles) + result * self->runs * self->chunks.width;
}

/* One run of results side by side. */
void along_fold_run(void *context, uint64_t tile, char *memory)
{
    const struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t run = tile / self->groups, first = tile % self->groups * self->lanes,
                   parts = self->parts.count / self->runs;
    const unsigned count = (unsigned)least(self->lanes, self->axes->results - first);
    const size_t width = self->chunks.width;
    struct lane lanes[ALONG_LANES];
    find_lanes(self, &own, first, count, lanes);
    fold_side_by_side(self, &own, lanes, count, run * parts, (run + 1) * parts);
    for (unsigned k = 0; k < count; k++)
        memcpy(branches_of(self, first + k) + run * width, lanes[k].states, width);
}

void along_finish_group(void *context, uint64_t group, char *memory)
{
    struct along *self = context;
    struct workspace own = workspace_at(self, memory);
    const uint64_t first = group * self->lanes;
    const unsigned count = (unsigned)least(self->lanes, self->axes->results - first);
    struct lane lanes[ALONG_LANES];
    find_lanes(self, &own, first, count, lanes);
    for (unsigned k = 0; k < count; k++) {
        char *const states = branches_of(self, first + k);
        self->chunks.merge(states, self->runs);
        finish_result(self, &own, &lanes[k], states);
    }
    finish_workspace(self, &own);
}
