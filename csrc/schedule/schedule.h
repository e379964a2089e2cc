/* The schedule: the complete description, as data, of how a device runs a plan. Pure functions
 * compute it from the plan and from facts about the device; backends only execute it. */
#pragma once

#include "common/failure.h"
#include "common/kernels.h"
#include "plan/plan.h"

/* ---- memory ---- */

/* The buffers that steps read and write, and their names in gred.explain. */
/* clang-format off */
#define PART_NAMES(PART)                                                                           \
    PART(ARRAY, "array")                      /* the caller's; never in the arena */               \
    PART(UPLOADED, "uploaded piece")          /* of a host array */                                \
    PART(MASK, "mask")                        /* of the host, one byte per element */              \
    PART(COPY, "working copy")                /* in the accumulator's type */                      \
    PART(COPIED_MASK, "working copy's mask")  /* one byte per element */                           \
    PART(UPLOADED_FACTORS, "factors' uploaded piece") /* of the second operand of products */      \
    PART(COPIED_FACTORS, "factors' working copy")                                                  \
    PART(PARTIALS, "partials")                /* states, one per block; passes alternate */        \
    PART(OTHER_PARTIALS, "other partials")    /* between these two */                              \
    PART(TICKETS, "tickets")                  /* a block counter, 0 between launches */            \
    PART(RESULTS, "results of pieces")        /* states, one per piece */                          \
    PART(COUNTED, "count")                    /* number of unmasked elements */                    \
    PART(MEANS, "means")                      /* given means, one per result */                    \
    PART(FINDINGS, "findings")                /* FOUND_ bits of results along axes */              \
    PART(OFFSETS, "offsets")                  /* of segments, uploaded or converted */             \
    PART(SPLITS, "splits")                    /* where tiles begin, and the survey's bits */       \
    PART(LIST, "list")                        /* tiles of the list's arrays */                     \
    PART(OUT, "out")                          /* the results: the caller's memory, or ours */
/* clang-format on */

enum part {
#define PART(name, called) PART_##name,
    PART_NAMES(PART)
#undef PART
        PARTS
};

const char *part_name(enum part);

enum { ARENA_ALIGNMENT = 256 };

/* The single device allocation that a run works in: offset and size of each part, aligned to
 * ARENA_ALIGNMENT. Nothing here allocates. */
struct arena {
    size_t at[PARTS], bytes[PARTS]; /* 0 bytes: the part is absent */
    size_t total;                   /* SIZE_MAX: overflow, more than any memory holds */
};

/* Appends a part of `count` times `size` bytes. */
void arena_reserve(struct arena *, enum part, uint64_t count, size_t size);

/* A layout whose elements are all copied contiguously to the arena: uploaded from the host,
 * converted on the device, or both. */
struct transfer {
    struct layout layout;       /* after the copies: of the elements in the arena */
    enum part uploaded, copied; /* PART_ARRAY: not uploaded, not copied */
    enum element type;          /* of the copy */
};

static inline bool is_transferred(const struct transfer *self)
{
    return self->uploaded || self->copied;
}

/* Decides how a plan's elements are transferred, except for their layout; copies have type `type`.
 */
void transfer_choose(const struct plan *, bool copies, enum element type, struct transfer *);
void arena_reserve_transfer(struct arena *, const struct transfer *);

/* What a schedule depends on besides the plan. */
struct facts {
    const struct kernels *kernels;
    unsigned multiprocessors;
    int capability;      /* compute capability, 90 for 9.0; 0: not a GPU, no GPU limits */
    size_t shared_bytes; /* maximum shared memory per block */
    uint64_t limit;      /* bytes of memory that the run may use */
    bool whole;          /* the array may not be split into pieces, whatever the limit */

    /* Resident blocks of a kernel per multiprocessor; called only if the grid depends on it. False
     * if the device cannot tell. */
    bool (*resident)(void *device, const void *kernel, unsigned block, size_t shared_bytes,
                     unsigned *blocks);
    void *device;
};

/* Resident blocks of a kernel on the whole device, at least one per multiprocessor. */
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

/* How the first kernel reads the array. */
enum form {
    FORM_FLAT,     /* contiguous elements */
    FORM_STRIDED,  /* strided rows, read in place */
    FORM_GATHERED, /* a layout of any type, gathered into a contiguous copy */
};

struct choice {
    enum form form;
    enum element accumulator; /* the plan's, or a wider one if elements are gathered */
    bool uploads;             /* the array is in host memory and is uploaded piece by piece */
    bool uploads_mask;        /* a host mask is uploaded, not applied while gathering */
    const void *copy;         /* makes the working copy; NULL: there is no copy */
    enum element factor;      /* type of the factors in the working copy */
    bool copies_mask;  /* the copy has a mask; else masked elements are the fold's identity */
    const void *first; /* reads the array, or the working copy if there is one */
    const void *later; /* reads contiguous states */
    library_reduce *reducer, *later_reducer; /* a library's functions in place of first and later */
};

