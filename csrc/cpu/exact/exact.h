/* Exact sums on the host. Elements are added in their own type, whatever the plan's, without
 * rounding. Floats are added by, from fastest to slowest: plain sums as long as the processor
 * reports no rounding, windows, and one element after the other. */
#pragma once

#include "common/cpu_kernels.h"
#include "common/exact_sums.h"
#include "cpu/host.h"

/* ---- plain sums ---- */

/* Whether the processor's inexact flag works; an emulator's, such as Valgrind's, may not. */
bool inexact_flag_works(enum instructions);

/* A thread's loops, and when to try them; all 0: never. */
struct unrounded_floats {
    unrounded_values *loop;
    unrounded_columns *columns;
    unsigned parts;    /* per sum */
    bool skips_nan;    /* skips NaNs */
    unsigned failures; /* consecutive */
    unsigned skips;    /* loads to skip */
};

/* Whether to try the next load; if not, counts it as skipped. */
bool unrounded_is_due(struct unrounded_floats *);

/* The sum of 1 to CHUNK_MAX contiguous floats of a real type, as a head and a tail. */
bool unrounded_add_row(struct unrounded_floats *, const void *floats, size_t n, double *head,
                       double *tail);

/* The same for columns, if due: see common/exact.h. */
bool unrounded_add_columns(struct unrounded_floats *, const void *floats, size_t n, int64_t stride,
                           size_t columns, struct unrounded_sums *);

/* ---- windows ---- */

/* A thread's windows; placed according to the numbers seen last. */
struct windows {
    enum instructions instructions;
    enum element type; /* of the floats */
    bool skips_nan;    /* skips NaNs */
    bool products;     /* adds products of two floats */
    unsigned least;    /* windows needed at least for this type */
    unsigned count;    /* windows that the last numbers needed */
    int highest;       /* see common/exact.h */
};

/* Resets the number of windows. */
void windows_reset(struct windows *);

/* The whole sum of a few numbers, `units` * 2^unit. */
struct windows_total {
    __int128 units;
    int unit;
    uint64_t numbers; /* number of elements */
};

/* The sum of 1 to CHUNK_MAX floats if two windows suffice; not for products. */
bool windows_total(struct windows *, const void *floats, size_t n, struct windows_total *);

/* Whether a sum of n elements is worth a large superaccumulator per thread. */
static inline bool needs_large_sum(enum element type, uint64_t n)
{
    enum { LARGE_SUM = 1 << 14 };
    return n >= LARGE_SUM && (type == ELEMENT_FLOAT32 || type == ELEMENT_FLOAT64);
}

/* ---- one by one ---- */

/* Adds n numbers of a real type, `step` bytes apart and of one or two parts each, to `real` and
 * `imaginary`. Returns how many, without those with skipped NaNs. Makes room for the load. */
uint64_t numbers_add(const void *numbers, size_t step, size_t n, enum element type, unsigned parts,
                     bool skips_nan, struct exact *real, struct exact *imaginary);

/* Adds the products of n contiguous pairs of real elements: at even indices to `even`, at odd ones
 * to `odd`. Makes room for the load. */
void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd);

/* ---- a thread's state ---- */

/* How a thread adds floats or products, depending on the last ones: plainly, in windows, in a large
 * superaccumulator, or one by one. */
struct float_adder {
    struct unrounded_floats unrounded;
    struct windows windows;
    bool long_enough;         /* the whole sum is long enough for a large one */
    struct large_sum *large;  /* NULL: not allocated */
    unsigned failures, skips; /* of windows; loads to skip them */
};

/* For floats of a real type, skipping NaNs or not, or products. */
void float_adder_start(struct float_adder *, enum instructions, enum element type, bool skips_nan,
                       bool products, bool reports_rounding);

/* Adds 1 to CHUNK_MAX contiguous floats, or their products with `others`: at even indices to
 * `even`, at odd ones to `odd`. Makes room for the load. Returns the number added. If long_enough
 * is set, `even` and `odd` must be the same. */
uint64_t float_adder_add(struct float_adder *, const void *floats, const void *others, size_t n,
                         struct exact *even, struct exact *odd);

/* Adds what is left to `sum`. */
void float_adder_end(struct float_adder *, struct exact *sum);

/* What a thread adds elements with, in cache lines of its own. */
struct exact_adder {
    _Alignas(64) struct exact_sums sums;
    struct float_adder floats;
};

/* Whether elements are added plainly as long as the processor reports no rounding. */
bool exact_adder_adds_plainly(const struct job *);

void exact_adder_start(struct exact_adder *, const struct job *);

/* Clears the sums; keeps what is known of the magnitudes for the next ones. */
void exact_adder_clear(struct exact_adder *);

/* Adds n contiguous elements of the plan, in the default floating-point environment. */
void exact_adder_add(struct exact_adder *, const struct plan *, const char *elements, size_t n);

/* A buffer for elements that are not contiguous. */
struct exact_gathered {
    _Alignas(64) char elements[CHUNK_MAX * sizeof(struct complex128)];
};

/* Adds n elements of a layout, from index `start` on. */
void exact_adder_add_layout(struct exact_adder *, const struct job *, const struct layout *,
                            uint64_t start, uint64_t n, struct exact_gathered *);

/* Adds n elements whose sum is head + tail. */
void exact_adder_add_pair(struct exact_adder *, double head, double tail, uint64_t n);

/* ---- results without a superaccumulator ---- */

/* Whether results are the rounded sum of real floats, or that divided, and nothing else. */
bool exact_is_plain(const struct plan *);

/* Rounds `count` adjacent sums of plan->n elements each to contiguous results of the plan's finish
 * type. Requires a plain plan. `pairs`: sums have tails; not for means. False if not finite. */
bool exact_round_sums(const struct plan *, const struct unrounded_sums *, bool pairs,
                      uint64_t count, void *to);

/* ---- many results ---- */

/* What a thread computes one result after the other with: a job, and a run for the answer. */
struct exact_reducer {
    struct exact_adder adder;
    struct job job;
    struct run run;
    struct plan plan;
    struct exact_gathered gathered;
};

void exact_reducer_start(struct exact_reducer *, const struct job *all);

/* Compute and store a result: of n elements of a layout from index `start` on; of n contiguous
 * elements; of an adder's sums; or of n elements of a plain plan whose sum is head + tail. False if
 * a failure was recorded. Except for the first, its plan must have the elements' layout. */
bool exact_reduce(struct exact_reducer *, const struct layout *, uint64_t start, uint64_t n,
                  void *to);
bool exact_reduce_elements(struct exact_reducer *, const char *elements, uint64_t n, void *to);
bool exact_store_sums(struct exact_reducer *, struct exact_sums *, void *to);
bool exact_store_pair(struct exact_reducer *, double head, double tail, uint64_t n, void *to);
