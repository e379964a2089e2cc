/* Exact sums on the host: elements are taken in as they are, whatever type the plan has for them,
 * and nothing is rounded. What adds floats, the fastest first: plain sums as long as the processor
 * tells that nothing was rounded, windows, and one element after the other. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/exact_sums.h"
#include "cpu/exact/large_sum.h"
#include "cpu/host.h"

/* ---- plain sums ---- */

/* Whether the processor's flag tells of rounding; that of an emulator such as Valgrind may not. */
bool unrounded_is_told(enum instructions);

/* A thread's loop, and when it is worth a try; of zeros: never. */
struct unrounded_floats {
    unrounded_values *loop;
    unrounded_columns *columns;
    unsigned parts;    /* of its sums */
    bool leaves_out;   /* NaNs */
    unsigned failures; /* in a row */
    unsigned waits;    /* for so many more loads */
};

/* Whether the next load is worth a try; else it is one of those that are to be waited for. */
bool unrounded_is_due(struct unrounded_floats *);

/* One sum of 1 to LOOP_MOST floats of a real type that lie one after the other, as that of two. */
bool unrounded_add_row(struct unrounded_floats *, const void *floats, size_t n, double *head,
                       double *tail);

/* Columns that are due: see common/exact.h. */
bool unrounded_add_columns(struct unrounded_floats *, const void *floats, size_t n, int64_t stride,
                           size_t columns, struct unrounded_sums *);

/* ---- windows ---- */

/* Where a thread's windows are. What it has seen last says where they should be next. */
struct windows {
    enum instructions instructions;
    enum element type; /* of the floats */
    bool leaves_out;   /* NaNs */
    bool products;     /* of two floats are added */
    unsigned least;    /* windows that floats of this type need at all */
    unsigned count;    /* and those that the last ones needed */
    int highest;       /* see common/exact.h */
};

/* What a loop adds to a load. */
enum { WINDOWS_LOAD = 4 * WINDOWS_MOST + WINDOW_LEFT };

void windows_start(struct windows *, enum instructions, enum element type, bool leaves_out,
                   bool products);

/* Forgets how many windows the last numbers needed. */
void windows_forget(struct windows *);

/* Adds 1 to LOOP_MOST floats that lie one after the other, or their products with `others`, to
 * `even`, or those in odd places to `odd`; needs room for a load of WINDOWS_LOAD in each. Returns
 * whether they could be added so; *numbers: how many are no NaN, where NaNs are left out. */
bool windows_add(struct windows *, const void *floats, const void *others, size_t n,
                 struct exact *even, struct exact *odd, uint64_t *numbers);

/* Adds the products of n pairs of elements of real types, which lie one after the other, to `even`,
 * or those in odd places to `odd`; room for a load of 2 n is made. */
void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd);

/* ---- a thread's ---- */

/* How floats are added, where they lie as the last ones have. */
struct exact_ways {
    struct unrounded_floats unrounded;
    struct windows windows;
};

/* As windows_add. */
bool exact_ways_add(struct exact_ways *, const void *floats, size_t n, struct exact *even,
                    struct exact *odd, uint64_t *numbers);

/* The whole sum of a few numbers: so many of 2^unit. */
struct windows_total {
    __int128 units;
    int unit;
    uint64_t numbers; /* that took part */
};

/* The sum of 1 to LOOP_MOST floats, where two windows hold it; products are not added. */
bool windows_total(struct windows *, const void *floats, size_t n, struct windows_total *);

/* Of floats of a real type, with or without NaNs, or of their squares. `told`: the processor tells
 * of rounding. */
void exact_ways_start(struct exact_ways *, enum instructions, enum element type, bool leaves_out,
                      bool squared, bool told);

/* What one thread adds elements with, in cache lines of its own. */
struct exact_adder {
    _Alignas(64) struct exact_sums sums;
    struct exact_ways ways;
    struct beside_windows beside;
};

/* Whether elements are just added, as long as the processor tells that nothing was rounded. */
bool exact_adder_just_adds(const struct job *);

void exact_adder_start(struct exact_adder *, const struct job *);

/* Has all that was added in its sums. */
void exact_adder_end(struct exact_adder *);

/* The next sum's numbers may be expected where the last one's were. */
void exact_adder_clear(struct exact_adder *);

/* Adds n of the plan's elements, which lie one after the other. Arithmetic has to be plain: see
 * common/exact.h. */
void exact_adder_add(struct exact_adder *, const struct plan *, const char *elements, size_t n);

/* Adds n elements of which the sum is that of two floats. */
void exact_adder_add_pair(struct exact_adder *, double head, double tail, uint64_t n);

/* ---- one of many results ---- */

/* As a job of its own, with a run for its answer. */
struct exact_one {
    struct job job;
    struct run run;
    struct plan plan;
};

static inline void exact_one_start(struct exact_one *self, const struct job *all)
{
    self->job = *all;
    self->plan = *all->plan;
    self->job.plan = &self->plan;
    self->job.run = &self->run;
    run_begin(&self->run, 0);
}

/* ---- results without a superaccumulator ---- */

/* Whether results are the rounded sum of real floats, or that divided, and nothing else. */
bool exact_is_plain(const struct plan *);

/* Makes the result of all the plan's elements, which lie one after the other, where these are so
 * few and so near each other that no sums are needed. False: they are. `count`: how many took part.
 */
bool exact_adder_round(struct exact_adder *, const struct plan *, const char *elements,
                       struct scalar_wide *value, uint64_t *count);

/* Of a plain plan, of n elements of which the sum is that of two floats. False: these are too far
 * from each other. */
bool exact_round_pair(const struct plan *, double head, double tail, uint64_t n,
                      struct scalar_wide *value);

/* Of a plain plan, the results of so many neighbours of which each is the sum of plan->n elements:
 * one after the other, of the type that the plan finishes in. `pairs`: sums have tails. False: some
 * are not finite, or of pairs means. */
bool exact_round_sums(const struct plan *, const struct unrounded_sums *, bool pairs,
                      uint64_t count, void *to);
