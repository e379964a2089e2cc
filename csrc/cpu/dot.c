/* Dot products of two arrays, in chunks. In floating-point arithmetic, the pieces' sums are kept
 * and then added as a tree, so that the result does not depend on the number of threads or on the
 * layout. Exact sums are one per thread; their order is irrelevant. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "cpu/tiles.h"
#include "threads/gather.h"

#include <stddef.h>

/* Pairs per piece, pieces between polls of the watch, and the largest element. */
enum { DOT_PIECE = 1 << 14, POLL_INTERVAL = 1024, WIDEST = sizeof(struct complex128) };

/* Sums of products of complex parts: real, imaginary, and mixed. Real numbers use only REAL. */
enum { REAL, IMAGINARY, MIXED, SUMS };

/* A thread's workspace; truncated before `a` if elements are ready in memory. */
struct workspace {
    _Alignas(64) struct exact sums[SUMS];
    struct float_adder floats;
    _Alignas(64) char a[CHUNK_MAX * WIDEST], b[CHUNK_MAX * WIDEST];
    char swapped[CHUNK_MAX * WIDEST]; /* b's complex numbers with parts swapped */
};

struct dot {
    const struct plan *plan; /* layout and factors have the same order and `type` */
    enum element type;       /* element type of the loops */
    bool ready;              /* elements are used in place */
    bool unconverted;        /* types differ, and no common one holds all values */
    struct tiles tiles;      /* common memory: sums of pieces, unless exact */
};

/* Whether elements must not be converted: exact sums of integers exceed any integer type. */
static bool needs_unconverted(const struct layout *a, const struct layout *b)
{
    return element_is_integer(a->type) ||
           (!element_is_complex(a->type) &&
            (is_64bit_integer(a->input) || is_64bit_integer(b->input)));
}

static bool is_in_place(const struct layout *layout)
{
    return layout_is_flat(layout) && layout->input == layout->type;
}

/* ---- a chunk ---- */

struct chunk {
    const void *a, *b;
    size_t n;
};

static struct chunk chunk_at(const struct dot *self, uint64_t at, uint64_t n, struct workspace *ws)
{
    const size_t size = element_size(self->type);
    if (self->ready)
        return (struct chunk){(const char *)self->plan->layout->data + at * size,
                              (const char *)self->plan->factors->data + at * size, n};
    uint64_t (*const gather_elements)(enum instructions, const struct layout *, uint64_t, uint64_t,
                                      void *) = self->unconverted ? gather_unconverted : gather;
    gather_elements(self->tiles.job->instructions, self->plan->layout, at, n, ws->a);
    gather_elements(self->tiles.job->instructions, self->plan->factors, at, n, ws->b);
    return (struct chunk){ws->a, ws->b, n};
}

/* ---- exact sums ---- */

/* Parts alternate. */
static void add_complex(const struct dot *self, const struct chunk *chunk, struct workspace *ws)
{
    const size_t n = 2 * chunk->n, size = element_size(self->type) / 2;
    for (size_t k = 0; k < n; k++)
        memcpy(ws->swapped + k * size, (const char *)chunk->b + (k ^ 1) * size, size);
    float_adder_add(&ws->floats, chunk->a, chunk->b, n, &ws->sums[REAL], &ws->sums[IMAGINARY]);
    float_adder_add(&ws->floats, chunk->a, ws->swapped, n, &ws->sums[MIXED], &ws->sums[MIXED]);
}

static void add_exactly(const struct dot *self, const struct chunk *chunk, struct workspace *ws)
{
    struct exact *const sum = &ws->sums[REAL];
    if (self->unconverted)
        products_add(chunk->a, self->plan->layout->input, chunk->b, self->plan->factors->input,
                     chunk->n, sum, sum);
    else if (element_is_complex(self->type))
        add_complex(self, chunk, ws);
    else
        float_adder_add(&ws->floats, chunk->a, chunk->b, chunk->n, sum, sum);
    sum->counts[EXACT_COUNT] += (int64_t)chunk->n;
}

/* ---- sums in floating-point or integer arithmetic ---- */

