/* Schedules of whole arrays: how they are cut into pieces to fit the available workspace. */
#include "schedule/schedule.h"

#include "common/arithmetic.h"
#include "common/exact_sums.h"
#include "schedule/tuning.h"

/* ---- the arena ---- */

const char *part_name(enum part part)
{
#define PART(name, called) called,
    static const char *const names[] = {PART_NAMES(PART)};
#undef PART
    return names[part];
}

/* Sizes saturate at SIZE_MAX. */
void arena_reserve(struct arena *self, enum part part, uint64_t count, size_t size)
{
    const size_t up = ARENA_ALIGNMENT - 1,
                 at = self->total > SIZE_MAX - up ? SIZE_MAX : (self->total + up) & ~up;
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    self->at[part] = at;
    self->bytes[part] = bytes;
    if (__builtin_add_overflow(at, bytes, &self->total))
        self->total = SIZE_MAX;
}

void transfer_choose(const struct plan *plan, bool copies, enum element type, struct transfer *self)
{
    self->uploaded = plan->n && !plan->elements.on_device ? PART_UPLOADED : PART_ARRAY;
    self->copied = plan->n && copies ? PART_COPY : PART_ARRAY;
    self->type = type;
}

void arena_reserve_transfer(struct arena *self, const struct transfer *transfer)
{
    const struct layout *layout = &transfer->layout;
    if (transfer->uploaded)
        arena_reserve(self, transfer->uploaded, layout_length(layout), element_size(layout->input));
    if (transfer->copied)
        arena_reserve(self, transfer->copied, layout_length(layout), element_size(transfer->type));
}

/* ---- grids ---- */

/* The maximum number of blocks in a kernel's grid. */
static bool bound_grid(const struct schedule *self, const struct facts *facts, const void *kernel,
                       uint64_t *most)
{
    const struct plan *plan = self->plan;
    const unsigned block = plan->launch.block, each = block ? plan->method->threads / block : 0;
    *most = UINT64_MAX;
    if (method_is(plan->method, METHOD_GRID_GROWS) || plan->method->style == STYLE_library)
        return true;
    if (plan->method->style == STYLE_cooperative)
        return facts_resident(facts, kernel, block, self->shared_bytes, most);
    *most = self->multiprocessors * (each ? each : 1);
    return true;
}

/* Trees hold a value per thread; the ring's memory is reused for a state per warp, of up to 32. */
static size_t shared_bytes(const struct schedule *self)
{
    enum { WARPS_MAX = 32, RING_BYTES = RING_STAGES * (RING_STAGE_BYTES + RING_BARRIER_BYTES) };
    const struct plan *plan = self->plan;
    const size_t values = plan->launch.block * element_size(self->choice.accumulator),
                 states = WARPS_MAX * self->state_bytes;
    if (plan->exact)
        return self->state_bytes;
    if (method_is(plan->method, METHOD_IN_PLACE))
        return 0;
    if (plan->method->style == STYLE_bulk)
        return RING_BYTES;
    return values > states ? values : states;
}

/* ---- kernels ---- */

