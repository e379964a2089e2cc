/* Exact sums by key, with tables of plain sums: floats are split in two, so that each half has bits
 * to spare, and the processor reports if a sum rounds nevertheless. */
#include "cpu/by_key.h"
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"

#include <math.h>
#include <string.h>

enum { TILE_KEYS = UNROUNDED_COLUMNS_MAX };

struct halves {
    double head, tail;
};

struct workspace {
    struct keyed_chunk chunk;
    struct unrounded_sums sums;
    struct exact_reducer reducer;
};

/* ---- loops ---- */

/* Truncates a float to about half of its bits. */
#define ADD_HALVES(name, In, Bits, cut)                                                            \
    TABLE_LOOP(name, In, struct halves, Bits bits; In head; memcpy(&bits, &x[k], sizeof bits);     \
               bits &= ~(((Bits)1 << (cut)) - 1); memcpy(&head, &bits, sizeof head);               \
               at->head += head; at->tail += x[k] - head)

ADD_HALVES(add_floats, float, uint32_t, 12)
ADD_HALVES(add_doubles, double, uint64_t, 27)

/* ---- results ---- */

/* Adds to a sum, and returns whether that was exact. */
static bool add_to(double *sum, double x)
{
    const double before = *sum, added = before + x, part = added - before;
    *sum = added;
    return (before - (added - part)) + (x - part) == 0;
}

/* The sums of the halves of all parts; returns whether they are exact. */
static bool merge_parts(const struct keyed *all, uint64_t key, double *head, double *tail)
{
    bool exact = true;
    *head = *tail = 0;
    for (uint64_t part = 0; part < all->parts; part++) {
        const struct halves *const halves = (struct halves *)keyed_table(all, part) + key;
        exact &= add_to(head, halves->head);
        exact &= add_to(tail, halves->tail);
    }
    return exact;
}

/* Stores the result of a key with n values. */
static bool finish_key(const struct keyed *all, struct exact_reducer *reducer, uint64_t key,
                       uint64_t n)
{
    const struct plan *plan = all->plan;
    char *const to = (char *)plan->results.at[0] + key * element_size(plan->results.type);
    double head, tail;
    reducer->plan.n = reducer->plan.finish.count = n;
    if (all->counts && n == 0) {
        scalar_store(to, all->empty_result, plan->results.type);
        return true;
    }
    if (merge_parts(all, key, &head, &tail))
        return exact_store_pair(reducer, head, tail, n, to);
    exact_adder_clear(&reducer->adder);
    for (uint64_t part = 0; part < all->parts; part++) {
        const struct halves *const halves = (struct halves *)keyed_table(all, part) + key;
        exact_adder_add_pair(&reducer->adder, halves->head, halves->tail, part ? 0 : n);
    }
    return exact_store_sums(reducer, &reducer->adder.sums, to);
}

static unsigned finish_keys(void *context, uint64_t tile, void *memory)
{
    const struct keyed_tables *self = context;
    struct workspace *ws = memory;
    const struct keyed *all = &self->all;
    const struct plan *plan = all->plan;
    const uint64_t begin = tile * TILE_KEYS, n = min_u64(all->count - begin, TILE_KEYS);
    char *const to = (char *)plan->results.at[0] + begin * element_size(plan->results.type);
    bool exact = !all->counts && plan->results.type == plan->finish.result;
    if (all->tiles.findings & KEYED_ROUNDED)
        return 0;
    for (uint64_t k = 0; k < n; k++) {
        exact &= merge_parts(all, begin + k, &ws->sums.heads[k], &ws->sums.tails[k]);
        if (!isfinite(ws->sums.heads[k] + ws->sums.tails[k]))
            return KEYED_ROUNDED;
    }
    if (exact && exact_round_sums(plan, &ws->sums, true, n, to))
        return 0;
    exact_reducer_start(&ws->reducer, all->tiles.job);
    ws->reducer.plan.layout = &all->values;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t count = 0;
        for (uint64_t part = 0; all->counts && part < all->parts; part++)
            count += keyed_counts(all, part)[begin + k];
        if (!finish_key(all, &ws->reducer, begin + k, count))
            return KEYED_ROUNDED;
    }
    return ws->reducer.run.findings;
}

bool exact_fold_keys(struct job *job, bool *ok)
{
    const struct plan *plan = job->plan;
    struct keyed_tables self = {.unrounded = true};
    struct keyed *const all = &self.all;
    if (!job->reports_rounding || !exact_is_plain(plan) || plan->fold != FOLD_sum)
        return false;
    keyed_describe(all, job, sizeof(struct halves), reduction_row(plan->reduction)->counts,
                   sizeof(struct workspace));
    all->tiles.default_fenv = true;
    all->values.type = element_accumulator(all->values.input);
    self.add = all->values.type == ELEMENT_FLOAT64 ? add_doubles : add_floats;
    *ok = keyed_run(&self, ceil_div(all->count, TILE_KEYS), finish_keys);
    return !*ok || !(all->tiles.findings & KEYED_ROUNDED);
}