/* Finds a kernel along axes or of segments; NULL if there is none. If `reads_unconverted`, prefers
 * one that reads the elements unconverted; else sets `converts`: they are copied to the widest
 * type. */
const void *choice_kernel_along(const struct kernels *, enum kernel_kind, const struct plan *,
                                bool reads_unconverted, enum element *accumulator, bool *converts);

/* Whether the conversion keeps real elements real and complex elements complex. */
bool choice_keeps_parts(const struct plan *);

/* Whether the first kernel reads rows (strided or masked elements) rather than a flat array. */
bool choice_reads_rows(const struct choice *);

/* ---- epilogues: how kernels finish states ---- */

/* Whether kernels of a known element type can store results themselves: a single rounding or
 * truncation converts the state's value to the result. */
bool epilogue_stores_directly(const struct plan *, enum element accumulator);

/* Whether kernels of native results can produce it: NumPy's result type, from elements only. */
bool epilogue_is_native(const struct plan *, enum element input, enum element accumulator);

/* Kernels of a known element type implement extremes, any and all as minima of signed numbers. Sets
 * the bits to invert in elements and results, and the reduction that finishes the state. */
void epilogue_order(enum element input, struct kernel_results *);

/* ---- steps ---- */

struct step {
    const char *name; /* name in gred.explain */
    enum part reads, writes;
    const void *kernel;
    library_reduce *reducer; /* a library's function; NULL: the kernel is launched */
    uint64_t n;              /* elements or states to read */
    uint64_t grid;
    unsigned block;
    size_t shared_bytes;
    unsigned cluster; /* blocks per cluster */
    bool cooperative;
    bool follows; /* programmatic dependent launch: the kernel itself waits for the one before */
};

/* A step that gred.explain does not list: only its launch configuration is set. */
static inline struct step launch_step(const void *kernel, uint64_t grid, unsigned block,
                                      size_t shared_bytes)
{
    return (struct step){
        .kernel = kernel, .grid = grid, .block = block, .shared_bytes = shared_bytes, .cluster = 1};
}

/* Copy n elements, converted, to a contiguous buffer; store n results in a layout. */
struct step step_gather(const struct facts *, enum part reads, uint64_t n);
struct step step_store(const void *kernel, uint64_t n);

/* Finds a kernel whose key has neither a method nor a block size. */
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

/* How an exact kernel finishes the words of a sum of `count` elements. */
struct exact_result step_exact_result(const struct plan *, enum element accumulator, void *out,
                                      uint64_t count);

/* ---- the schedule ---- */

struct schedule {
    const struct plan *plan; /* has to outlive the schedule, as do the kernels */
    const struct kernels *kernels;
    uint64_t multiprocessors;
    struct choice choice;
    uint64_t first_blocks_max, later_blocks_max; /* maximum blocks; UINT64_MAX: no limit */
    size_t state_bytes, shared_bytes;
    uint64_t pieces, piece; /* number of pieces, elements of each but the last */
    unsigned buffers;       /* for uploads, used in turn */
    struct arena arena;
    bool stores;             /* the last pass stores the result in the plan's `out` */
    bool finishes_on_device; /* a separate kernel does; neither is set if there is no `out` */
    bool counts;             /* the device counts the unmasked elements */
    bool counts_separately;  /* in a separate launch rather than in a pass */
    bool posts;              /* the last pass posts its state to the host's mailbox */
};

/* Chooses the kernels of a schedule whose plan is set. False if none was compiled for it. */
bool schedule_choose_kernels(struct schedule *);

/* False with a failure noted. */
bool schedule_make(const struct plan *, const struct facts *, struct schedule *, struct failure *);

/* Each pass reduces the number of states at least 32-fold; only those of rung 0 halve it. */
enum { PASSES_MAX = 64 };

struct passes {
    struct step at[PASSES_MAX];
    unsigned count;
    enum part leaves; /* the part that begins with the final state */
};

/* Over n >= 1 elements of a piece or, if `of_results`, over n >= 1 states of pieces. */
void schedule_passes(const struct schedule *, bool of_results, uint64_t n, struct passes *);

/* Steps outside the passes: making the working copy, counting unmasked elements, and finishing the
 * result. */
struct step schedule_copy(const struct schedule *, uint64_t n);
struct step schedule_count(const struct schedule *);
struct step schedule_finish(const struct schedule *, enum part state);

/* The value that replaces masked elements in the working copy; it does not change the result. */
union scalar schedule_masked_fill(const struct schedule *);

/* ---- the fastest method ---- */

/* Sets the plan's method and launch configuration to the fastest ones for its array. */
void fastest_choose(const struct facts *, struct plan *);