/* States that are not single values are merged by one block. */
static bool choose_launches(struct schedule *self, const struct facts *facts,
                            struct failure *failure)
{
    const struct plan *plan = self->plan;
    const struct choice *choice = &self->choice;
    const bool one_block = plan->exact || !fold_is_on_ladder(plan->fold);
    const int required = plan->method->capability, available = facts->capability;
    if (available && available < required)
        return failure_record(
            failure, FAILURE_RUNTIME,
            "method '%s' needs a GPU of compute capability %d.%d or later; this one has %d.%d",
            plan->method->name, required / 10, required % 10, available / 10, available % 10);
    if (!schedule_choose_kernels(self))
        return required
                   ? failure_record(failure, FAILURE_RUNTIME,
                                    "method '%s' needs a GPU of compute capability %d.%d or later, "
                                    "and gred was built for earlier ones only (GRED_CUDA_ARCHS)",
                                    plan->method->name, required / 10, required % 10)
                   : failure_record(
                         failure, FAILURE_RUNTIME, "%s has no kernel for the %s of %s as %s",
                         plan->method->name, reduction_row(plan->reduction)->called,
                         element_name(plan->layout->input), element_name(choice->accumulator));
    self->state_bytes =
        plan->exact
            ? (size_t)exact_words_of(plan_exact_span(plan, choice->accumulator)) * sizeof(int64_t)
            : state_bytes(plan->fold, choice->accumulator);
    self->shared_bytes = shared_bytes(self);
    self->later_blocks_max = 1;
    return (bound_grid(self, facts, choice->first, &self->first_blocks_max) &&
            (one_block || bound_grid(self, facts, choice->later, &self->later_blocks_max))) ||
           failure_record(failure, FAILURE_RUNTIME,
                          "the device does not report how many blocks it can hold");
}

/* ---- memory ---- */

/* For the passes over any piece and over the pieces' states; at least one state, for an empty
 * piece. Blocks of exact sums add up their words in PART_TICKETS instead. */
static void reserve_partials(struct schedule *self)
{
    uint64_t states[] = {1, 0};
    struct passes passes;
    for (int results = 0; !self->plan->exact && results <= (self->pieces > 1); results++) {
        schedule_passes(self, results, results ? self->pieces : self->piece, &passes);
        for (unsigned k = 0; k < passes.count; k++) {
            const struct step *step = &passes.at[k];
            const bool other = step->writes == PART_OTHER_PARTIALS;
            if ((other || step->writes == PART_PARTIALS) && step->grid > states[other])
                states[other] = step->grid;
        }
    }
    arena_reserve(&self->arena, PART_PARTIALS, states[0], self->state_bytes);
    if (states[1])
        arena_reserve(&self->arena, PART_OTHER_PARTIALS, states[1], self->state_bytes);
}

/* Number of elements in the mask that is uploaded for a piece. The mask of a device array is
 * uploaded whole, without the dimensions it is broadcast along. */
static uint64_t mask_length(const struct schedule *self)
{
    const struct layout *layout = self->plan->layout;
    uint64_t length = 1;
    for (unsigned k = 0; k < layout->dimensions; k++)
        length *= layout->mask_strides[k] ? layout->shape[k] : 1;
    return self->choice.uploads ? self->piece : length;
}

/* Upload buffers and working copies of the array, its mask and its factors. */
static void reserve_input(struct schedule *self)
{
    const struct choice *choice = &self->choice;
    const struct layout *layout = self->plan->layout, *factors = self->plan->factors;
    struct arena *arena = &self->arena;
    const uint64_t uploaded = self->buffers * self->piece;
    if (choice->uploads)
        arena_reserve(arena, PART_UPLOADED, uploaded, element_size(layout->input));
    if (choice->uploads_mask)
        arena_reserve(arena, PART_MASK, self->buffers * mask_length(self), 1);
    if (choice->copy)
        arena_reserve(arena, PART_COPY, self->piece, element_size(choice->accumulator));
    if (choice->copies_mask)
        arena_reserve(arena, PART_COPIED_MASK, self->piece, 1);
    if (factors && choice->uploads)
        arena_reserve(arena, PART_UPLOADED_FACTORS, uploaded, element_size(factors->input));
    if (factors && choice->copy)
        arena_reserve(arena, PART_COPIED_FACTORS, self->piece, element_size(choice->factor));
}

static void reserve_memory(struct schedule *self)
{
    const struct method *method = self->plan->method;
    struct arena *arena = &self->arena;
    *arena = (struct arena){.total = 0};
    reserve_input(self);
    reserve_partials(self);
    if (method_is(method, METHOD_LAST_BLOCK) || method->style == STYLE_cooperative)
        arena_reserve(arena, PART_TICKETS, 1,
                      self->plan->exact ? sizeof(struct exact_shared_words) : sizeof(unsigned));
    if (self->pieces > 1)
        arena_reserve(arena, PART_RESULTS, self->pieces, self->state_bytes);
    if (self->counts)
        arena_reserve(arena, PART_COUNTED, 1, sizeof(uint64_t));
}