static union dotted add(const struct dot *self, union dotted x, union dotted y)
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
static union dotted pairwise_sum(const struct dot *self, const union dotted *sums, uint64_t n)
{
    if (n == 1)
        return *sums;
    return add(self, pairwise_sum(self, sums, n / 2), pairwise_sum(self, sums + n / 2, n - n / 2));
}

static union dotted piece_sum(const struct dot *self, uint64_t begin, uint64_t end,
                              struct workspace *ws)
{
    union dotted sums[DOT_PIECE / CHUNK_MAX];
    dot_elements *const loop = cpu_kernels(self->tiles.job->instructions)->dot(self->type);
    uint64_t chunks = 0;
    for (uint64_t at = begin; at < end; at += CHUNK_MAX, chunks++) {
        const struct chunk chunk = chunk_at(self, at, min_u64(end - at, CHUNK_MAX), ws);
        loop(chunk.a, chunk.b, chunk.n, &sums[chunks]);
    }
    return pairwise_sum(self, sums, chunks);
}

/* ---- running ---- */

static unsigned add_tile(void *context, uint64_t tile, void *memory)
{
    const struct dot *self = context;
    struct workspace *const ws = memory;
    union dotted *const pieces = tiles_common(&self->tiles);
    const uint64_t begin = tile * DOT_PIECE, end = min_u64(begin + DOT_PIECE, self->plan->n);
    /* a loop takes CHUNK_MAX floats */
    const uint64_t most = element_is_complex(self->type) ? CHUNK_MAX / 2 : CHUNK_MAX;
    if (!self->plan->exact) {
        pieces[tile] = piece_sum(self, begin, end, ws);
        return 0;
    }
    windows_reset(&ws->floats.windows);
    for (uint64_t at = begin; at < end; at += most) {
        const struct chunk chunk = chunk_at(self, at, min_u64(end - at, most), ws);
        add_exactly(self, &chunk, ws);
    }
    return 0;
}

static void start(const struct dot *self, struct workspace *ws)
{
    for (int sum = 0; sum < SUMS; sum++)
        memset(&ws->sums[sum], 0, sizeof ws->sums[sum]);
    float_adder_start(&ws->floats, self->tiles.job->instructions, element_real_part(self->type),
                      false, true, false);
    ws->floats.long_enough = needs_large_sum(self->type, self->plan->n);
}

/* (a + bi) (c + di) = (ac - bd) + (ad + bc)i. */
static struct scalar_wide value_of(const struct dot *self)
{
    const union dotted total =
        pairwise_sum(self, tiles_common(&self->tiles), ceil_div(self->plan->n, DOT_PIECE));
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
        struct exact *const parts = workspace->sums;
        int64_t *const counts = parts[IMAGINARY].counts, infinities = counts[EXACT_INFINITIES];
        float_adder_end(&workspace->floats, &parts[REAL]);
        /* subtracted infinities change sign */
        counts[EXACT_INFINITIES] = counts[EXACT_NEGATIVE_INFINITIES];
        counts[EXACT_NEGATIVE_INFINITIES] = infinities;
        exact_negate(parts[IMAGINARY].digits);
        exact_merge(&sums->parts[EXACT_REAL], &parts[REAL]);
        exact_merge(&sums->parts[EXACT_REAL], &parts[IMAGINARY]);
        exact_merge(&sums->parts[EXACT_IMAGINARY], &parts[MIXED]);
    }
}

bool dot_run(struct job *job)
{
    const bool no_negative_zeros[EXACT_PARTS] = {false, false};
    const struct plan *plan = job->plan;
    struct dot self = {.plan = plan};
    const uint64_t pieces = ceil_div(plan->n, DOT_PIECE);
    self.unconverted = plan->exact && needs_unconverted(plan->layout, plan->factors);
    self.ready = !self.unconverted && is_in_place(plan->layout) && is_in_place(plan->factors);
    self.type = self.ready ? plan->layout->type : element_accumulator(plan->layout->type);
    const bool needs_buffers = !self.ready || (plan->exact && element_is_complex(self.type));
    self.tiles = (struct tiles){.job = job,
                                .sharing.pieces = pieces,
                                .default_fenv = true,
                                .poll_interval = POLL_INTERVAL,
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
