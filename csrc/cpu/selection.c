/* Order statistics: threads share results, or the parts of each where these are long and few. */
#include "cpu/selection.h"

#include "common/arithmetic.h"
#include "cpu/tiles.h"

#include <stdlib.h>
#include <string.h>

/* Elements: of a result that threads share, where there are fewer than so many for each of them,
 * and of a call that is not worth a second thread. */
enum { LONG = 1 << 16, FOR_EACH = 4, ALONE = 1 << 13 };

struct selecting {
    const struct selection *all;
    uint64_t at_once, in_block; /* results, and tiles of a block */
    uint64_t result, bracket[2];
    struct selection_part *parts;
    char *kept; /* of each part, where its elements would begin */
};

/* Bytes of some elements of so many results; false: more than any address space has, for each of
 * many threads. */
static bool room_for(uint64_t n, uint64_t results, size_t size, size_t *bytes)
{
    const size_t most = SIZE_MAX >> 16;
    return !__builtin_mul_overflow(n, results * size, bytes) && *bytes <= most;
}

/* ---- many results ---- */

static unsigned do_results(void *context, uint64_t tile, char *workspace)
{
    const struct selecting *self = context;
    const uint64_t inner = self->all->inner, block = tile / self->in_block,
                   first = tile % self->in_block * self->at_once;
    selection_of(self->all, block * inner + first, least(self->at_once, inner - first), workspace);
    return 0;
}

static bool find_many(struct job *job, struct selecting *self)
{
    const struct selection *all = self->all;
    const bool narrow = all->inner > 1 && all->inner_stride >= 0 &&
                        all->inner_stride < (int64_t)element_size(all->type) * SELECTION_AT_ONCE;
    self->at_once = narrow ? SELECTION_AT_ONCE : 1;
    self->in_block = divide_up(all->inner, self->at_once);
    size_t bytes;
    if (!room_for(all->n, self->at_once + 1, element_size(all->type), &bytes))
        return false;
    const uint64_t tiles = all->outer * self->in_block;
    struct tiles shared = {.job = job,
                           .sharing = {.pieces = all->n * all->outer * all->inner > ALONE ? 2 : 1},
                           .workspace = bytes};
    if (!tiles_open(&shared, tiles, "order statistics"))
        return false;
    tiles_run(&shared, tiles, do_results, self);
    tiles_close(&shared);
    return true;
}

/* ---- parts of one ---- */

static unsigned do_part(void *context, uint64_t part, char *workspace)
{
    struct selecting *self = context;
    self->parts[part] = selection_filter(
        self->all, self->result, part, self->bracket,
        self->kept + part * SELECTION_PART * element_size(self->all->type), workspace);
    return 0;
}

/* Puts what the parts have kept together. Returns how many. */
static uint64_t join_parts(struct selecting *self, uint64_t parts, uint64_t *less)
{
    const size_t size = element_size(self->all->type);
    uint64_t kept = 0, nans = 0;
    *less = 0;
    for (uint64_t part = 0; part < parts; part++) {
        memmove(self->kept + kept * size, self->kept + part * SELECTION_PART * size,
                self->parts[part].kept * size);
        kept += self->parts[part].kept;
        *less += self->parts[part].less;
        nans += self->parts[part].nans;
    }
    self->all->nans[self->result] = (int64_t)nans;
    return kept;
}

/* Ranks that are near each other; those outside of the bracket, once in hundreds, from all keys. */
static void find_group(struct tiles *shared, struct selecting *self, uint64_t first, uint64_t last)
{
    const uint64_t parts = divide_up(self->all->n, SELECTION_PART);
    selection_bracket(self->all, self->result, first, last, self->bracket, self->kept);
    for (;;) {
        uint64_t less;
        tiles_run(shared, parts, do_part, self);
        const uint64_t kept = join_parts(self, parts, &less);
        if (selection_among(self->all, self->result, first, last, self->kept, kept, less))
            return;
        self->bracket[0] = 0;
        self->bracket[1] = UINT64_MAX;
    }
}

static bool find_long(struct job *job, struct selecting *self)
{
    const struct selection *all = self->all;
    const uint64_t parts = divide_up(all->n, SELECTION_PART);
    struct tiles shared = {.job = job,
                           .sharing = {.pieces = 2},
                           .workspace = SELECTION_PART * element_size(all->type)};
    size_t bytes;
    if (!room_for(parts, SELECTION_PART, element_size(all->type), &bytes))
        return false;
    self->parts = malloc(parts * sizeof *self->parts);
    self->kept = malloc(bytes);
    const bool there = self->parts && self->kept && tiles_open(&shared, parts, "order statistics");
    for (uint64_t result = 0; there && result < all->outer * all->inner; result++) {
        self->result = result;
        for (uint64_t k = 0, last; k < all->count; k = last + 1) {
            const bool none = selection_skip(all, result, k);
            last = none ? k : selection_group(all, result, k);
            if (!none)
                find_group(&shared, self, k, last);
        }
    }
    if (there)
        tiles_close(&shared);
    free(self->parts);
    free(self->kept);
    return there;
}

bool selection_run(struct job *job, const struct selection *all)
{
    struct selecting self = {.all = all};
    const uint64_t few = (uint64_t)threads_for(&job->threads, UINT32_MAX) * FOR_EACH;
    const bool is_long = all->n >= LONG && all->rank_step == 0 && all->outer * all->inner < few;
    return is_long ? find_long(job, &self) : find_many(job, &self);
}
