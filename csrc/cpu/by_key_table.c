/* Sums, products, extremes and truth by key. Each part of the elements has a table of states; the
 * parts' states of a key are merged in order. */
#include "common/arithmetic.h"
#include "common/scalar.h"
#include "cpu/by_key.h"
#include "plan/axes.h"
#include "run/result.h"
#include "threads/gather.h"

#include <fenv.h>
#include <string.h>

enum {
    PART_MIN = 1 << 16,
    PARTS_MAX = 64,
    POLL_INTERVAL = 1 << 26, /* elements between polls of the watch, */
    POLL_PARTS_MIN = 16,     /* or parts, for many threads */
    TILE_KEYS = 1 << 12
};

/* ---- loops ---- */

#define FLOATS(op, name) op(name##_float32, float, double) op(name##_float64, double, double)

/* Integers wrap around. */
#define ARITHMETIC(op, name)                                                                       \
    op(name##_int32, int32_t, uint64_t) op(name##_int64, int64_t, uint64_t)                        \
        op(name##_uint64, uint64_t, uint64_t) FLOATS(op, name)
#define SUM(name, In, State)  TABLE_LOOP(name, In, State, *at += (State)x[k])
#define PROD(name, In, State) TABLE_LOOP(name, In, State, *at *= (State)x[k])

/* NaN propagates. */
#define EXTREMES(op, name)                                                                         \
    op(name##_int32, int32_t, int64_t) op(name##_int64, int64_t, int64_t)                          \
        op(name##_uint64, uint64_t, uint64_t) FLOATS(op, name)
#define MIN(name, In, State)                                                                       \
    TABLE_LOOP(name, In, State, const State value = (State)x[k];                                   \
               if (value < *at || value != value) *at = value)
#define MAX(name, In, State)                                                                       \
    TABLE_LOOP(name, In, State, const State value = (State)x[k];                                   \
               if (value > *at || value != value) *at = value)
#define COMPLEX_SUM(name, In)                                                                      \
    TABLE_LOOP(name, In, struct complex128, at->real += x[k].real; at->imag += x[k].imag)

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wtautological-compare"
ARITHMETIC(SUM, sum)
ARITHMETIC(PROD, prod)
EXTREMES(MIN, min)
EXTREMES(MAX, max)
COMPLEX_SUM(sum_complex64, struct complex64)
COMPLEX_SUM(sum_complex128, struct complex128)
TABLE_LOOP(nonzero, int32_t, int64_t, *at += x[k] != 0)
#pragma GCC diagnostic pop

/* NULL: there is none. `values`: the type after gathering. */
static add_to_table *loop_of(enum fold fold, enum element values)
{
#define REAL_LOOPS(name)                                                                           \
    [ELEMENT_INT32] = name##_int32, [ELEMENT_INT64] = name##_int64,                                \
    [ELEMENT_UINT64] = name##_uint64, [ELEMENT_FLOAT32] = name##_float32,                          \
    [ELEMENT_FLOAT64] = name##_float64
    static add_to_table *const loops[FOLDS][ELEMENTS] = {
        [FOLD_sum] = {REAL_LOOPS(sum), [ELEMENT_COMPLEX64] = sum_complex64,
                      [ELEMENT_COMPLEX128] = sum_complex128},
        [FOLD_prod] = {REAL_LOOPS(prod)},
        [FOLD_min] = {REAL_LOOPS(min)},
        [FOLD_max] = {REAL_LOOPS(max)},
        [FOLD_nonzero] = {[ELEMENT_INT32] = nonzero},
    };
    return loops[fold][values];
}

bool keyed_has_table(const struct plan *plan)
{
    return !plan->exact && loop_of(plan->fold, element_accumulator(plan->layout->type));
}

/* ---- shared with the sort ---- */

/* As many parts as threads may need, unless merging tables takes longer than adding elements. */
void keyed_describe(struct keyed *self, struct job *job, size_t width, bool counts,
                    size_t workspace)
{
    const struct plan *plan = job->plan;
    *self = (struct keyed){.plan = plan,
                           .keys = *plan->segments.keys,
                           .values = *plan->layout,
                           .count = plan->segments.of->count,
                           .width = width,
                           .counts = counts,
                           .empty_result = run_empty_value(plan),
                           .outside = plan->segments.drops ? 0 : FOUND_OUTSIDE};
    self->keys.type = self->keys.input == ELEMENT_UINT64 ? ELEMENT_UINT64 : ELEMENT_INT64;
    const uint64_t fitting = plan->n / (width * self->count + 1),
                   wanted = min_u64(plan->n / PART_MIN, fitting > 2 ? fitting : 2),
                   parts = wanted > 1 ? min_u64(wanted, PARTS_MAX) : 1;
    self->part = ceil_div(ceil_div(plan->n, parts), CHUNK_MAX) * CHUNK_MAX;
    self->parts = self->part ? ceil_div(plan->n, self->part) : 1;
    self->tiles = (struct tiles){.job = job,
                                 .sharing.pieces = self->parts,
                                 .poll_interval = POLL_PARTS_MIN + POLL_INTERVAL / (self->part + 1),
                                 .workspace = workspace,
                                 .common = self->parts * self->count *
                                           (width + (counts ? sizeof(uint64_t) : 0))};
}

const void *keyed_gather(const struct keyed *self, const struct layout *from, uint64_t start,
                         uint64_t n, void *buffer)
{
    const enum element input = from->input;
    if (from->type == input && element_accumulator(input) == input && layout_is_flat(from))
        return (const char *)from->data + start * element_size(input);
    gather(self->tiles.job->instructions, from, start, n, buffer);
    return buffer;
}

unsigned keyed_count(const struct keyed *self, const int64_t *keys, uint64_t n, uint64_t *counts)
{
    const struct prefetch ahead = prefetch_of(counts, sizeof *counts, self->count, n);
    bool outside = false;
    for (uint64_t k = 0; k < n; k++) {
        const uint64_t key = read_key(&keys[k]);
        prefetch_entry(ahead, keys, k);
        if (key >= self->count)
            outside = true;
        else
            counts[key]++;
    }
    return outside ? self->outside : 0;
}

/* ---- tables ---- */

/* Fills a table with identities: copies what is already filled, as much as fits in the L1 cache. */
static void init_table(const struct keyed_tables *self, char *table)
{
    enum { COPIED = 4 << 10 };
    const size_t width = self->all.width, bytes = self->all.count * width,
                 most = COPIED / width * width;
    if (bytes)
        memcpy(table, self->identity, width);
    for (size_t done = width, some; done < bytes; done += some) {
        some = min_u64(min_u64(done, most), bytes - done);
        memcpy(table + done, table, some);
    }
}

static unsigned add_part(void *context, uint64_t part, void *memory)
{
    const struct keyed_tables *self = context;
    struct keyed_chunk *const chunk = memory;
    const struct keyed *all = &self->all;
    const uint64_t begin = part * all->part, end = min_u64(begin + all->part, all->plan->n);
    char *const table = keyed_table(all, part);
    unsigned found = 0;
    init_table(self, table);
    if (all->counts)
        memset(keyed_counts(all, part), 0, all->count * sizeof(uint64_t));
    for (uint64_t at = begin; at < end && !((found | all->tiles.findings) & KEYED_ROUNDED);
         at += CHUNK_MAX) {
        const uint64_t n = min_u64(end - at, CHUNK_MAX);
        const int64_t *const keys = keyed_gather(all, &all->keys, at, n, chunk->keys);
        const void *const values = keyed_gather(all, &all->values, at, n, chunk->values);
        if (all->counts)
            keyed_count(all, keys, n, keyed_counts(all, part));
        if (self->unrounded)
            feclearexcept(FE_INEXACT);
        if (self->add(keys, values, n, all->count, table))
            found |= all->outside;
        if (self->unrounded && fetestexcept(FE_INEXACT))
            found |= KEYED_ROUNDED;
    }
    return found;
}

bool keyed_run(struct keyed_tables *self, uint64_t tiles, tile_function *finish)
{
    struct tiles *shared = &self->all.tiles;
    const uint64_t parts = self->all.parts;
    const bool ok = tiles_open(shared, parts > tiles ? parts : tiles, "tables of keys") &&
                    tiles_run(shared, parts, add_part, self) &&
                    tiles_run(shared, tiles, finish, self);
    tiles_close(shared);
    return ok;
}

/* ---- results ---- */

struct folding {
    struct keyed_tables tables;
    enum element accumulator; /* of the states */
    bool stored;
};

static union scalar value_of(const struct folding *self, const void *state, uint64_t n)
{
    const struct keyed_tables *tables = &self->tables;
    const struct plan *plan = tables->all.plan;
    const enum element type = plan->finish.result;
    struct finish how = finish_convert(&plan->finish, self->accumulator);
    struct answer answer;
    if (tables->all.counts ? n == 0 : memcmp(state, tables->identity, tables->all.width) == 0)
        return tables->all.empty_result; /* as such a state's, except for narrower integers */
    if (self->stored)
        return scalar_convert(
            scalar_convert(scalar_load(state, self->accumulator), self->accumulator, type), type,
            plan->results.type);
    how.count = n;
    state_finish(plan->reduction, &how, state, &answer);
    return scalar_convert(scalar_narrow(answer.values[0], type), type, plan->results.type);
}

static unsigned finish_keys(void *context, uint64_t tile, void *memory)
{
    struct folding *self = context;
    const struct keyed *all = &self->tables.all;
    const struct plan *plan = all->plan;
    const uint64_t begin = tile * TILE_KEYS, end = min_u64(begin + TILE_KEYS, all->count);
    const size_t width = all->width, size = element_size(plan->results.type);
    merge_pairs *const merge = merge_pairs_loop(plan->fold, self->accumulator);
    uint64_t *const counts = all->counts ? keyed_counts(all, 0) : NULL;
    char *const states = memory, *const to = (char *)plan->results.at[0];
    memcpy(states, (char *)keyed_table(all, 0) + begin * width, (end - begin) * width);
    for (uint64_t part = 1; part < all->parts; part++) {
        merge(states, (char *)keyed_table(all, part) + begin * width, end - begin);
        for (uint64_t key = begin; counts && key < end; key++)
            counts[key] += keyed_counts(all, part)[key];
    }
    for (uint64_t key = begin; key < end; key++)
        scalar_store(to + key * size,
                     value_of(self, states + (key - begin) * width, counts ? counts[key] : 0),
                     plan->results.type);
    return 0;
}

bool keyed_fold(struct job *job)
{
    const struct plan *plan = job->plan;
    struct folding self = {.accumulator = widest_accumulator(plan->accumulator)};
    struct keyed *const all = &self.tables.all;
    const bool counts = reduction_row(plan->reduction)->counts;
    state_identity(plan->fold, self.accumulator, self.tables.identity);
    self.tables.add = loop_of(plan->fold, element_accumulator(plan->layout->type));
    self.stored = reduction_is_stored(plan->reduction) && !counts;
    keyed_describe(all, job, state_bytes(plan->fold, self.accumulator), counts,
                   sizeof(struct keyed_chunk));
    return keyed_run(&self.tables, ceil_div(all->count, TILE_KEYS), finish_keys);
}
