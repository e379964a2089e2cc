#include "schedule/schedule.h"

#include "common/arithmetic.h"
#include "common/exact_sums.h"

/* ---- grids ---- */

/* How many blocks a kernel's grid may have. */
static bool bound_grid(const struct course *course, const struct facts *facts, const void *kernel,
                       uint64_t *most)
{
    const struct plan *plan = course->plan;
    unsigned a_multiprocessor = 0;
    *most = UINT64_MAX;
    if (plan_grid_grows(plan) || plan->method->style == STYLE_library)
        return true;
    if (plan->method->style == STYLE_cooperative) {
        if (!facts->resident(facts->device, kernel, plan->block, course->shared_bytes,
                             &a_multiprocessor))
            return false;
    } else {
        a_multiprocessor = plan->method->threads / plan->block;
    }
    *most = (uint64_t)facts->multiprocessors * (a_multiprocessor ? a_multiprocessor : 1);
    return true;
}

/* States that are no single values are merged by one block. */
static bool bound_again(struct course *course, const struct facts *facts)
{
    course->again_most = 1;
    return course->plan->exact || !fold_is_on_ladder(course->plan->fold) ||
           bound_grid(course, facts, course->choice.again, &course->again_most);
}

/* Trees take a value a thread; warps that shuffle leave a state each, of at most 32 warps, where a
 * ring was before. */
static size_t shared_bytes(const struct course *course)
{
    enum { WARPS_MAX = 32, RING_BYTES = RING_STAGES * (RING_STAGE_BYTES + RING_BARRIER_BYTES) };
    const size_t values = course->plan->block * element_size(course->choice.accumulator);
    const size_t states = WARPS_MAX * course->state_bytes;
    if (course->plan->exact)
        return course->state_bytes;
    if (method_works_in_place(course->plan->method))
        return 0;
    if (course->plan->method->style == STYLE_bulk)
        return RING_BYTES;
    return values > states ? values : states;
}

/* Whether the device can run the method. */
static bool check_capability(const struct plan *plan, const struct facts *facts,
                             struct failure *failure)
{
    const int least = method_capability(plan->method), here = facts->capability;
    if (here == 0 || here >= least)
        return true;
    failure_note(failure, FAILURE_RUNTIME,
                 "method '%s' needs a GPU of compute capability %d.%d or later; this one has %d.%d",
                 plan->method->name, least / 10, least % 10, here / 10, here % 10);
    return false;
}

static void note_missing_kernel(const struct plan *plan, enum element accumulator,
                                struct failure *failure)
{
    const int least = method_capability(plan->method);
    if (least)
        failure_note(failure, FAILURE_RUNTIME,
                     "method '%s' needs a GPU of compute capability %d.%d or later, and gred was "
                     "built for earlier ones alone (GRED_CUDA_ARCHS)",
                     plan->method->name, least / 10, least % 10);
    else
        failure_note(failure, FAILURE_RUNTIME, "%s has no kernel for the %s of %s as %s",
                     plan->method->name, reduction_row(plan->reduction)->called,
                     element_name(plan->layout->input), element_name(accumulator));
}

static size_t bytes_of_states(const struct plan *plan, enum element accumulator)
{
    if (!plan->exact)
        return state_bytes(plan->fold, accumulator);
    const struct exact_span span = plan_adds_products(plan)
                                       ? exact_span_of_products(plan->fold, accumulator)
                                       : exact_span_of(accumulator);
    return (size_t)exact_words_of(span) * sizeof(int64_t);
}

static bool set_course(const struct plan *plan, const struct facts *facts, struct course *course,
                       struct failure *failure)
{
    *course = (struct course){
        .plan = plan, .kernels = facts->kernels, .multiprocessors = facts->multiprocessors};
    if (!choice_make(plan, facts->kernels, &course->choice)) {
        note_missing_kernel(plan, course->choice.accumulator, failure);
        return false;
    }
    course->state_bytes = bytes_of_states(plan, course->choice.accumulator);
    course->shared_bytes = shared_bytes(course);
    if (bound_grid(course, facts, course->choice.first, &course->first_most) &&
        bound_again(course, facts))
        return true;
    failure_note(failure, FAILURE_RUNTIME, "the device does not say how many blocks it holds");
    return false;
}

/* ---- memory ---- */

/* How many states the passes leave in a part. */
static uint64_t states_in(const struct passes *passes, enum part part)
{
    uint64_t most = 0;
    for (unsigned k = 0; k < passes->count; k++)
        if (passes->at[k].writes == part && passes->at[k].grid > most)
            most = passes->at[k].grid;
    return most;
}

/* Buffers that suffice for the passes over any piece and over what the pieces leave. One state
 * there must be, for a piece of which no element takes part. */
