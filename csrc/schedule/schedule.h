/* The schedule: all that a plan's run on a device will do, as data, made by pure functions of the
 * plan and of facts about the device; backends only carry it out. */
#pragma once

#include "common/failure.h"
#include "common/kernels.h"
#include "plan/plan.h"

/* ---- memory ---- */

/* What steps read and write, and what gred.explain calls it. */
/* clang-format off */
#define PART_NAMES(PART)                                                                           \
    PART(ARRAY, "array")                      /* the caller's own, and so never in the arena */    \
    PART(UPLOADED, "uploaded piece")          /* of a host array */                                \
    PART(MASK_BITS, "mask's bits")            /* a host's mask, eight elements a byte */           \
    PART(MASK, "mask")                        /* the same, a byte an element */                    \
    PART(COPY, "working copy")                /* in the accumulator's type */                      \
    PART(COPIED_MASK, "working copy's mask")  /* a byte for each of its values */                  \
    PART(UPLOADED_FACTORS, "factors' uploaded piece") /* of what elements are multiplied with */   \
    PART(COPIED_FACTORS, "factors' working copy")                                                  \
    PART(PARTIALS, "partials")                /* states, one a block; passes alternate */          \
    PART(OTHER_PARTIALS, "other partials")    /* between these two */                              \
    PART(TICKETS, "tickets")                  /* a counter of blocks, 0 between launches */        \
    PART(RESULTS, "results of pieces")        /* states, one a piece */                            \
    PART(COUNTED, "count")                    /* how many elements a mask lets through */          \
    PART(MEANS, "means")                      /* what results along axes are about, if given */    \
    PART(FINDINGS, "findings")                /* what is to be said of results along axes */       \
    PART(OFFSETS, "offsets")                  /* of segments, if elsewhere or of another type */   \
    PART(SPLITS, "splits")                    /* where tiles begin, and whether offsets rise */    \
    PART(LIST, "list")                        /* tiles of its arrays */                            \
    PART(OUT, "out")                          /* where results are to stay: the caller's, or ours */
/* clang-format on */

enum part {
#define PART(name, called) PART_##name,
    PART_NAMES(PART)
#undef PART
        PARTS
};

const char *part_name(enum part);

enum { ARENA_ALIGNMENT = 256 };

/* The one piece of device memory that a run works in: its parts, one after the other, each where
 * the hardware likes memory to begin. Offsets only; nothing here allocates. */
struct arena {
    size_t at[PARTS], bytes[PARTS]; /* 0 bytes: there is no such part */
    size_t total;                   /* SIZE_MAX: more than any memory holds */
};

/* Gives a part `count` times `size` bytes, after all that have some. */
void arena_reserve(struct arena *, enum part, uint64_t count, size_t size);

/* A layout whose elements are brought to the arena, all of them, one after the other: from the
 * host, from the device as those of another type, or both. */
struct brought {
    struct layout layout;       /* in the end, of what is there */
    enum part uploaded, copied; /* PART_ARRAY: it is not */
    enum element type;          /* of the copy */
};

static inline bool is_brought(const struct brought *self)
{
    return self->uploaded || self->copied;
}

/* How a plan's elements are brought, but for their layout: to a `type`, if they are copied. */
void brought_choose(const struct plan *, bool copies, enum element type, struct brought *);
void arena_reserve_brought(struct arena *, const struct brought *);

/* What a schedule depends on, besides the plan. */
struct facts {
    const struct kernels *kernels;
    unsigned multiprocessors;
    int capability;      /* of a GPU, 90 for 9.0; 0: not a GPU, and none of its limits */
    size_t shared_bytes; /* of a block, at most */
    uint64_t limit;      /* bytes of memory that the run may work in */
    bool whole;          /* the array may not be taken in pieces, whatever the limit */

    /* How many blocks of a kernel a multiprocessor holds at a time; asked only where the grid
     * depends on it. False where the device cannot tell. */
    bool (*resident)(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                     unsigned *blocks);
    void *device;
};

/* How many blocks of a kernel the device holds at a time, at least one each multiprocessor. */
static inline bool facts_resident(const struct facts *self, const void *kernel, unsigned block,
                                  size_t shared_bytes, uint64_t *blocks)
{
    unsigned each;
    if (!self->resident(self->device, kernel, block, shared_bytes, &each))
        return false;
    *blocks = (uint64_t)self->multiprocessors * (each ? each : 1);
    return true;
}

/* ---- which kernels ---- */

/* How an array comes to the first kernel. */
enum form {
    FORM_FLAT,     /* its elements, one after the other */
    FORM_STRIDED,  /* rows of elements that a kernel reads as they lie */
    FORM_GATHERED, /* a layout of elements of any type, copied one by one */
};

struct choice {
    enum form form;
    enum element accumulator; /* the plan's, or one that holds more, where elements are gathered */
    bool uploads;        /* the array lies on the host, and has to be brought, piece by piece */
    bool uploads_mask;   /* a host's mask is brought, too, rather than applied on the way */
    const void *copy;    /* makes the working copy; NULL: there is none */
    enum element factor; /* what it has of the plan's factors, where there are some */
    bool copies_mask;    /* a mask goes with it; else what is masked is the fold's identity there */
    const void *first;   /* reads the array, or the working copy if there is one */
    const void *again;   /* reads states that lie one after the other */
    library_reduce *reducer, *reducer_again; /* the same, where a library's function does it */
};

