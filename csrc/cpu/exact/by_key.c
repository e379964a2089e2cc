/* Sums by key, each rounded once, by tables of plain sums: floats are cut in two, so that each half
 * has bits to spare, and the processor tells whether a sum was rounded all the same. */
#include "cpu/by_key.h"
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"
#include "run/result.h"

#include <fenv.h>
#include <math.h>
#include <stdatomic.h>
#include <string.h>

enum { CHUNK = LOOP_MOST, KEYS_A_TILE = UNROUNDED_COLUMNS_MOST };

struct halves {
    double head, tail;
};

struct adding {
    struct keyed all; /* in tables of halves */
    bool counts;
    union scalar of_none; /* as results hold it */
    atomic_bool rounded;  /* somewhere, or not finite: all is in vain */
};

struct workspace {
    int64_t keys[CHUNK];
    double values[CHUNK];
    struct unrounded_sums sums;
    struct exact_maker maker;
};

/* ---- loops ---- */

/* Cuts off as many bits of a float's as leave about half of them. */
#define ADD_HALVES(name, In, Bits, cut)                                                            \
    TO_TABLE(name, In, struct halves, Bits bits; In head; memcpy(&bits, &x[k], sizeof bits);       \
             bits &= ~(((Bits)1 << (cut)) - 1); memcpy(&head, &bits, sizeof head);                 \
             at->head += head; at->tail += x[k] - head)

ADD_HALVES(add_floats, float, uint32_t, 12)
ADD_HALVES(add_doubles, double, uint64_t, 27)

/* ---- tables ---- */

static unsigned add_part(void *context, uint64_t part, char *memory)
{
    struct adding *self = context;
    struct workspace *own = (struct workspace *)(void *)memory;
    const struct keyed *all = &self->all;
    const uint64_t begin = part * all->part, end = least(begin + all->part, all->plan->n);
    struct halves *const table = keyed_table(all, part);
    bool outside = false;
    memset(table, 0, all->count * sizeof *table);
    if (self->counts)
        memset(keyed_counts(all, part), 0, all->count * sizeof(uint64_t));
    for (uint64_t at = begin; at < end && !atomic_load(&self->rounded); at += CHUNK) {
        const uint64_t n = least(end - at, CHUNK);
        const int64_t *const keys = keyed_gather(all, at, n, own->keys);
        const void *const values = keyed_values(all, at, n, own->values);
        if (self->counts)
            keyed_count(all, keys, n, keyed_counts(all, part));
        feclearexcept(FE_INEXACT);
        outside |= (all->values.type == ELEMENT_FLOAT64 ? add_doubles : add_floats)(
            keys, values, n, all->count, table);
        if (fetestexcept(FE_INEXACT))
            atomic_store(&self->rounded, true);
    }
    return outside ? all->outside : 0;
}

/* ---- results ---- */

/* To the sum of a key; whether nothing is rounded. */
static bool add_to(double *sum, double x)
{
    const double before = *sum, added = before + x, part = added - before;
    *sum = added;
    return (before - (added - part)) + (x - part) == 0;
}

/* The halves of all parts, of which the sum is. Whether nothing was rounded. */
static bool merge_parts(const struct adding *self, uint64_t key, double *head, double *tail)
{
    bool exact = true;
    *head = *tail = 0;
    for (uint64_t part = 0; part < self->all.parts; part++) {
        const struct halves *const halves = (struct halves *)keyed_table(&self->all, part) + key;
        exact &= add_to(head, halves->head);
        exact &= add_to(tail, halves->tail);
    }
    return exact;
}

/* One key, of n values. */
static bool finish_key(struct adding *self, struct exact_maker *maker, uint64_t key, uint64_t n)
{
    const struct plan *plan = self->all.plan;
    char *const to = (char *)plan->results.at[0] + key * element_size(plan->results.type);
    double head, tail;
    maker->plan.n = maker->plan.finish.count = n;
    if (self->counts && n == 0) {
        scalar_store(to, self->of_none, plan->results.type);
        return true;
    }
    if (merge_parts(self, key, &head, &tail))
        return exact_make_of_pair(maker, head, tail, n, to);
    exact_adder_clear(&maker->adder);
    for (uint64_t part = 0; part < self->all.parts; part++) {
        const struct halves *const halves = (struct halves *)keyed_table(&self->all, part) + key;
        exact_adder_add_pair(&maker->adder, halves->head, halves->tail, part ? 0 : n);
    }
    return exact_make_of_sums(maker, &maker->adder.sums, to);
}

static unsigned finish_keys(void *context, uint64_t tile, char *memory)
{
    struct adding *self = context;
    struct workspace *own = (struct workspace *)(void *)memory;
    const struct keyed *all = &self->all;
    const struct plan *plan = all->plan;
    const uint64_t begin = tile * KEYS_A_TILE, n = least(all->count - begin, KEYS_A_TILE);
    char *const to = (char *)plan->results.at[0] + begin * element_size(plan->results.type);
    bool exact = !self->counts && plan->results.type == plan->finish.result;
    if (atomic_load(&self->rounded))
        return 0;
    exact_maker_start(&own->maker, all->job, &(struct exact_ways){.large = NULL});
    own->maker.plan.layout = &all->values;
    for (uint64_t k = 0; k < n; k++) {
        exact &= merge_parts(self, begin + k, &own->sums.heads[k], &own->sums.tails[k]);
        if (!isfinite(own->sums.heads[k] + own->sums.tails[k]))
            atomic_store(&self->rounded, true);
    }
    if (atomic_load(&self->rounded) || (exact && exact_round_sums(plan, &own->sums, true, n, to)))
        return 0;
    for (uint64_t k = 0; k < n; k++) {
        uint64_t count = 0;
        for (uint64_t part = 0; self->counts && part < all->parts; part++)
            count += keyed_counts(all, part)[begin + k];
        if (!finish_key(self, &own->maker, begin + k, count))
            atomic_store(&self->rounded, true);
    }
    return own->maker.run.findings;
}

bool exact_fold_keys(struct job *job, bool *made)
{
    const struct plan *plan = job->plan;
    struct adding self = {.counts = reduction_row(plan->reduction)->counts,
                          .of_none = run_value_of_none(plan)};
    if (!job->tells_rounding || !exact_is_plain(plan) || plan->fold != FOLD_sum)
        return false;
    keyed_describe(&self.all, job, sizeof(struct halves), self.counts, sizeof(struct workspace));
    self.all.tiles.plain = true;
    self.all.values.type = element_accumulator(self.all.values.input);
    *made = keyed_run(&self.all, "tables of keys", add_part, divide_up(self.all.count, KEYS_A_TILE),
                      finish_keys, &self);
    if (!self.rounded)
        job->run->findings |= self.all.tiles.findings;
    return !*made || !self.rounded;
}
