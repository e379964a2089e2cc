/* The steps that lead from an array's elements to one state: which kernel is launched over what, in
 * what grid. A course says how a plan's passes follow one another, whatever the array's length; the
 * steps over a piece of so many elements follow from it. */
#pragma once

#include "schedule/arena.h"
#include "schedule/choice.h"

enum step_kind {
    STEP_PASS,    /* elements or states to fewer states */
    STEP_LIBRARY, /* the same, by a library's function */
    STEP_UNPACK,  /* makes bytes of a mask's bits */
    STEP_COPY,    /* makes the working copy */
    STEP_COUNT,   /* counts what a mask lets through */
    STEP_FINISH,  /* makes the result of a state, on the device */
};

struct step {
    enum step_kind kind;
    enum part reads, writes;
    const void *kernel;
    library_reduce *reducer; /* of STEP_LIBRARY, which has no kernel */
    uint64_t n;              /* what it reads: elements, or states */
    uint64_t grid;
    unsigned block;
    size_t shared_bytes;
    unsigned cluster; /* blocks a cluster */
    bool cooperative;
};

/* Each pass divides what is left by 32 or more; only those of rung 0 halve it. */
enum { PASSES_MAX = 64 };

struct passes {
    struct step at[PASSES_MAX];
    unsigned count;
    enum part leaves; /* which begins with the one state that is left */
};

struct course {
    const struct plan *plan;
    const struct kernels *kernels;
    struct choice choice;
    uint64_t multiprocessors;
    uint64_t first_most,
        again_most; /* blocks of a grid, UINT64_MAX where it grows with the array */
    size_t state_bytes, shared_bytes;
};

/* Whether a pass leaves states that take another one. */
bool course_repeats(const struct course *);

/* Whether all blocks combine into one state, which holds the identity beforehand. */
bool course_begins_with_identity(const struct course *);

/* Whether blocks draw tickets. */
bool course_needs_tickets(const struct course *);

/* Over a piece of n >= 1 elements; over n >= 1 states that pieces have left. */
void course_over_piece(const struct course *, uint64_t n, struct passes *);
void course_over_results(const struct course *, uint64_t n, struct passes *);

/* A launch that strides over n elements, in blocks of so many threads; one that copies elements,
 * converted, to one after the other; and one that stores n results where they are to be. */
struct step step_over(const void *kernel, uint64_t n, unsigned block, uint64_t multiprocessors);
struct step step_gather(const struct kernels *, uint64_t multiprocessors, uint64_t n);
struct step step_store(const void *kernel, uint64_t n);

/* What an exact kernel makes of the words of so many elements. */
struct exact_result step_exact_result(const struct plan *, void *out, enum element type,
                                      uint64_t count);

/* What is done before the passes over n elements, where a mask of so many is brought, and where
 * there is a working copy; and after all of them. */
struct step course_unpack(const struct course *, uint64_t n);
struct step course_copy(const struct course *, uint64_t n);
struct step course_count(const struct course *);
struct step course_finish(const struct course *, enum part state);

/* What the working copy has where a mask hides an element, which kernels then need not see: it
 * changes no result. */
union scalar course_masked_fill(const struct course *);