static void reserve_partials(const struct schedule *self, struct arena *arena)
{
    const struct course *course = &self->course;
    const size_t size = course->state_bytes;
    struct passes passes;
    if (course->plan->exact) {
        arena_reserve(arena, PART_PARTIALS, 1, size); /* blocks add theirs together elsewhere */
        return;
    }
    course_over_piece(course, self->piece, &passes);
    uint64_t first = states_in(&passes, PART_PARTIALS);
    uint64_t other = states_in(&passes, PART_OTHER_PARTIALS);
    if (self->pieces > 1) {
        course_over_results(course, self->pieces, &passes);
        const uint64_t more = states_in(&passes, PART_PARTIALS);
        const uint64_t other_more = states_in(&passes, PART_OTHER_PARTIALS);
        first = first > more ? first : more;
        other = other > other_more ? other : other_more;
    }
    arena_reserve(arena, PART_PARTIALS, first ? first : 1, size);
    if (other)
        arena_reserve(arena, PART_OTHER_PARTIALS, other, size);
}

uint64_t schedule_mask_length(const struct schedule *self, uint64_t piece)
{
    const struct layout *layout = self->course.plan->layout;
    if (self->course.choice.uploads)
        return piece;
    uint64_t length = 1;
    for (unsigned k = 0; k < layout->dimensions; k++)
        length *= layout->mask_strides[k] ? layout->shape[k] : 1;
    return length;
}

static void reserve_input(const struct schedule *self, struct arena *arena)
{
    const struct choice *choice = &self->course.choice;
    const struct layout *layout = self->course.plan->layout;
    if (choice->uploads)
        arena_reserve(arena, PART_UPLOADED, self->buffers * self->piece,
                      element_size(layout->input));
    if (choice->uploads_mask) {
        const uint64_t bytes = divide_up(schedule_mask_length(self, self->piece), MASK_BITS);
        arena_reserve(arena, PART_MASK_BITS, self->buffers * bytes, 1);
        arena_reserve(arena, PART_MASK, bytes, MASK_BITS);
    }
    if (choice->copy)
        arena_reserve(arena, PART_COPY, self->piece, element_size(choice->accumulator));
    if (choice->copies_mask)
        arena_reserve(arena, PART_COPIED_MASK, self->piece, 1);
}

static void reserve_factors(const struct schedule *self, struct arena *arena)
{
    const struct choice *choice = &self->course.choice;
    const struct layout *factors = self->course.plan->factors;
    if (choice->uploads)
        arena_reserve(arena, PART_UPLOADED_FACTORS, self->buffers * self->piece,
                      element_size(factors->input));
    if (choice->copy)
        arena_reserve(arena, PART_COPIED_FACTORS, self->piece, element_size(choice->factor));
}

static size_t tickets_bytes(const struct plan *plan)
{
    return plan->exact ? sizeof(struct exact_together) : sizeof(unsigned);
}

static void reserve_memory(struct schedule *self)
{
    struct arena *arena = &self->arena;
    *arena = (struct arena){.total = 0};
    reserve_input(self, arena);
    if (self->course.plan->factors)
        reserve_factors(self, arena);
    reserve_partials(self, arena);
    if (course_needs_tickets(&self->course))
        arena_reserve(arena, PART_TICKETS, 1, tickets_bytes(self->course.plan));
    if (self->pieces > 1)
        arena_reserve(arena, PART_RESULTS, self->pieces, self->course.state_bytes);
    if (self->counts)
        arena_reserve(arena, PART_COUNTED, 1, sizeof(uint64_t));
}

/* ---- pieces ---- */

static void cut(struct schedule *self, uint64_t piece)
{
    const uint64_t n = self->course.plan->n;
    self->piece = piece < n ? piece : n;
    self->pieces = divide_up(n, self->piece);
    self->buffers = self->course.choice.uploads && self->pieces > 1 ? 2 : 1;
    reserve_memory(self);
}

/* Whether smaller pieces need less memory. */
static bool grows(const struct course *course)
{
    return course->choice.uploads || course->choice.copy || course_repeats(course);
}

/* The largest pieces that the limit lets there be, or the smallest. */
static void cut_to_limit(struct schedule *self, uint64_t limit)
{
    uint64_t fits = 1, too_many = divide_up(self->course.plan->n, LEAST_PIECE);
    while (fits + 1 < too_many) {
        const uint64_t middle = fits + (too_many - fits) / 2;
        cut(self, middle * LEAST_PIECE);
        if (self->arena.total <= limit)
            fits = middle;
        else
            too_many = middle;
    }
    cut(self, fits * LEAST_PIECE);
}

/* How many elements a piece may have at all. */
static uint64_t most_at_once(const struct course *course)
{
    const uint64_t of_block =
        plan_adds_products(course->plan) ? EXACT_PRODUCTS_BLOCK_MOST : EXACT_BLOCK_MOST;
    uint64_t most;
    const bool bounded =
        course->plan->exact && !__builtin_mul_overflow(course->first_most, of_block, &most);
    return bounded ? least(course->plan->n, most) : course->plan->n;
}