/* A kernel along axes, or of segments; NULL: there is none. It takes what becomes its accumulator
 * directly, if it may as elements lie; all else `converts`, to the widest type, and is copied. */
const void *choice_along(const struct kernels *, enum kernel_kind, const struct plan *,
                         bool as_they_lie, enum element *accumulator, bool *converts);

/* Whether elements stay real, or complex, numbers. */
bool choice_keeps_parts(const struct plan *);

/* Whether the first kernel takes rows: what is not flat, or has a mask. */
bool choice_reads_rows(const struct choice *);

/* ---- what kernels make of states in the end ---- */

/* Whether a state says all of a result, which is of the value's type or one that loses nothing by
 * way of it; so kernels that know the elements' type store it, and no others. */
bool epilogue_stores_at_once(const struct plan *, enum element accumulator);

/* Whether results are what kernels of native ones make: of NumPy's type, of elements alone. */
bool epilogue_is_native(const struct plan *, enum element input, enum element accumulator);

/* Kernels that know the elements' type find minima of signed numbers, and whether any truth value
 * is true, or all are: which bits they have to invert, and what becomes of their states then. */
void epilogue_order(enum element input, struct kernel_results *);

/* ---- steps ---- */

struct step {
    const char *name; /* what gred.explain calls it */
    enum part reads, writes;
    const void *kernel;
    library_reduce *reducer; /* a library's function; NULL: the kernel is launched */
    uint64_t n;              /* what it reads: elements, or states */
    uint64_t grid;
    unsigned block;
    size_t shared_bytes;
    unsigned cluster; /* blocks a cluster */
    bool cooperative;
    bool follows; /* may begin before the launch before it has ended, for which it waits itself */
};

/* What nobody explains: so many blocks of so many threads. */
static inline struct step step_of(const void *kernel, uint64_t grid, unsigned block,
                                  size_t shared_bytes)
{
    return (struct step){
        .kernel = kernel, .grid = grid, .block = block, .shared_bytes = shared_bytes, .cluster = 1};
}

/* Copies n elements, converted, to one after the other; and stores n results in their places. */
struct step step_gather(const struct facts *, enum part reads, uint64_t n);
struct step step_store(const void *kernel, uint64_t n);

/* A kernel that is found by what neither a method nor a block size tells. */
static inline const void *kernel_of_fold(const struct kernels *kernels, enum kernel_kind kind,
                                         enum fold fold, enum element input,
                                         enum element accumulator, enum kernel_access access)
{
    return kernel_find(kernels, (struct kernel_key){.kind = kind,
                                                    .fold = fold,
                                                    .input = input,
                                                    .accumulator = accumulator,
                                                    .variant = access});
}

/* What an exact kernel makes of the words of so many elements. */
struct exact_result step_exact_result(const struct plan *, enum element accumulator, void *out,
                                      uint64_t count);

/* ---- the schedule ---- */

struct schedule {
    const struct plan *plan; /* has to outlast it, and so have the kernels */
    const struct kernels *kernels;
    uint64_t multiprocessors;
    struct choice choice;
    uint64_t first_most, again_most; /* blocks of a grid; UINT64_MAX: it grows with the array */
    size_t state_bytes, shared_bytes;
    uint64_t pieces, piece; /* how many, and of how many elements; the last may have fewer */
    unsigned buffers;       /* for pieces that are brought: the next has to be another's */
    struct arena arena;
    bool stores;             /* the last pass stores the result in the plan's `out` */
    bool finishes_on_device; /* a kernel of its own does; where there is no `out`, neither */
    bool counts;             /* the device counts what the mask lets through */
    bool counts_apart;       /* in a launch of its own: no pass does */
    bool posts;              /* the last pass posts its state to the host, which is waiting */
};

/* Chooses the kernels of a schedule that has a plan. False where none was compiled for this. */
bool schedule_choose_kernels(struct schedule *);

/* False with the reason noted. */
bool schedule_make(const struct plan *, const struct facts *, struct schedule *, struct failure *);

/* How many elements a mask has that is brought for a piece of the array: one of the device's own
 * arrays' is brought as a whole, without the dimensions that it is broadcast along. */
uint64_t schedule_mask_length(const struct schedule *, uint64_t piece);

/* Each pass divides what is left by 32 or more; only those of rung 0 halve it. */
enum { PASSES_MAX = 64 };

struct passes {
    struct step at[PASSES_MAX];
    unsigned count;
    enum part leaves; /* which begins with the one state that is left */
};

/* Over n >= 1 elements of a piece, or over n >= 1 states that pieces have left. */
void schedule_passes(const struct schedule *, bool of_results, uint64_t n, struct passes *);

/* What is done before the passes over n elements, where a mask of so many is brought, and where
 * there is a working copy; and after all of them. */
struct step schedule_unpack(const struct schedule *, uint64_t n);
struct step schedule_copy(const struct schedule *, uint64_t n);
struct step schedule_count(const struct schedule *);
struct step schedule_finish(const struct schedule *, enum part state);

/* What the working copy has where a mask hides an element: it changes no result. */
union scalar schedule_masked_fill(const struct schedule *);

/* ---- the fastest method ---- */

/* Gives the plan the method that is fastest there for its array, and the shape of its launches. */
void fastest_choose(const struct facts *, struct plan *);