/* ---- pieces ---- */

/* A piece has at least PIECE_MIN elements if the array does. A host array is uploaded in pieces
 * of UPLOAD_BYTES, each while the previous one is reduced. */
enum { PIECE_MIN = 1 << 12, UPLOAD_BYTES = 16 << 20 };

static void set_pieces(struct schedule *self, uint64_t piece)
{
    self->piece = min_u64(piece, self->plan->n);
    self->pieces = ceil_div(self->plan->n, self->piece);
    self->buffers = self->choice.uploads && self->pieces > 1 ? 2 : 1;
    reserve_memory(self);
}

/* The largest pieces within the limit, or else the smallest. */
static void fit_pieces(struct schedule *self, uint64_t limit)
{
    uint64_t fits = 1, too_many = ceil_div(self->plan->n, PIECE_MIN);
    while (fits + 1 < too_many) {
        const uint64_t middle = fits + (too_many - fits) / 2;
        set_pieces(self, middle * PIECE_MIN);
        *(self->arena.total <= limit ? &fits : &too_many) = middle;
    }
    set_pieces(self, fits * PIECE_MIN);
}

/* Smaller pieces need less memory if the array is uploaded or copied, or passes repeat. Blocks of
 * exact sums take a limited number of elements. */
static void choose_pieces(struct schedule *self, const struct facts *facts)
{
    const struct choice *choice = &self->choice;
    const struct plan *plan = self->plan;
    const uint64_t block_max =
        plan_adds_products(plan) ? EXACT_PRODUCTS_BLOCK_MAX : EXACT_BLOCK_MAX;
    const bool whole = facts->whole, shrinks = choice->uploads || choice->copy ||
                                               method_is(self->plan->method, METHOD_REPEATS);
    uint64_t most;
    if (!plan->exact || __builtin_mul_overflow(self->first_blocks_max, block_max, &most))
        most = plan->n;
    set_pieces(self,
               choice->uploads && !whole ? UPLOAD_BYTES / element_size(plan->layout->input) : most);
    if (self->arena.total > facts->limit && !whole && shrinks)
        fit_pieces(self, facts->limit);
}

/* Whether the state, possibly divided, can be stored in `out` directly. Words of exact sums are
 * rounded by the last pass unless the result needs more digits than they have. */
static bool matches_out(const struct schedule *self)
{
    const struct plan *plan = self->plan;
    const enum element type = self->choice.accumulator;
    if (plan->exact)
        return !plan->finish.has_initial && !plan_adds_products(plan);
    return plan_stores_states(plan) && plan->finish.result == type && plan->results.type == type &&
           !element_is_complex(type) &&
           (uintptr_t)plan_device_result(plan) % element_size(type) == 0;
}

/* A pass that reads the mask may count the unmasked elements. A kernel that folds everything in one
 * launch can post the final state, but not a count. */
bool schedule_make(const struct plan *plan, const struct facts *facts, struct schedule *self,
                   struct failure *failure)
{
    *self = (struct schedule){
        .plan = plan, .kernels = facts->kernels, .multiprocessors = facts->multiprocessors};
    if (!plan_fits(plan, failure) || !choose_launches(self, facts, failure))
        return false;
    const struct choice *choice = &self->choice;
    self->counts = plan->elements.on_device && plan->layout->mask && plan->n && plan->counts;
    self->counts_separately = self->counts && (plan->exact || !choice_reads_rows(choice) ||
                                               !fold_gives_mean(plan->fold, choice->accumulator));
    if (plan->n == 0) {
        arena_reserve(&self->arena, PART_PARTIALS, 1, self->state_bytes);
    } else {
        choose_pieces(self, facts);
        const bool one_launch = method_is(plan->method, METHOD_LAST_BLOCK) && !self->counts &&
                                (self->pieces == 1 || plan->exact || fold_is_on_ladder(plan->fold));
        self->posts = one_launch && !plan_device_result(plan);
        self->stores = one_launch && plan_device_result(plan) && matches_out(self);
    }
    self->finishes_on_device = plan_device_result(plan) && !self->stores;
    return true;
}

