/* Dot products of two arrays, in chunks. In floating-point arithmetic, the pieces' sums are kept
 * and then added as a tree, so that the result does not depend on the number of threads or on the
 * layout. Exact sums are one per thread; their order is irrelevant. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "threads/gather.h"

#include <stddef.h>

/* Pairs per piece, pieces between polls of the watch, and the largest element. */
enum { DOT_PIECE = 1 << 14, STRETCH = 1024, WIDEST = sizeof(struct complex128) };

/* Sums of products of complex parts: real, imaginary, and mixed. Real numbers use only FIRST. */
enum { FIRST, SECOND, CROSSED, SUMS };

/* A thread's workspace; truncated before `a` if elements are ready in memory. */
struct workspace {
    _Alignas(64) struct exact sums[SUMS];
    struct exact_ways ways;
    _Alignas(64) char a[LOOP_MOST * WIDEST], b[LOOP_MOST * WIDEST];
    char swapped[LOOP_MOST * WIDEST]; /* b's complex numbers with parts swapped */
};

struct dot {
    const struct plan *plan; /* layout and factors have the same order and `type` */
    enum element type;       /* element type of the loops */
    bool ready;              /* elements are used in place */
    bool as_they_are;        /* types differ, and no common one holds all values */
    struct tiles tiles;      /* common memory: sums of pieces, unless exact */
};

/* Whether elements must not be converted: exact sums of integers exceed any integer type. */
static bool has_to_stay(const struct layout *a, const struct layout *b)
{
    return element_is_integer(a->type) ||
           (!element_is_complex(a->type) &&
            (is_long_integer(a->input) || is_long_integer(b->input)));
}

static bool lies_ready(const struct layout *layout)
{
    return layout_is_flat(layout) && layout->input == layout->type;
}

/* ---- a chunk ---- */

struct chunk {
    const void *a, *b;
    size_t n;
};

static struct chunk chunk_at(const struct dot *self, uint64_t at, uint64_t n, struct workspace *own)
{
    const size_t size = element_size(self->type);
    if (self->ready)
        return (struct chunk){(const char *)self->plan->layout->data + at * size,
                              (const char *)self->plan->factors->data + at * size, n};
    uint64_t (*const bring)(enum instructions, const struct layout *, uint64_t, uint64_t, void *) =
        self->as_they_are ? gather_unconverted : gather;
    bring(self->tiles.job->instructions, self->plan->layout, at, n, own->a);
    bring(self->tiles.job->instructions, self->plan->factors, at, n, own->b);
    return (struct chunk){own->a, own->b, n};
}

/* ---- exact sums ---- */

/* Parts alternate. */
static void add_complex(const struct dot *self, const struct chunk *chunk, struct workspace *own)
{
    const size_t n = 2 * chunk->n, size = element_size(self->type) / 2;
    for (size_t k = 0; k < n; k++)
        memcpy(own->swapped + k * size, (const char *)chunk->b + (k ^ 1) * size, size);
    exact_ways_add(&own->ways, chunk->a, chunk->b, n, &own->sums[FIRST], &own->sums[SECOND]);
    exact_ways_add(&own->ways, chunk->a, own->swapped, n, &own->sums[CROSSED], &own->sums[CROSSED]);
}

static void add_exactly(const struct dot *self, const struct chunk *chunk, struct workspace *own)
{
    struct exact *const sum = &own->sums[FIRST];
    if (self->as_they_are)
        products_add(chunk->a, self->plan->layout->input, chunk->b, self->plan->factors->input,
                     chunk->n, sum, sum);
    else if (element_is_complex(self->type))
        add_complex(self, chunk, own);
    else
        exact_ways_add(&own->ways, chunk->a, chunk->b, chunk->n, sum, sum);
    sum->counts[EXACT_COUNT] += (int64_t)chunk->n;
}

/* ---- sums in floating-point or integer arithmetic ---- */

static union dotted sum_of(const struct dot *self, union dotted x, union dotted y)
{
    if (element_is_integer(self->type))
        return (union dotted){.integer = x.integer + y.integer};
    for (int k = 0; k < 2; k++) {
        x.parts.same[k] += y.parts.same[k];
        x.parts.crossed[k] += y.parts.crossed[k];
    }
    return x;
}

/* Pairwise, as a tree. */
static union dotted total_of(const struct dot *self, const union dotted *sums, uint64_t n)
{
    if (n == 1)
        return *sums;
    return sum_of(self, total_of(self, sums, n / 2), total_of(self, sums + n / 2, n - n / 2));
}

static union dotted piece_of(const struct dot *self, uint64_t begin, uint64_t end,
                             struct workspace *own)
{
    union dotted sums[DOT_PIECE / LOOP_MOST];
    dot_elements *const loop = cpu_kernels(self->tiles.job->instructions)->dot(self->type);
    uint64_t chunks = 0;
    for (uint64_t at = begin; at < end; at += LOOP_MOST, chunks++) {
        const struct chunk chunk = chunk_at(self, at, min_u64(end - at, LOOP_MOST), own);
        loop(chunk.a, chunk.b, chunk.n, &sums[chunks]);
    }
    return total_of(self, sums, chunks);
}

