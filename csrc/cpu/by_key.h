/* Results by key, on the host: what all ways to make them share. */
#pragma once

#include "common/segments.h"
#include "cpu/tiles.h"

/* Elements and keys are taken in parts of fixed length, so that threads change no bits: by tables
 * of states, one for each part, that are merged in order; or by a stable counting sort. */
struct keyed {
    const struct plan *plan;
    struct layout keys, values; /* the former as int64 */
    uint64_t count;             /* of keys, and results */
    uint64_t parts, part;       /* how many, and elements of one */
    size_t width;               /* of a key in a part's table, bytes */
    bool counts;                /* how many values each key has */
    unsigned outside;           /* what is to be said of a key that is not below the count */
    union scalar of_none;       /* as results hold it */
    struct tiles tiles;         /* in common: parts' tables, and then their counts, if any */
};

/* A chunk of keys and values, where these do not lie ready: at the beginning of a workspace. */
struct keyed_chunk {
    int64_t keys[LOOP_MOST];
    _Alignas(64) char values[LOOP_MOST * sizeof(struct complex128)];
};

/* Threads have workspaces of so many bytes. */
void keyed_describe(struct keyed *, struct job *, size_t width, bool counts, size_t workspace);

static inline void *keyed_table(const struct keyed *self, uint64_t part)
{
    return tiles_common(&self->tiles) + part * self->count * self->width;
}

static inline uint64_t *keyed_counts(const struct keyed *self, uint64_t part)
{
    return (uint64_t *)keyed_table(self, self->parts) + part * self->count;
}

/* n elements of a layout from number `start` on, converted: where they lie, or in a buffer. */
const void *keyed_gather(const struct keyed *, const struct layout *, uint64_t start, uint64_t n,
                         void *buffer);

/* Counts each key, and returns what is to be said of them. */
unsigned keyed_count(const struct keyed *, const int64_t *keys, uint64_t n, uint64_t *counts);

/* Once: what another thread writes meanwhile is not seen between a check and a use. */
static inline uint64_t read_key(const int64_t *key)
{
    return (uint64_t)__atomic_load_n(key, __ATOMIC_RELAXED);
}

/* A table of entries of so many bytes, and of how many of n keys it pays to ask for theirs some
 * steps ahead: of a small one, which a cache holds, none. */
struct ahead {
    const void *table;
    size_t size;
    uint64_t n;
};

static inline struct ahead ahead_of(const void *table, size_t size, uint64_t count, uint64_t n)
{
    enum { CACHED = 1 << 20 };
    return (struct ahead){table, size, count * size > CACHED ? n : 0};
}

/* What a key says may be anywhere. */
static inline void prefetch_entry(struct ahead ahead, const int64_t *keys, uint64_t k)
{
    enum { STEPS = 32 };
    if (k + STEPS < ahead.n)
        __builtin_prefetch(
            (const void *)((uintptr_t)ahead.table + read_key(&keys[k + STEPS]) * ahead.size), 1);
}

/* Adds n values to the states of their keys in a table; returns whether a key was none of `count`.
 * A loop over so few instructions takes a quarter longer where it lies across cache lines. */
typedef bool add_to_table(const int64_t *keys, const void *values, uint64_t n, uint64_t count,
                          void *table);

#define TO_TABLE(name, In, State, ...)                                                             \
    __attribute__((aligned(64))) static bool name(const int64_t *keys, const void *values,         \
                                                  uint64_t n, uint64_t count, void *table)         \
    {                                                                                              \
        const In *const x = values;                                                                \
        State *const states = table;                                                               \
        const struct ahead ahead = ahead_of(table, sizeof *states, count, n);                      \
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

/* What goes into tables: states begin as the identity, and values are added. */
struct keyed_adding {
    struct keyed all;
    add_to_table *add;
    bool unrounded; /* all is in vain once anything is rounded */
    _Alignas(STATE_ALIGNMENT) char identity[STATE_BYTES_MAX];
};

/* Tiles also say: something was rounded that is not to be. */
enum { KEYED_ROUNDED = 1 << 17 };

/* Makes all parts' tables, and then finishes so many tiles of the keys; the context begins with the
 * adding. False with a failure noted. */
bool keyed_run(struct keyed_adding *, uint64_t tiles, tile_work *finish);

/* By tables, where there is a loop for it; by a sort, anything. */
bool keyed_has_table(const struct plan *);
bool keyed_fold(struct job *);
bool keyed_sort(struct job *);

/* Exact sums, by tables. False: in vain, a sort is needed; else whether they are `made`. */
bool exact_fold_keys(struct job *, bool *made);
