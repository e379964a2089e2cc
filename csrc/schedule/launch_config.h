/* Chooses the kernel of a reduction along axes and its launch configuration: a pure function of the
 * axes, the types, the available kernels, and the device's size. */
#pragma once

#include "common/arithmetic.h"
#include "common/kernels.h"
#include "plan/axes.h"
#include "schedule/tuning.h"

struct launch_problem {
    const struct axes *axes;
    uintptr_t data; /* address of the first result's elements */
    unsigned multiprocessors;
    enum element accumulator;
    size_t state; /* bytes */
    bool indexed; /* positions matter */
    bool native;  /* kernels of short rows and of unsplit columns produce results, not states */
    bool batch_invariant; /* the merge order may depend only on a result's own elements */
    unsigned kernels;     /* bit mask of available kinds along axes; KERNEL_ALONG always is */
    unsigned strided;     /* the same for ACCESS_STRIDED */
};

/* Takes the first of these that has a kernel and fits the axes: small arrays, results of one
 * element each, short rows, long rows, columns, any elements of a known type, few elements per
 * result, any array. */
void launch_config_choose(const struct launch_problem *, struct launch_config *);

/* The variant in the key of config->kernel. */
enum kernel_access launch_access(const struct launch_config *);

/* Whether config->kernel is compiled for the elements' type. */
static inline bool launch_is_typed(const struct launch_config *self)
{
    return self->kernel >= KERNEL_TYPED_COLUMNS && self->kernel <= KERNEL_BATCH_INVARIANT;
}

/* Number of ticket counters. */
uint64_t launch_tickets(const struct launch_config *);

/* What the kernel reads, as text for gred.explain. */
const char *launch_name(const struct launch_config *);

/* ---- rows ---- */

/* Fills in how kernels read rows->from, a layout of at least one dimension and one element. `base`
 * is the position of its first element in the array; elements become of type `accumulator`. */
void rows_describe(struct kernel_rows *rows, uint64_t base, enum element accumulator);

/* log2 of the elements that a thread loads at a time. */
unsigned rows_slots(enum element accumulator);

/* log2 of the threads that share a row of `length` elements, at most a warp. */
unsigned rows_lanes(uint64_t length, enum element accumulator);

/* Fills in the rows along axes, or stretches of long rows, that the threads of a launch share. */
void launch_rows(const struct launch_config *, const struct axes *, enum element accumulator,
                 struct kernel_rows *);

/* ---- the kinds of launch configurations ---- */

/* Each fills in a complete launch_config, or returns false if the axes do not fit its kernels. */
bool launch_short_rows(const struct launch_problem *, struct launch_config *);
bool launch_long_rows(const struct launch_problem *, struct launch_config *);
bool launch_typed_columns(const struct launch_problem *, struct launch_config *);
bool launch_strided(const struct launch_problem *, struct launch_config *);

/* The kernel of short rows, for columns of batches that fit in shared memory. */
bool launch_staged_batches(const struct launch_problem *, struct launch_config *);

/* launch_strided's kernel for arrays so small that fetching the kernel's code dominates: up to
 * `most` bytes per multiprocessor, narrow elements counted as words. */
bool launch_small(const struct launch_problem *, uint64_t most, struct launch_config *);

/* For kernels of any element type. */
void launch_any_type(const struct launch_problem *, struct launch_config *);

/* Batch-invariant kernels: a result's bits depend only on its own elements. */
bool launch_batch_invariant(const struct launch_problem *, struct launch_config *);
void launch_any_type_invariant(const struct launch_problem *, struct launch_config *);

/* ---- helpers ---- */

enum {
    WARP = 5,       /* log2 of the threads per warp */
    PACK_BYTES = 16 /* largest load */
};

/* Number of trailing zero bits: log2 of a power of two. */
static inline unsigned trailing_zeros(uint64_t n)
{
    return (unsigned)__builtin_ctzll(n);
}

static inline bool launch_has(const struct launch_problem *self, enum kernel_kind kind)
{
    return self->kernels >> kind & 1;
}

static inline bool launch_has_strided(const struct launch_problem *self, enum kernel_kind kind)
{
    return self->strided >> kind & 1;
}

/* Elements per result. */
static inline uint64_t elements_per_result(const struct axes *axes)
{
    return layout_length(&axes->reduced);
}

static inline uint64_t element_bytes(const struct axes *axes)
{
    return element_size(axes->reduced.input);
}

/* Whether the rows along the last outer dimension, of `row_bytes` bytes each, are contiguous,
 * contiguous with each other, and unmasked. */
bool axes_rows_are_contiguous(const struct axes *, uint64_t row_bytes);

/* Whether neighbors in memory belong to different results. */
bool axes_are_interleaved(const struct axes *);

/* Contiguous elements per result, if so few that several results had better be read together
 * (cases/adjacent_columns); 1 if adjacent elements belong to different results; 0 if neither. */
unsigned axes_columns_per_result(const struct axes *, bool indexed);

/* Bitwise OR of the first row's address and the strides of all outer dimensions but the last
 * `excluded`, for alignment checks. */
uint64_t axes_row_alignment_bits(const struct axes *, uintptr_t data, unsigned excluded);

bool axes_are_small(const struct launch_problem *);