/* ---- running ---- */

static unsigned add_tile(void *context, uint64_t tile, void *memory)
{
    const struct dot *self = context;
    struct workspace *const own = memory;
    union dotted *const pieces = tiles_common(&self->tiles);
    const uint64_t begin = tile * DOT_PIECE, end = min_u64(begin + DOT_PIECE, self->plan->n);
    /* a loop takes LOOP_MOST floats */
    const uint64_t most = element_is_complex(self->type) ? LOOP_MOST / 2 : LOOP_MOST;
    if (!self->plan->exact) {
        pieces[tile] = piece_of(self, begin, end, own);
        return 0;
    }
    windows_reset(&own->ways.windows);
    for (uint64_t at = begin; at < end; at += most) {
        const struct chunk chunk = chunk_at(self, at, min_u64(end - at, most), own);
        add_exactly(self, &chunk, own);
    }
    return 0;
}

static void start(const struct dot *self, struct workspace *own)
{
    for (int sum = 0; sum < SUMS; sum++)
        memset(&own->sums[sum], 0, sizeof own->sums[sum]);
    exact_ways_start(&own->ways, self->tiles.job->instructions, element_real_part(self->type),
                     false, true, false);
    own->ways.long_enough = large_sum_suits(self->type, self->plan->n);
}

/* (a + bi) (c + di) = (ac - bd) + (ad + bc)i. */
static struct scalar_wide value_of(const struct dot *self)
{
    const union dotted total =
        total_of(self, tiles_common(&self->tiles), ceil_div(self->plan->n, DOT_PIECE));
    if (element_is_integer(self->type))
        return (struct scalar_wide){SCALAR_UNSIGNED, (int64_t)total.integer, 0, 0};
    return (struct scalar_wide){SCALAR_FLOAT, 0, total.parts.same[0] - total.parts.same[1],
                                total.parts.crossed[0] + total.parts.crossed[1]};
}

/* Merges the exact sums of all threads, and ends their state. */
static void merge_sums(const struct dot *self, struct exact_sums *sums)
{
    memset(sums, 0, sizeof *sums);
    for (unsigned thread = 0; thread < self->tiles.threads; thread++) {
        struct workspace *const workspace = tiles_workspace(&self->tiles, thread);
        struct exact *const own = workspace->sums;
        int64_t *const counts = own[SECOND].counts, infinities = counts[EXACT_INFINITIES];
        exact_ways_end(&workspace->ways, &own[FIRST]);
        /* subtracted infinities change sign */
        counts[EXACT_INFINITIES] = counts[EXACT_NEGATIVE_INFINITIES];
        counts[EXACT_NEGATIVE_INFINITIES] = infinities;
        exact_negate(own[SECOND].digits);
        exact_merge(&sums->parts[EXACT_REAL], &own[FIRST]);
        exact_merge(&sums->parts[EXACT_REAL], &own[SECOND]);
        exact_merge(&sums->parts[EXACT_IMAGINARY], &own[CROSSED]);
    }
}

bool dot_run(struct job *job)
{
    const bool no_negative_zeros[EXACT_PARTS] = {false, false};
    const struct plan *plan = job->plan;
    struct dot self = {.plan = plan};
    const uint64_t pieces = ceil_div(plan->n, DOT_PIECE);
    self.as_they_are = plan->exact && has_to_stay(plan->layout, plan->factors);
    self.ready = !self.as_they_are && lies_ready(plan->layout) && lies_ready(plan->factors);
    self.type = self.ready ? plan->layout->type : element_accumulator(plan->layout->type);
    const bool needs_buffers = !self.ready || (plan->exact && element_is_complex(self.type));
    self.tiles = (struct tiles){.job = job,
                                .sharing.pieces = pieces,
                                .plain = true,
                                .stretch = STRETCH,
                                .common = plan->exact ? 0 : pieces * sizeof(union dotted),
                                .workspace = needs_buffers ? sizeof(struct workspace)
                                                           : offsetof(struct workspace, a)};
    if (!tiles_open(&self.tiles, pieces, "partials"))
        return false;
    for (unsigned thread = 0; plan->exact && thread < self.tiles.threads; thread++)
        start(&self, tiles_workspace(&self.tiles, thread));
    const bool done = tiles_run(&self.tiles, pieces, add_tile, &self);
    struct exact_sums sums;
    if (plan->exact)
        merge_sums(&self, &sums);
    if (done)
        job->run->answer.values[0] =
            plan->exact ? exact_sums_round(&plan->finish, EXACT_SUM, 0, no_negative_zeros, &sums)
                        : value_of(&self);
    if (done && job->run->exact) /* normalized by the rounding */
        *job->run->exact = sums.parts[EXACT_REAL];
    tiles_close(&self.tiles);
    return done;
}
