/* What a run of the passes works on: the array as kernels find it, the memory beside it, and which
 * kernels take it from there. */
#pragma once

#include "run/passes.h"

/* In which of its forms the array goes to the kernels, see kernels/entries.h. */
enum form { FORM_FLAT, FORM_STRIDED, FORM_GATHERED };

/* An array on the device, as the first pass finds it. */
struct input {
    enum form form;
    enum element element;
    const char *data;   /* FORM_FLAT */
    const void *layout; /* else, in device memory */
};

/* The memory of one run. Partials alternate between two buffers, pass by pass. */
struct workspace {
    void *uploaded;  /* a piece of a host array */
    void *mask;      /* a host's mask of a device array */
    void *described; /* the layout, for kernels that gather */
    void *copy;      /* the working copy, in the accumulator's type */
    void *partials[2];
    void *tickets;
    void *results; /* one a piece */
    void *counted;
};

/* What a run of the passes needs to know, besides the plan. The array is taken in pieces, one after
 * the other, if there is not memory enough for the workspace of all of it. */
struct passes {
    struct machine *machine;
    const struct plan *plan;
    struct workspace space;
    struct input input;
    enum element accumulator; /* the plan's, or a wider one where elements are gathered */
    uint64_t piece;           /* elements */
    bool measured;
    uint64_t fed;  /* elements of a host array that took part */
    unsigned done; /* passes so far */
    uint64_t grid; /* of the first */
};

uint64_t workspace_divide_up(uint64_t n, uint64_t by);

/* How many pieces the array is taken in. */
uint64_t workspace_pieces(const struct passes *);

/* Decides in which form and in what pieces the array is taken. */
void workspace_choose(struct passes *, const struct run *);

/* After a failure: true if the memory did not suffice, and smaller pieces, chosen now, may do. */
bool workspace_shrink(struct passes *);

/* Allocates what a piece needs. What there is, is to be released in either case. */
bool workspace_prepare(struct passes *);
void workspace_release(struct passes *);

/* The array from element `start` on, as a kernel's argument. */
struct entries_gathered workspace_array(const struct passes *, uint64_t start);

/* The kernel of the first pass; that of flat arrays of a type; a library's function for those. */
const void *workspace_first_kernel(const struct passes *);
const void *workspace_flat_kernel(const struct passes *, enum element input);
library_reduce *workspace_library(const struct passes *, enum element input);

/* Whether a pass leaves partials that take another one. */
bool workspace_repeats(const struct plan *);

size_t workspace_shared_bytes(const struct passes *);

/* How many blocks a pass over n elements gets. */
bool workspace_grid(const struct passes *, const void *kernel, uint64_t n, uint64_t *grid);
