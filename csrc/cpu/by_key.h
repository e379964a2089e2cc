/* Reductions by key on the host: declarations shared by all implementations. */
#pragma once

#include "common/segments.h"
#include "cpu/tiles.h"

/* Elements and keys are processed in parts of fixed length, so that the number of threads does not
 * change any bits: with a table of states per part, merged in order, or by a stable sort. */
struct keyed {
    const struct plan *plan;
    struct layout keys, values; /* `keys` converts to int64 */
    uint64_t count;             /* of keys, and so of results */
    uint64_t parts, part;       /* their number, and elements per part */
    size_t width;               /* bytes per key in a part's table */
    bool counts;                /* the number of values per key is needed */
    unsigned outside;           /* the finding for keys that are not below `count` */
    union scalar empty_result;  /* the result of a key without elements */
    struct tiles tiles;         /* common memory: the parts' tables, then their counts */
};

/* A chunk of keys and values that are not ready in memory; the start of a workspace. */
struct keyed_chunk {
    int64_t keys[CHUNK_MAX];
    _Alignas(64) char values[CHUNK_MAX * sizeof(struct complex128)];
};

/* `workspace`: bytes per thread. */
void keyed_describe(struct keyed *, struct job *, size_t width, bool counts, size_t workspace);

static inline void *keyed_table(const struct keyed *self, uint64_t part)
{
    return tiles_common(&self->tiles) + part * self->count * self->width;
}

static inline uint64_t *keyed_counts(const struct keyed *self, uint64_t part)
{
    return (uint64_t *)keyed_table(self, self->parts) + part * self->count;
}

/* n converted elements of a layout, from index `start` on: in place, or in `buffer`. */
const void *keyed_gather(const struct keyed *, const struct layout *, uint64_t start, uint64_t n,
                         void *buffer);

/* Counts each key, and returns the findings. */
unsigned keyed_count(const struct keyed *, const int64_t *keys, uint64_t n, uint64_t *counts);

/* Reads a key once, so that it cannot change between check and use if another thread writes it. */
static inline uint64_t read_key(const int64_t *key)
{
    return (uint64_t)__atomic_load_n(key, __ATOMIC_RELAXED);
}

/* A table of entries of `size` bytes that are prefetched for n keys; n is 0 for tables that fit in
 * a cache. */
struct prefetch {
    const void *table;
    size_t size;
    uint64_t n;
};

static inline struct prefetch prefetch_of(const void *table, size_t size, uint64_t count,
                                          uint64_t n)
{
    enum { CACHED = 1 << 20 };
    return (struct prefetch){table, size, count * size > CACHED ? n : 0};
}

/* Unsigned: an unchecked key may be any number. */
static inline void prefetch_entry(struct prefetch ahead, const int64_t *keys, uint64_t k)
{
    enum { STEPS = 32 };
    if (k + STEPS < ahead.n)
        __builtin_prefetch(
            (const void *)((uintptr_t)ahead.table + read_key(&keys[k + STEPS]) * ahead.size), 1);
}

/* Adds n values to the states of their keys in a table, and returns whether a key was out of range.
 * Aligned, because these short loops are a quarter slower if they cross a cache line. */
typedef bool add_to_table(const int64_t *keys, const void *values, uint64_t n, uint64_t count,
                          void *table);

#define TABLE_LOOP(name, In, State, ...)                                                           \
    __attribute__((aligned(64))) static bool name(const int64_t *keys, const void *values,         \
                                                  uint64_t n, uint64_t count, void *table)         \
    {                                                                                              \
        const In *const x = values;                                                                \
        State *const states = table;                                                               \
        const struct prefetch ahead = prefetch_of(table, sizeof *states, count, n);                \
        bool outside = false;                                                                      \
        for (uint64_t k = 0; k < n; k++) {                                                         \
            prefetch_entry(ahead, keys, k);                                                        \
            const uint64_t key = read_key(&keys[k]);                                               \
            if (key >= count) {                                                                    \
                outside = true;                                                                    \
                continue;                                                                          \
            }                                                                                      \
            State *const at = &states[key];                                                        \
            __VA_ARGS__;                                                                           \
        }                                                                                          \
        return outside;                                                                            \
    }

/* How tables are filled: states start as the identity, and values are added. */
struct keyed_tables {
    struct keyed all;
    add_to_table *add;
    bool unrounded; /* fails as soon as an operation rounds */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
};

/* A finding of tiles: an operation rounded. */
enum { KEYED_ROUNDED = 1 << 17 };

/* Fills all parts' tables and then runs `finish` for the tiles of the keys. The context passed to
 * it begins with the keyed_tables. False if a failure was recorded. */
bool keyed_run(struct keyed_tables *, uint64_t tiles, tile_function *finish);

/* keyed_fold uses tables, if there is a loop for the plan; keyed_sort works for any. */
bool keyed_has_table(const struct plan *);
bool keyed_fold(struct job *);
bool keyed_sort(struct job *);

/* Exact sums, with tables. False if tables do not apply or an operation rounded: sort instead.
 * Otherwise *ok says whether it succeeded. */
bool exact_fold_keys(struct job *, bool *ok);
