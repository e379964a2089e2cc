/* Folds elements in place if they are ready, else after gathering them into a buffer. */
#include "cpu/chunk.h"

#include "common/arithmetic.h"
#include "cpu/tiles.h"
#include "plan/axes.h"
#include "threads/gather.h"

#include <string.h>

fold_values *chunk_loop(const struct job *job)
{
    const struct plan *plan = job->plan;
    return loop_of_elements(job->instructions, plan->fold, plan->layout->input, plan->layout->type);
}

/* Whether rows are ready for a loop, and long enough that its overhead per row is small. */
static bool has_long_rows(const struct plan *plan)
{
    enum { LONG = 960 }; /* bytes */
    const struct layout *layout = plan->layout;
    const size_t size = element_size(layout->input);
    const unsigned inner = layout->dimensions - 1;
    if (layout->swapped || layout->mask || layout->dimensions == 0 ||
        (plan->axes && !plan->axes->aligned))
        return false;
    uintptr_t aligned = (uintptr_t)layout->data;
    for (unsigned k = 0; k < inner; k++)
        aligned |= (uintptr_t)layout->strides[k];
    return aligned % size == 0 && layout->strides[inner] == (int64_t)size &&
           layout->shape[inner] * size >= LONG;
}

enum load_mode chunk_load_mode(const struct job *job)
{
    if (!chunk_loop(job))
        return CONVERTED;
    if (job->plan->elements.flat)
        return IN_PLACE;
    return has_long_rows(job->plan) && !job->plan->launch.batch_invariant ? IN_ROWS : GATHERED;
}

const char *load_mode_name(enum load_mode mode)
{
    static const char *const names[] = {[IN_PLACE] = "in place",
                                        [IN_ROWS] = "row by row, in place",
                                        [GATHERED] = "gathered first",
                                        [CONVERTED] = "gathered and converted first"};
    return names[mode];
}

void chunks_describe(struct chunks *self, const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct layout *layout = plan->layout;
    fold_values *const direct = chunk_loop(job);
    self->plan = plan;
    layout_copy(layout, &self->layout);
    self->instructions = job->instructions;
    self->mode = chunk_load_mode(job);
    self->indexed = fold_is_indexed(plan->fold);
    self->masked_positions = layout->mask && self->indexed;
    if (self->masked_positions) {
        self->mask = layout_of_mask(layout);
        self->layout.mask = NULL;
    }
    self->fold_elements =
        direct ? direct : loop_of_values(job->instructions, plan->fold, plan->accumulator);
    self->merge = merge_loop(plan->fold, plan->accumulator);
    self->settled = layout->mask ? NULL : is_settled_test(plan->reduction, layout->type);
    self->size = element_size(direct ? layout->input : plan->accumulator);
    self->width = state_bytes(plan->fold, plan->accumulator);
    self->valid = mode_gathers(self->mode) ? tiles_aligned(CHUNK_MAX * self->size) : 0;
    self->buffer = self->valid + (self->masked_positions ? tiles_aligned(CHUNK_MAX) : 0);
}

void chunks_move(struct chunks *self, const void *data, const unsigned char *mask)
{
    self->layout.data = data;
    if (self->masked_positions)
        self->mask.data = mask;
    else
        self->layout.mask = mask;
}

/* ---- a chunk ---- */

static uint64_t gather_chunk(const struct chunks *self, uint64_t start, uint64_t n, void *target)
{
    return self->mode == CONVERTED
               ? gather(self->instructions, &self->layout, start, n, target)
               : gather_unconverted(self->instructions, &self->layout, start, n, target);
}

/* The first index from `at` on where the mask is (not) set; n if there is none. */
static uint64_t find(const unsigned char *valid, uint64_t at, uint64_t n, bool wanted)
{
    if (!wanted) {
        const unsigned char *const masked = memchr(valid + at, 0, n - at);
        return masked ? (uint64_t)(masked - valid) : n;
    }
    while (at < n && !valid[at])
        at++;
    return at;
}

/* With positions and a mask: each run of unmasked elements is folded from its own position. */
static uint64_t fold_runs(const struct chunks *self, char *buffer, uint64_t start, uint64_t n,
                          void *state)
{
    uint64_t kept = 0;
    unsigned char *const valid = (unsigned char *)buffer + self->valid;
    gather_chunk(self, start, n, buffer);
    gather_unconverted(self->instructions, &self->mask, start, n, valid);
    for (uint64_t end, at = find(valid, 0, n, true); at < n; at = find(valid, end, n, true)) {
        end = find(valid, at, n, false);
        self->fold_elements(buffer + at * self->size, end - at, start + at, state);
        kept += end - at;
    }
    return kept;
}

/* Folds a chunk row by row; its first and last row may be partial. */
static void fold_rows(const struct chunks *self, uint64_t start, uint64_t n, void *state)
{
    _Alignas(STATE_ALIGNMENT) char states[2 * STATE_BYTES_MAX];
    char *next = self->indexed ? state : states;
    struct walk walk;
    walk_start(&walk, &self->layout, start, n);
    while (walk.left) {
        const uint64_t at = self->plan->elements.position + start + n - walk.left;
        const struct tile row = walk_next(&walk, min_u64(walk.left, walk.whole.columns));
        self->fold_elements(row.at, row.columns, at, next);
        if (next == states)
            next += self->width;
        else if (!self->indexed)
            self->merge(states, 2);
    }
    if (!self->indexed)
        memcpy(state, states, self->width);
}

uint64_t chunk_fold(const struct chunks *self, char *buffer, uint64_t start, uint64_t n,
                    void *state)
{
    if (self->masked_positions)
        return fold_runs(self, buffer, start, n, state);
    const bool gathers = mode_gathers(self->mode);
    if (gathers)
        n = gather_chunk(self, start, n, buffer);
    if (n == 0)
        state_identity(self->plan->fold, self->plan->accumulator, state);
    else if (self->mode == IN_ROWS)
        fold_rows(self, start, n, state);
    else
        self->fold_elements(gathers ? buffer : (const char *)self->layout.data + start * self->size,
                            n, self->plan->elements.position + start, state);
    return n;
}
