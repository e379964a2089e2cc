/* Exact sums on the host: elements are taken in as they are, whatever type the plan has for them,
 * and nothing is rounded. What adds floats, the fastest first: plain sums as long as the processor
 * tells that nothing was rounded, windows, and one element after the other. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/exact_sums.h"
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

/* Forgets how many windows the last numbers needed. */
void windows_forget(struct windows *);

/* The whole sum of a few numbers: so many of 2^unit. */
struct windows_total {
    __int128 units;
    int unit;
    uint64_t numbers; /* that took part */
};

/* The sum of 1 to LOOP_MOST floats, where two windows hold it; products are not added. */
bool windows_total(struct windows *, const void *floats, size_t n, struct windows_total *);

/* Whether a sum of so many elements is worth a large superaccumulator a thread. */
static inline bool large_sum_suits(enum element type, uint64_t n)
{
    enum { LARGE_SUM = 1 << 14 };
    return n >= LARGE_SUM && (type == ELEMENT_FLOAT32 || type == ELEMENT_FLOAT64);
}

/* ---- one by one ---- */

/* Adds n numbers, `step` bytes apart, of so many parts each, of a real type, to `real` and
 * `imaginary`, and returns how many took part: those with a NaN may be left out. Makes room. */
uint64_t numbers_add(const void *numbers, size_t step, size_t n, enum element type, unsigned parts,
                     bool leaves_out, struct exact *real, struct exact *imaginary);

/* Adds the products of n pairs of elements of real types, which lie one after the other, to `even`,
 * or those in odd places to `odd`; makes room. */
void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd);

/* ---- a thread's ---- */

/* How a thread adds floats, or products of two, where they lie as the last ones have: plainly, in
 * windows, in a large sum, or one by one. */
struct exact_ways {
    struct unrounded_floats unrounded;
    struct windows windows;
    bool long_enough;         /* the whole sum is, for a large one */
    struct large_sum *large;  /* a large superaccumulator; NULL: none yet */
    unsigned failures, waits; /* of windows in a row, beside a large sum, which has so many more
                                 loads to itself */
};

/* Of floats of a real type, with or without NaNs, or of products. `told`: the processor tells of
 * rounding. */
void exact_ways_start(struct exact_ways *, enum instructions, enum element type, bool leaves_out,
                      bool products, bool told);

/* Adds 1 to LOOP_MOST floats that lie one after the other, or their products with `others`, to
 * `even`, or those in odd places to `odd`; makes room. Returns how many took part. Where sums may
 * be large, both are one. */
uint64_t exact_ways_add(struct exact_ways *, const void *floats, const void *others, size_t n,
                        struct exact *even, struct exact *odd);

/* Has all that was added in `sum`. */
void exact_ways_end(struct exact_ways *, struct exact *sum);

/* What one thread adds elements with, in cache lines of its own. */
struct exact_adder {
    _Alignas(64) struct exact_sums sums;
    struct exact_ways ways;
};

/* Whether elements are just added, as long as the processor tells that nothing was rounded. */
bool exact_adder_just_adds(const struct job *);

void exact_adder_start(struct exact_adder *, const struct job *);

/* The next sum's numbers may be expected where the last one's were. */
void exact_adder_clear(struct exact_adder *);

/* Adds n of the plan's elements, which lie one after the other. Arithmetic has to be plain: see
 * common/exact.h. */
void exact_adder_add(struct exact_adder *, const struct plan *, const char *elements, size_t n);

/* Elements that are gathered where they do not lie one after the other, at most so many. */
struct exact_gathered {
    _Alignas(64) char elements[LOOP_MOST * sizeof(struct complex128)];
};

/* Adds n elements of a layout from number `start` on, alike. */
void exact_adder_add_layout(struct exact_adder *, const struct job *, const struct layout *,
                            uint64_t start, uint64_t n, struct exact_gathered *);

/* Adds n elements of which the sum is that of two floats. */
void exact_adder_add_pair(struct exact_adder *, double head, double tail, uint64_t n);

/* ---- results without a superaccumulator ---- */

/* Whether results are the rounded sum of real floats, or that divided, and nothing else. */
bool exact_is_plain(const struct plan *);

/* Of a plain plan, the results of so many neighbours of which each is the sum of plan->n elements:
 * one after the other, of the type that the plan finishes in. `pairs`: sums have tails. False: some
 * are not finite, or of pairs means. */
bool exact_round_sums(const struct plan *, const struct unrounded_sums *, bool pairs,
                      uint64_t count, void *to);

/* ---- one of many results ---- */

/* What a thread makes one result after the other with, each as a job of its own, with a run for its
 * answer. */
struct exact_maker {
    struct exact_adder adder;
    struct job job;
    struct run run;
    struct plan plan;
    struct exact_gathered gathered;
};

void exact_maker_start(struct exact_maker *, const struct job *all);

/* Makes a result and stores it: of n elements of a layout from number `start` on; of n elements
 * that lie one after the other; of what adders have added; or of a plain plan's n elements of which
 * the sum is that of two floats. False with a failure noted. But for the first, the maker's plan
 * has the layout of the result's elements. */
bool exact_make(struct exact_maker *, const struct layout *, uint64_t start, uint64_t n, void *to);
bool exact_make_of_elements(struct exact_maker *, const char *elements, uint64_t n, void *to);
bool exact_make_of_sums(struct exact_maker *, struct exact_sums *, void *to);
bool exact_make_of_pair(struct exact_maker *, double head, double tail, uint64_t n, void *to);