/* ---- the fastest method ---- */

static const uint64_t KiB = 1 << 10, MiB = 1 << 20, ANY = UINT64_MAX;

/* The fastest method: the first row that fits, measured in benchmarks/tuning/whole_arrays.json. A
 * single block draws no ticket, and is fastest on every GPU until its own loads take longer than
 * that; bulk copies are fastest for very large arrays; clusters never are. */
static const struct {
    int capability;       /* minimum, of a GPU */
    unsigned least, most; /* element size in bytes */
    uint64_t bytes;       /* maximum array size */
    enum method_index method;
    unsigned block;        /* threads */
    unsigned thread_bytes; /* minimum bytes per thread */
} fastest[] = {
    {0, 1, 16, 16 * KiB, METHOD_last_block, 256, 64},
    {0, 2, 2, 64 * KiB, METHOD_last_block, 1024, 64},
    {0, 4, 16, 64 * KiB, METHOD_last_block, 512, 128},
    {0, 4, 16, 128 * KiB, METHOD_last_block, 1024, 128},
    {0, 8, 8, 256 * KiB, METHOD_last_block, 1024, 256},
    {90, 1, 1, 128 * KiB, METHOD_last_block, 128, 16},
    {90, 1, 1, 1 * MiB, METHOD_last_block, 256, 16},
    {90, 1, 1, 2 * MiB, METHOD_last_block, 512, 16},
    {90, 2, 2, 256 * KiB, METHOD_last_block, 256, 16},
    {90, 2, 16, 1 * MiB, METHOD_last_block, 256, 64},
    {90, 4, 16, 2 * MiB, METHOD_last_block, 512, 64},
    {90, 1, 1, 1024 * MiB - 1, METHOD_last_block, 512, 32},
    {90, 2, 2, 1024 * MiB - 1, METHOD_last_block, 512, 64},
    {90, 4, 16, 1024 * MiB - 1, METHOD_last_block, 512, 128},
    {90, 1, 16, ANY, METHOD_bulk, 256, 128},
};

/* The method may read only flat arrays of some types, and older GPUs may lack it. */
static bool supports(const struct facts *facts, const struct plan *plan, enum method_index method)
{
    return method_at(method) == plan->method ||
           (!plan->exact && !plan->factors && facts->capability >= method_at(method)->capability &&
            plan->elements.on_device && plan->elements.flat && plan->elements.direct &&
            fold_is_on_ladder(plan->fold) &&
            kernel_find(facts->kernels,
                        (struct kernel_key){KERNEL_FLAT, plan->fold, plan->layout->input,
                                            plan->accumulator, method,
                                            method_at(method)->block_size}));
}

void fastest_choose(const struct facts *facts, struct plan *plan)
{
    struct plan_launch launch = tuned->shape;
    if (!plan->launch.automatic || plan->n == 0)
        return;
    const unsigned width = (unsigned)element_size(plan->layout->input);
    for (size_t k = 0; !launch.block && k < sizeof fastest / sizeof *fastest; k++)
        if (facts->capability >= fastest[k].capability && width >= fastest[k].least &&
            width <= fastest[k].most && plan->n <= fastest[k].bytes / width &&
            supports(facts, plan, fastest[k].method)) {
            plan->method = method_at(fastest[k].method);
            launch.block = fastest[k].block;
            launch.data_blocks = fastest[k].thread_bytes / width;
        }
    launch.automatic = true;
    if (launch.block)
        plan->launch = launch;
}
