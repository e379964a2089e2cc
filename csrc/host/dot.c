/* Pairs go through loops a chunk at a time. In floats, pieces' sums are kept and in the end added
 * up as a tree, so that neither the number of threads nor the layout makes a difference; exactly,
 * each thread has sums of its own, and no order makes one. */
#include "host/dot.h"

#include "common/arithmetic.h"
#include "common/dots.h"
#include "common/reduction.h"
#include "host/backend.h"
#include "host/job.h"
#include "host/products.h"
#include "host/windows.h"
#include "run/gather.h"

#include <fenv.h>
#include <stdlib.h>

enum { CHUNK = LOOP_MOST, CACHE_LINE = 64, WIDEST_ELEMENT = 16 };

/* Of a complex number's parts: products of first ones, of second ones, and of either with the
 * other. Of real numbers there are only first ones. */
enum { FIRST, SECOND, CROSSED, SUMS };

/* What one thread works with, in cache lines of its own. */
struct own {
    _Alignas(CACHE_LINE) struct exact sums[SUMS];
    struct windows windows;
};

/* Where a thread gathers elements that do not lie ready; and, of b's complex numbers, turns
 * their parts round. */
struct buffers {
    _Alignas(CACHE_LINE) char a[CHUNK * WIDEST_ELEMENT], b[CHUNK * WIDEST_ELEMENT],
        turned[CHUNK * WIDEST_ELEMENT];
};

struct dot {
    struct job job;
    struct pairs pairs;
    enum element type; /* of elements as loops see them */
    bool ready;        /* they see them where they lie */
    bool as_they_are;  /* the types differ, and no common one holds all values */
    bool exactly;
    uint64_t start; /* of the stretch */
    uint64_t length;
    unsigned threads;
    union dotted *pieces;    /* one each */
    struct own *own;         /* one each thread, if exactly */
    struct buffers *buffers; /* one each thread, where some are needed */
};

static bool is_long_integer(enum element type)
{
    return type == ELEMENT_INT64 || type == ELEMENT_UINT64;
}