static void cut_at_all(struct schedule *self, const struct facts *facts)
{
    const struct plan *plan = self->course.plan;
    const bool brought = self->course.choice.uploads && !facts->whole;
    const uint64_t most = most_at_once(&self->course);
    cut(self, brought ? UPLOADED_BYTES / element_size(plan->layout->input) : most);
    if (self->arena.total > facts->limit && !facts->whole && grows(&self->course))
        cut_to_limit(self, facts->limit);
}

/* A kernel that folds all in one launch knows which state is the last. Nor does it know a count. */
static bool knows_the_end(const struct schedule *self)
{
    const struct plan *plan = self->course.plan;
    return method_has_last_block(plan->method) && !self->counts &&
           (self->pieces == 1 || plan->exact || fold_is_on_ladder(plan->fold));
}

/* Whether a state, or that divided, is the result as `out` is to have it. Words are rounded to it
 * by whoever leaves them, unless more digits than they have are needed. */
static bool is_as_out(const struct schedule *self)
{
    const struct plan *plan = self->course.plan;
    const struct finish *finish = &plan->finish;
    const enum element type = self->course.choice.accumulator;
    if (plan->exact)
        return !finish->has_initial && !plan_adds_products(plan);
    return reduction_is_stored(plan->reduction) && !finish->has_initial && finish->from_nothing &&
           finish->result == type && plan->out_element == type && !element_is_complex(type) &&
           (uintptr_t)plan->out % element_size(type) == 0;
}

/* Whether the pass that sees the mask counts what it shows. */
static bool counts_on_the_way(const struct schedule *self)
{
    const struct choice *choice = &self->course.choice;
    return !self->course.plan->exact &&
           fold_makes_means(self->course.plan->fold, choice->accumulator) &&
           choice_reads_rows(choice);
}

bool schedule_make(const struct plan *plan, const struct facts *facts, struct schedule *self,
                   struct failure *failure)
{
    if (!plan_fits(plan, failure) || !check_capability(plan, facts, failure) ||
        !set_course(plan, facts, &self->course, failure))
        return false;
    self->finishes_on_device = plan->out != NULL;
    self->counts = plan->on_device && plan->layout->mask && plan->n && plan->counts;
    self->counts_apart = self->counts && !counts_on_the_way(self);
    if (plan->n == 0) {
        self->pieces = self->piece = self->buffers = 0;
        self->posts = self->stores = false;
        self->arena = (struct arena){.total = 0};
        arena_reserve(&self->arena, PART_PARTIALS, 1, self->course.state_bytes);
        return true;
    }
    cut_at_all(self, facts);
    const bool ends = knows_the_end(self);
    self->posts = ends && !plan->out;
    self->stores = ends && plan->out && is_as_out(self);
    self->finishes_on_device = plan->out && !self->stores;
    return true;
}

/* ---- the fastest method ---- */

static const uint64_t KiB = 1 << 10, MiB = 1 << 20, ANY = UINT64_MAX;

/* What is fastest: the first row that fits, as benchmarks/tuning/whole_arrays.json has it. One
 * block draws no ticket, which is why it wins wherever its own loads do not take longer than that:
 * on every GPU, so these rows ask for none in particular. How many loads are in flight, a kernel's
 * types say (kernels/vector.cuh); as many blocks as are resident are launched at most. Very large
 * arrays are brought by bulk copies; clusters are never faster. */
static const struct {
    int capability;       /* of a GPU, at least */
    unsigned least, most; /* bytes of an element */
    uint64_t bytes;       /* of the array, at most */
    enum method_index method;
    unsigned block;        /* threads */
    unsigned thread_bytes; /* that a thread should get at least */
} rows[] = {
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

static struct shape forced;

void fastest_force(struct shape shape)
{
    forced = shape;
}

/* It may read nothing but plain runs of some types, and older GPUs may not have it. */
static bool takes(const struct facts *facts, const struct plan *plan, enum method_index method)
{
    return method_at(method) == plan->method ||
           (!plan->exact && !plan->factors &&
            facts->capability >= method_capability(method_at(method)) && plan->on_device &&
            plan->flat && plan->direct && fold_is_on_ladder(plan->fold) &&
            kernel_find(facts->kernels,
                        (struct kernel_key){KERNEL_FLAT, plan->fold, plan->layout->input,
                                            plan->accumulator, method,
                                            method_at(method)->block_size}));
}

static void give_shape(struct plan *plan, struct shape shape)
{
    plan->block = shape.block;
    plan->data_blocks = shape.data_blocks;
}

void fastest_choose(const struct facts *facts, struct plan *plan)
{
    if (!plan->automatic || plan->n == 0)
        return;
    if (forced.block) {
        give_shape(plan, forced);
        return;
    }
    const unsigned width = (unsigned)element_size(plan->layout->input);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (facts->capability >= rows[k].capability && width >= rows[k].least &&
            width <= rows[k].most && plan->n <= rows[k].bytes / width &&
            takes(facts, plan, rows[k].method)) {
            plan->method = method_at(rows[k].method);
            give_shape(plan, (struct shape){rows[k].block, rows[k].thread_bytes / width});
            return;
        }
}
