/* How a reduction along axes is shared among a device's threads, and by which kernel: a pure
 * function of the axes, the types, the kernels that there are, and the device's size. */
#pragma once

#include "common/arithmetic.h"
#include "common/kernels.h"
#include "plan/axes.h"
#include "schedule/tuning.h"

struct launch_problem {
    const struct axes *axes;
    uintptr_t data; /* where the first result's elements lie */
    unsigned multiprocessors;
    enum element accumulator;
    size_t state; /* bytes */
    bool indexed; /* positions matter */
    bool native;  /* kernels of short rows and of unsplit columns make results, not states */
    bool batch_invariant; /* only a result's own elements may decide in which order they merge */
    unsigned kernels;     /* a bit for each kind along axes that there is; KERNEL_ALONG always is */
    unsigned strided;     /* and that there is of every second element, or of such as lie apart */
};

/* The first of these for which there is a kernel, and as whose kernel wants them elements lie:
 * what is small, places among one element each, short rows, long rows, columns, anything of a known
 * type, few elements, any. */
void launch_config_choose(const struct launch_problem *, struct launch_config *);

/* What config->kernel is found by, besides the fold and the types. */
enum kernel_access launch_access(const struct launch_config *);

/* Whether config->kernel knows the elements' type. */
static inline bool launch_knows_type(const struct launch_config *self)
{
    return self->kernel >= KERNEL_TYPED_COLUMNS && self->kernel <= KERNEL_BATCH_INVARIANT;
}

/* Counters of blocks. */
uint64_t launch_tickets(const struct launch_config *);

/* What the kernel takes, in words. */
const char *launch_name(const struct launch_config *);

/* ---- rows ---- */

/* How rows->from is read, a layout of at least one dimension and one element, the first of which is
 * number `base` of the array; the kernel makes values of type `accumulator` of them. */
void rows_describe(struct kernel_rows *rows, uint64_t base, enum element accumulator);

/* What a thread takes in at once, as an exponent. */
unsigned rows_slots(enum element accumulator);

/* Threads, as an exponent, that so many neighbours keep busy at least once and at most twice. */
unsigned rows_lanes(uint64_t length, enum element accumulator);

/* The rows along axes, or stretches of long ones, that the threads of a launch share. */
void launch_rows(const struct launch_config *, const struct axes *, enum element accumulator,
                 struct kernel_rows *);

/* ---- the kinds of launches ---- */

/* Each fills all of a launch_config, or returns false: the axes are not for its kernels. */
bool launch_short_rows(const struct launch_problem *, struct launch_config *);
bool launch_long_rows(const struct launch_problem *, struct launch_config *);
bool launch_typed_columns(const struct launch_problem *, struct launch_config *);
bool launch_strided(const struct launch_problem *, struct launch_config *);

/* By the same kernel as the last, an array so small that little code is all: of `most` bytes a
 * multiprocessor, if an element has so many. */
bool launch_small(const struct launch_problem *, uint64_t bytes, uint64_t most,
                  struct launch_config *);

/* By kernels of any type. */
void launch_any_type(const struct launch_problem *, struct launch_config *);

/* Such that bits of a result follow from its own elements alone. */
bool launch_batch_invariant(const struct launch_problem *, struct launch_config *);
void launch_any_type_invariant(const struct launch_problem *, struct launch_config *);

/* ---- what they ask ---- */

enum {
    WARP = 5,       /* threads, as an exponent */
    PACK_BYTES = 16 /* what one load takes at most */
};

/* How often a number can be halved: the exponent of a power of two. */
static inline unsigned twos_of(uint64_t n)
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

/* Of a result. */
static inline uint64_t elements_of_result(const struct axes *axes)
{
    return layout_length(&axes->reduced);
}

static inline uint64_t element_bytes(const struct axes *axes)
{
    return element_size(axes->reduced.input);
}

/* Whether rows of so many bytes, and their elements, lie one after the other, without a mask: those
 * of the last outer dimension. */
bool axes_lie_flat(const struct axes *, uint64_t row_bytes);

/* Whether neighbours in memory belong to different results. */
bool axes_lie_across(const struct axes *);

/* How many of a result's elements are neighbours, where so few are that they are better read side
 * by side with those of other results; 1: where its neighbours are others' elements; 0: neither. */
unsigned axes_inner_columns(const struct axes *, bool indexed);

/* All bits that tell where rows begin: the first one's address, and the distances of others in the
 * outer dimensions but for the last `but`. */
uint64_t axes_row_bits(const struct axes *, uintptr_t data, unsigned but);

/* What was found of small arrays in columns holds for so many rows, and any of narrow ones. */
enum { AXES_SMALL_ROWS = 1024 };
bool axes_are_small(const struct launch_problem *);
struct axes_tuning axes_tuning_of_columns(const struct launch_problem *);