/* Integers' exact sums are longer than any integer type. */
static bool has_to_stay(const struct pairs *pairs)
{
    const enum element type = pairs->a->type;
    return element_is_integer(type) ||
           (!element_is_complex(type) &&
            (is_long_integer(pairs->a->input) || is_long_integer(pairs->b->input)));
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

static const void *gathered(const struct dot *self, const struct layout *layout, uint64_t at,
                            uint64_t n, void *target)
{
    if (self->as_they_are)
        gather_unconverted(self->job.instructions, layout, at, n, target);
    else
        gather(self->job.instructions, layout, at, n, target);
    return target;
}

static struct chunk chunk_at(const struct dot *self, uint64_t at, uint64_t n, unsigned thread)
{
    const struct pairs *pairs = &self->pairs;
    const size_t size = element_size(self->type);
    if (self->ready)
        return (struct chunk){(const char *)pairs->a->data + at * size,
                              (const char *)pairs->b->data + at * size, n};
    struct buffers *const buffers = &self->buffers[thread];
    return (struct chunk){gathered(self, pairs->a, at, n, buffers->a),
                          gathered(self, pairs->b, at, n, buffers->b), n};
}

/* Parts of complex numbers, the second one first. */
static const void *turned(const void *elements, size_t n, enum element part, void *target)
{
    const size_t size = element_size(part);
    for (size_t k = 0; k < 2 * n; k++)
        memcpy((char *)target + k * size, (const char *)elements + (k ^ 1) * size, size);
    return target;
}

/* ---- exactly ---- */

/* Floats, as real numbers or as parts that lie in turn. */
static void add_floats(const struct dot *self, const struct chunk *chunk, struct own *own,
                       struct exact *even, struct exact *odd)
{
    const enum element part = element_real_part(self->type);
    uint64_t added;
    exact_reserve(even, WINDOWS_LOAD);
    exact_reserve(odd, WINDOWS_LOAD);
    if (!windows_add(&own->windows, chunk->a, chunk->b, chunk->n, even, odd, &added))
        products_add(chunk->a, part, chunk->b, part, chunk->n, even, odd);
}

static void add_complex(const struct dot *self, const struct chunk *chunk, struct own *own,
                        struct buffers *buffers)
{
    const enum element part = element_real_part(self->type);
    const struct chunk straight = {chunk->a, chunk->b, 2 * chunk->n},
                       crossed = {chunk->a, turned(chunk->b, chunk->n, part, buffers->turned),
                                  2 * chunk->n};
    add_floats(self, &straight, own, &own->sums[FIRST], &own->sums[SECOND]);
    add_floats(self, &crossed, own, &own->sums[CROSSED], &own->sums[CROSSED]);
}

static void add_exactly(const struct dot *self, const struct chunk *chunk, unsigned thread)
{
    struct own *const own = &self->own[thread];
    struct exact *const sum = &own->sums[FIRST];
    if (self->as_they_are)
        products_add(chunk->a, self->pairs.a->input, chunk->b, self->pairs.b->input, chunk->n, sum,
                     sum);
    else if (element_is_complex(self->type))
        add_complex(self, chunk, own, &self->buffers[thread]);
    else
        add_floats(self, chunk, own, sum, sum);
    sum->counts[EXACT_COUNT] += (int64_t)chunk->n;
}

/* ---- in a float's arithmetic, or an integer's ---- */

static dot_elements *loop_of(const struct dot *self)
{
    static dot_elements *(*const sets[])(enum element) = {
#define SET(name) DOTS(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    return sets[self->job.instructions](self->type);
}

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

/* As a tree. */
static union dotted total_of(const struct dot *self, const union dotted *sums, uint64_t n)
{
    if (n == 1)
        return *sums;
    return sum_of(self, total_of(self, sums, n / 2), total_of(self, sums + n / 2, n - n / 2));
}

static union dotted piece_of(const struct dot *self, uint64_t begin, uint64_t end, unsigned thread)
{
    union dotted sums[DOT_PIECE / CHUNK];
    dot_elements *const loop = loop_of(self);
    uint64_t chunks = 0;
    for (uint64_t at = begin; at < end; at += CHUNK, chunks++) {
        const struct chunk chunk = chunk_at(self, at, least(end - at, CHUNK), thread);
        loop(chunk.a, chunk.b, chunk.n, &sums[chunks]);
    }
    return total_of(self, sums, chunks);
}

/* ---- all ---- */

/* In plain arithmetic, whatever the caller has set. */
static void add_piece(void *context, uint64_t index, unsigned thread)
{
    const struct dot *self = context;
    const uint64_t begin = self->start + index * DOT_PIECE,
                   end = least(begin + DOT_PIECE, self->start + self->length);
    /* A loop takes so many floats. */
    const uint64_t most = element_is_complex(self->type) ? CHUNK / 2 : CHUNK;
    fenv_t callers;
    fegetenv(&callers);
    fesetenv(FE_DFL_ENV);
    if (self->exactly) {
        windows_forget(&self->own[thread].windows);
        for (uint64_t at = begin; at < end; at += most) {
            const struct chunk chunk = chunk_at(self, at, least(end - at, most), thread);
            add_exactly(self, &chunk, thread);
        }
    } else {
        self->pieces[begin / DOT_PIECE] = piece_of(self, begin, end, thread);
    }
    fesetenv(&callers);
}

void dot_add(struct dot *self, uint64_t start, uint64_t length)
{
    self->start = start;
    self->length = length;
    threads_run(&self->job.threads, divide_up(length, DOT_PIECE), false, add_piece, self);
}

static void start(struct dot *self, struct own *own)
{
    for (int sum = 0; sum < SUMS; sum++)
        exact_clear(&own->sums[sum]);
    windows_start_products(&own->windows, self->job.instructions, element_real_part(self->type));
}

static bool find_room(struct dot *self)
{
    const bool needs_buffers = !self->ready || (self->exactly && element_is_complex(self->type));
    const uint64_t pieces = self->pairs.n ? divide_up(self->pairs.n, DOT_PIECE) : 1;
    self->threads = threads_for(&self->job.threads, pieces);
    if (needs_buffers)
        self->buffers = aligned_alloc(CACHE_LINE, self->threads * sizeof *self->buffers);
    if (self->exactly)
        self->own = aligned_alloc(CACHE_LINE, self->threads * sizeof *self->own);
    else
        self->pieces = malloc(pieces * sizeof *self->pieces);
    return (self->buffers || !needs_buffers) && (self->exactly ? (void *)self->own : self->pieces);
}

struct dot *dot_begin(void *host, const struct pairs *pairs, bool exactly)
{
    struct dot *self = malloc(sizeof *self);
    if (!self)
        return NULL;
    *self = (struct dot){.job = host_job(host), .pairs = *pairs, .exactly = exactly};
    self->as_they_are = exactly && has_to_stay(pairs);
    self->ready = !self->as_they_are && lies_ready(pairs->a) && lies_ready(pairs->b);
    self->type = self->ready ? pairs->a->type : element_accumulator(pairs->a->type);
    if (!find_room(self)) {
        dot_end(self);
        return NULL;
    }
    for (unsigned thread = 0; exactly && thread < self->threads; thread++)
        start(self, &self->own[thread]);
    return self;
}

void dot_end(struct dot *self)
{
    if (self) {
        free(self->buffers);
        free(self->pieces);
        free(self->own);
    }
    free(self);
}

/* (a + bi) (c + di) = (ac - bd) + (ad + bc)i. */
struct scalar_wide dot_value(const struct dot *self)
{
    const union dotted total = total_of(self, self->pieces, divide_up(self->pairs.n, DOT_PIECE));
    if (element_is_integer(self->type))
        return (struct scalar_wide){SCALAR_UNSIGNED, (int64_t)total.integer, 0, 0};
    return (struct scalar_wide){SCALAR_FLOAT, 0, total.parts.same[0] - total.parts.same[1],
                                total.parts.crossed[0] + total.parts.crossed[1]};
}

/* What is subtracted has the other sign, infinities too. */
static void turn_sign(struct exact *sum)
{
    const int64_t infinities = sum->counts[EXACT_INFINITIES];
    sum->counts[EXACT_INFINITIES] = sum->counts[EXACT_NEGATIVE_INFINITIES];
    sum->counts[EXACT_NEGATIVE_INFINITIES] = infinities;
    exact_negate(sum->digits);
}

void dot_sums(struct dot *self, struct exact_sums *sums)
{
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_clear(&sums->parts[part]);
    for (unsigned thread = 0; thread < self->threads; thread++) {
        struct exact *const own = self->own[thread].sums;
        turn_sign(&own[SECOND]);
        exact_merge(&sums->parts[EXACT_REAL], &own[FIRST]);
        exact_merge(&sums->parts[EXACT_REAL], &own[SECOND]);
        exact_merge(&sums->parts[EXACT_IMAGINARY], &own[CROSSED]);
    }
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_normalise(&sums->parts[part]);
}
