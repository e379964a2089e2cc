#include "passes.h"

#include <string.h>

/* In which of its forms the array goes to the kernels, see kernels/entries.h. */
enum form { FORM_FLAT, FORM_STRIDED, FORM_GATHERED };

/* An array on the device, as the first pass finds it. */
struct input {
    enum form form;
    enum element element;
    const char *data;   /* FORM_FLAT */
    const void *source; /* else, in device memory */
};

/* The memory of one run. Partials alternate between two buffers, pass by pass. */
struct workspace {
    void *uploaded;  /* a piece of a host array */
    void *mask;      /* a host's mask of a device array */
    void *described; /* the source, for kernels that gather */
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
    uint64_t piece; /* elements */
    bool measured;
    uint64_t fed;  /* elements of a host array that took part */
    unsigned done; /* passes so far */
    uint64_t grid; /* of the first */
};

static uint64_t divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

static uint64_t pieces(const struct passes *self)
{
    return divide_up(self->plan->n, self->piece);
}

/* ---- which kernels ---- */

static const void *flat_kernel(const struct passes *self, enum element input)
{
    const struct plan *plan = self->plan;
    return self->machine->kernels->flat(plan->op, method_index_of(plan->method), input,
                                        plan->accumulator, plan->block);
}

static library_reduce *library_from(const struct passes *self, enum element input)
{
    return self->machine->kernels->library(self->plan->op, input, self->plan->accumulator);
}

/* In-place methods must not touch the caller's array, and a library takes what it takes. */
static bool needs_copy(const struct passes *self)
{
    const struct plan *plan = self->plan;
    if (method_works_in_place(plan->method))
        return true;
    return plan->method->schedule == SCHEDULE_library &&
           !(self->input.form == FORM_FLAT && library_from(self, self->input.element));
}

/* Whether a kernel takes the array as a plain pointer: the method's own, or the copying one. */
static bool takes_flat(const struct passes *self)
{
    const struct plan *plan = self->plan;
    const enum element input = plan->source->input;
    if (!plan->direct)
        return false;
    if (method_works_in_place(plan->method))
        return self->machine->kernels->copy_flat(input, plan->accumulator);
    if (plan->method->schedule == SCHEDULE_library)
        return library_from(self, input) ||
               self->machine->kernels->copy_flat(input, plan->accumulator);
    return flat_kernel(self, input);
}

static bool takes_strided(const struct passes *self)
{
    const struct plan *plan = self->plan;
    return plan->direct && plan->on_device && plan->source->dimensions > 0 &&
           self->machine->kernels->strided(plan->op, method_index_of(plan->method),
                                           plan->source->input, plan->accumulator);
}

static enum form choose_form(const struct passes *self)
{
    const bool flat = self->plan->flat || !self->plan->on_device; /* what is uploaded is flat */
    if (flat && takes_flat(self))
        return FORM_FLAT;
    return takes_strided(self) ? FORM_STRIDED : FORM_GATHERED;
}

static const void *first_kernel(const struct passes *self)
{
    const struct plan *plan = self->plan;
    const struct kernels *kernels = self->machine->kernels;
    const enum method_index method = method_index_of(plan->method);
    if (self->space.copy)
        return flat_kernel(self, plan->accumulator);
    switch (self->input.form) {
    case FORM_FLAT:
        return flat_kernel(self, self->input.element);
    case FORM_STRIDED:
        return kernels->strided(plan->op, method, self->input.element, plan->accumulator);
    default:
        return kernels->gathered(plan->op, method, plan->accumulator);
    }
}

static size_t shared_bytes(const struct plan *plan)
{
    return method_works_in_place(plan->method) ? 0 : plan->block * element_size(plan->accumulator);
}

/* Whether a pass leaves partials that take another one. */
static bool repeats(const struct plan *plan)
{
    return plan->method->schedule == SCHEDULE_in_place ||
           plan->method->schedule == SCHEDULE_tiles ||
           plan->method->schedule == SCHEDULE_grid_stride;
}

/* How many blocks a pass over n elements gets. */
static bool grid_for(const struct passes *self, const void *kernel, uint64_t n, uint64_t *grid)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    unsigned a_multiprocessor = plan->method->threads / plan->block;
    *grid = divide_up(n, (uint64_t)plan->block * plan->method->data_blocks);
    switch (plan->method->schedule) {
    case SCHEDULE_cooperative:
        if (!machine->resident(machine, kernel, plan->block, shared_bytes(plan), &a_multiprocessor))
            return false;
        break;
    case SCHEDULE_grid_stride:
    case SCHEDULE_one_atomic:
    case SCHEDULE_last_block:
        break;
    default:
        return true;
    }
    const uint64_t most =
        (uint64_t)machine->multiprocessors * (a_multiprocessor ? a_multiprocessor : 1);
    *grid = *grid < most ? *grid : most;
    return true;
}

/* ---- passes over one piece ---- */

/* `array` begins with the pointer that kernels of flat arrays take. */
static bool launch_pass(struct passes *self, const void *kernel, struct entries_gathered array,
                        uint64_t n, void *partials, uint64_t grid)
{
    void *arguments[] = {&array, &n, &partials, &self->space.tickets};
    const struct launch launch = {
        .kernel = kernel,
        .arguments = arguments,
        .grid = grid,
        .block = self->plan->block,
        .shared_bytes = shared_bytes(self->plan),
        .cooperative = self->plan->method->schedule == SCHEDULE_cooperative,
    };
    if (!self->machine->launch(self->machine, &launch))
        return false;
    if (self->done++)
        return true;
    self->grid = grid;
    return !self->measured || self->machine->mark(self->machine, MOMENT_FIRST_PASS);
}

/* The upper half onto the lower, until one element is left. */
static bool run_levels(struct passes *self, uint64_t length, const void **result)
{
    const void *kernel = flat_kernel(self, self->plan->accumulator);
    for (uint64_t n = length; n > 1; n -= n / 2)
        if (!launch_pass(self, kernel, (struct entries_gathered){self->space.copy, 0}, n, NULL,
                         divide_up(n / 2, self->plan->block)))
            return false;
    *result = self->space.copy;
    return true;
}

/* The method on the array, then on the partials, until one is left. The single-launch schedules
 * leave one at once. */
static bool run_rounds(struct passes *self, struct entries_gathered array, uint64_t n,
                       const void **result)
{
    const struct plan *plan = self->plan;
    const void *kernel = first_kernel(self);
    for (unsigned turn = 0;; turn ^= 1) {
        void *partials = self->space.partials[turn];
        uint64_t grid;
        if (!grid_for(self, kernel, n, &grid) ||
            !launch_pass(self, kernel, array, n, partials, grid))
            return false;
        array = (struct entries_gathered){partials, 0};
        n = grid;
        if (n == 1 || !repeats(plan))
            break;
        kernel = flat_kernel(self, plan->accumulator);
    }
    *result = array.source;
    return true;
}

static bool run_library(struct passes *self, struct entries_gathered array, uint64_t n,
                        const void **result)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    library_reduce *reduce =
        library_from(self, self->space.copy ? plan->accumulator : self->input.element);
    if (!machine->reduce(machine, reduce, array.source, n, self->space.partials[0]))
        return false;
    self->done = 1;
    *result = self->space.partials[0];
    return !self->measured || machine->mark(machine, MOMENT_FIRST_PASS);
}

/* The array from element `start` on, as a kernel's argument. */
static struct entries_gathered array_from(const struct passes *self, uint64_t start)
{
    if (self->space.uploaded)
        start = 0;
    if (self->input.form == FORM_FLAT)
        return (struct entries_gathered){
            self->input.data + start * element_size(self->input.element), 0};
    return (struct entries_gathered){self->input.source, start};
}

static bool run_once(struct passes *self, uint64_t start, uint64_t n, const void **result)
{
    const struct entries_gathered array =
        self->space.copy ? (struct entries_gathered){self->space.copy, 0} : array_from(self, start);
    self->done = 0;
    self->grid = 0;
    switch (self->plan->method->schedule) {
    case SCHEDULE_levels:
        return run_levels(self, n, result);
    case SCHEDULE_library:
        return run_library(self, array, n, result);
    default:
        return run_rounds(self, array, n, result);
    }
}

/* ---- memory ---- */

static void release(struct passes *self)
{
    struct machine *machine = self->machine;
    void *const memory[] = {self->space.uploaded, self->space.mask,        self->space.described,
                            self->space.copy,     self->space.partials[0], self->space.partials[1],
                            self->space.tickets,  self->space.results,     self->space.counted};
    for (size_t k = 0; k < sizeof memory / sizeof *memory; k++)
        machine->release(machine, memory[k]);
    self->space = (struct workspace){0};
}

/* Bytes of workspace that grow with the array, for each of its elements. */
static double bytes_an_element(const struct passes *self)
{
    const struct plan *plan = self->plan;
    const double size = (double)element_size(plan->accumulator);
    double bytes = 0;
    if (!plan->on_device)
        bytes += (double)element_size(plan->source->input);
    if (needs_copy(self))
        bytes += size;
    if (repeats(plan))
        bytes += 2 * size / ((double)plan->block * plan->method->data_blocks);
    return bytes;
}

enum { LEAST_PIECE = 1 << 12 };

/* The whole array, or as much of it as there is room for. A measurement is of the whole. */
static uint64_t choose_piece(const struct passes *self, const struct run *run)
{
    const uint64_t n = self->plan->n;
    const double an_element = bytes_an_element(self), all = an_element * (double)n;
    if (self->measured || all == 0)
        return n;
    const size_t needed = all < 0x1p63 ? (size_t)all : SIZE_MAX;
    const size_t room = self->machine->room(self->machine, needed);
    const size_t limit =
        run->workspace_limit && run->workspace_limit < room ? run->workspace_limit : room;
    if (needed <= limit)
        return n;
    const uint64_t fits = (uint64_t)((double)limit / an_element) / LEAST_PIECE * LEAST_PIECE;
    return fits ? fits : LEAST_PIECE;
}

/* How many partials the first pass over a piece, or over the pieces' results, can leave; later
 * passes leave fewer. */
static bool count_partials(const struct passes *self, uint64_t *count)
{
    *count = 1;
    if (self->plan->method->schedule == SCHEDULE_levels ||
        self->plan->method->schedule == SCHEDULE_library)
        return true;
    const uint64_t most = self->piece < pieces(self) ? pieces(self) : self->piece;
    return grid_for(self, first_kernel(self), most, count);
}

/* The source, where kernels can read it: with the memory that they are to find. */
static bool describe(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    struct source source = *plan->source;
    if (!plan->on_device) {
        source.data = self->space.uploaded;
        source.mask = NULL;
        source.swapped = false;
        source.dimensions = 1;
        source.shape[0] = self->piece;
        source.strides[0] = (int64_t)element_size(source.input);
    } else if (self->space.mask) {
        source.mask = self->space.mask;
        int64_t stride = 1;
        for (unsigned k = source.dimensions; k-- > 0;) {
            source.mask_strides[k] = stride;
            stride *= (int64_t)source.shape[k];
        }
    }
    self->input.source = self->space.described;
    return machine->copy_in(machine, self->space.described, &source, sizeof source);
}

/* A host's mask goes to the device as one byte an element, in the array's order. */
static bool upload_mask(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    if (!plan->on_device || !plan->source->mask || plan->mask_on_device)
        return true;
    struct source mask = *plan->source;
    mask.data = mask.mask;
    mask.mask = NULL;
    mask.input = mask.type = ELEMENT_BOOL;
    mask.swapped = false;
    memcpy(mask.strides, plan->source->mask_strides, sizeof mask.strides);
    uint64_t fed;
    return machine->allocate(machine, plan->n, &self->space.mask) &&
           machine->feed(machine, self->space.mask, &mask, 0, plan->n, &fed);
}

static bool prepare_input(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    self->input.element = plan->source->input;
    self->input.data = plan->source->data;
    if (!plan->on_device) {
        if (!machine->allocate(machine, self->piece * element_size(self->input.element),
                               &self->space.uploaded))
            return false;
        self->input.data = self->space.uploaded;
    }
    if (self->input.form == FORM_FLAT)
        return true;
    return upload_mask(self) &&
           machine->allocate(machine, sizeof(struct source), &self->space.described) &&
           describe(self);
}

static bool prepare(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const size_t size = element_size(plan->accumulator);
    uint64_t count;
    if (!prepare_input(self))
        return false;
    if (needs_copy(self) && !machine->allocate(machine, self->piece * size, &self->space.copy))
        return false;
    if (!count_partials(self, &count) ||
        !machine->allocate(machine, count * size, &self->space.partials[0]) ||
        (repeats(plan) && !machine->allocate(machine, count * size, &self->space.partials[1])) ||
        (pieces(self) > 1 &&
         !machine->allocate(machine, pieces(self) * size, &self->space.results)))
        return false;
    const unsigned zero = 0;
    return plan->method->schedule != SCHEDULE_last_block ||
           (machine->allocate(machine, sizeof zero, &self->space.tickets) &&
            machine->copy_in(machine, self->space.tickets, &zero, sizeof zero));
}

/* ---- what a method expects to find ---- */

static bool restore_copy(struct passes *self, uint64_t start, uint64_t n)
{
    enum { BLOCK = 512, BLOCKS_A_MULTIPROCESSOR = 8 };
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    struct entries_gathered array = array_from(self, start);
    void *arguments[] = {&array, &n, &self->space.copy};
    const uint64_t most = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
                   grid = divide_up(n, BLOCK);
    const struct launch launch = {
        .kernel = self->input.form == FORM_FLAT
                      ? machine->kernels->copy_flat(self->input.element, plan->accumulator)
                      : machine->kernels->copy_gathered(plan->op, plan->accumulator),
        .arguments = arguments,
        .grid = grid < most ? grid : most,
        .block = BLOCK,
    };
    return machine->launch(machine, &launch);
}

static bool store_identity(struct passes *self, void *target)
{
    const struct plan *plan = self->plan;
    const union scalar identity = op_identity(plan->op, plan->accumulator);
    return self->machine->copy_in(self->machine, target, &identity,
                                  element_size(plan->accumulator));
}

/* A fresh working copy, where the method works on one, and the identity, where its blocks combine
 * into the result. */
static bool make_ready(struct passes *self, uint64_t start, uint64_t n)
{
    if (self->plan->method->schedule == SCHEDULE_one_atomic &&
        !store_identity(self, self->space.partials[0]))
        return false;
    return !self->space.copy || restore_copy(self, start, n);
}

/* The piece from `start` on is on the device afterwards; *n of its elements take part. */
static bool feed(struct passes *self, uint64_t start, uint64_t length, uint64_t *n)
{
    struct machine *machine = self->machine;
    *n = length;
    if (!self->plan->on_device &&
        !machine->feed(machine, self->space.uploaded, self->plan->source, start, length, n))
        return false;
    self->fed += *n;
    return true;
}

static bool interrupted(struct machine *machine, const struct run *run)
{
    if (!run->watch->interrupted(run->watch->context))
        return false;
    failure_note(machine->failure, FAILURE_EXCEPTION, "interrupted");
    return true;
}

/* ---- one run, or many measured ---- */

static bool reduce_piece(struct passes *self, uint64_t start, uint64_t length, const void **result)
{
    uint64_t n;
    if (!feed(self, start, length, &n))
        return false;
    *result = self->space.partials[0];
    if (n == 0)
        return store_identity(self, self->space.partials[0]);
    return make_ready(self, start, n) && run_once(self, start, n, result);
}

/* The pieces' results are an array like another, and gred's own. */
static bool reduce_results(struct passes *self, const void **result)
{
    struct passes last = *self;
    const uint64_t n = pieces(self);
    last.input = (struct input){
        .form = FORM_FLAT, .element = self->plan->accumulator, .data = self->space.results};
    last.space.uploaded = NULL;
    last.space.copy = method_works_in_place(self->plan->method) ? self->space.results : NULL;
    if (self->plan->method->schedule == SCHEDULE_one_atomic &&
        !store_identity(self, self->space.partials[0]))
        return false;
    return run_once(&last, 0, n, result);
}

static bool reduce_all(struct passes *self, const struct run *run, const void **result)
{
    struct machine *machine = self->machine;
    const size_t size = element_size(self->plan->accumulator);
    const uint64_t n = self->plan->n, count = pieces(self);
    for (uint64_t p = 0; p < count; p++) {
        const uint64_t start = p * self->piece, rest = n - start;
        if ((p && interrupted(machine, run)) ||
            !reduce_piece(self, start, rest < self->piece ? rest : self->piece, result))
            return false;
        if (count > 1 &&
            !machine->copy_within(machine, (char *)self->space.results + p * size, *result, size))
            return false;
    }
    return count == 1 || reduce_results(self, result);
}

static bool measure(struct passes *self, struct run *run, const void **result)
{
    struct timing *timing = run->timing;
    struct machine *machine = self->machine;
    uint64_t n;
    if (!feed(self, 0, self->plan->n, &n))
        return false;
    for (unsigned s = 0; s < timing->warmup + timing->samples; s++) {
        double first_pass, seconds;
        if (interrupted(machine, run) || !make_ready(self, 0, n) ||
            (timing->cold && !machine->flush(machine)) || !machine->mark(machine, MOMENT_BEGIN) ||
            !run_once(self, 0, n, result) || !machine->mark(machine, MOMENT_END) ||
            !machine->elapsed(machine, &first_pass, &seconds))
            return false;
        if (s >= timing->warmup) {
            timing->first_pass[s - timing->warmup] = self->done ? first_pass : seconds;
            timing->seconds[s - timing->warmup] = seconds;
        }
    }
    timing->passes = self->done;
    timing->grid = self->grid;
    timing->block = self->plan->block;
    return true;
}

/* ---- results ---- */

/* Counts what the mask of a device array lets through, on the device. */
static bool count_selected(struct passes *self)
{
    enum { BLOCK = 256, BLOCKS_A_MULTIPROCESSOR = 8 };
    struct machine *machine = self->machine;
    const uint64_t zero = 0;
    uint64_t n = self->plan->n;
    void *arguments[] = {&self->input.source, &n, &self->space.counted};
    const uint64_t most = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
                   grid = divide_up(n, BLOCK);
    const struct launch launch = {.kernel = machine->kernels->count(),
                                  .arguments = arguments,
                                  .grid = grid < most ? grid : most,
                                  .block = BLOCK};
    return machine->allocate(machine, sizeof zero, &self->space.counted) &&
           machine->copy_in(machine, self->space.counted, &zero, sizeof zero) &&
           machine->launch(machine, &launch);
}

/* One thread makes the result of what the passes leave, where it is to stay. */
static bool finish_on_device(struct passes *self, const void *folded)
{
    const struct plan *plan = self->plan;
    struct finish finish = plan->finish;
    finish.count = self->fed;
    enum element out_element = plan->out_element;
    void *out = plan->out;
    void *arguments[] = {&folded, &finish, &self->space.counted, &out_element, &out};
    const struct launch launch = {
        .kernel = self->machine->kernels->finish(), .arguments = arguments, .grid = 1, .block = 1};
    return self->machine->launch(self->machine, &launch);
}

static bool deliver(struct passes *self, const void *folded, struct run *run)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    if (plan->finish.mean && plan->source->mask && plan->on_device && plan->n &&
        !count_selected(self))
        return false;
    if (plan->out)
        return finish_on_device(self, folded);
    run->count = self->fed;
    return machine->copy_out(machine, &run->result, folded, element_size(plan->accumulator)) &&
           (!self->space.counted ||
            machine->copy_out(machine, &run->count, self->space.counted, sizeof run->count));
}

/* ---- runs ---- */

/* Nothing to reduce, but a result to be left on the device. */
static bool run_empty(struct passes *self, struct run *run)
{
    struct machine *machine = self->machine;
    return machine->allocate(machine, sizeof(union scalar), &self->space.partials[0]) &&
           store_identity(self, self->space.partials[0]) &&
           deliver(self, self->space.partials[0], run);
}

static bool run_pieces(struct passes *self, struct run *run)
{
    const void *result = NULL;
    if (self->plan->n == 0)
        return run_empty(self, run);
    return prepare(self) &&
           (self->measured ? measure(self, run, &result) : reduce_all(self, run, &result)) &&
           deliver(self, result, run);
}

/* Another user of the device may have taken the memory that there was room for: then smaller pieces
 * may do. */
static bool try_smaller(struct passes *self)
{
    struct failure *failure = self->machine->failure;
    if (failure->kind != FAILURE_MEMORY || self->measured || self->piece <= LEAST_PIECE ||
        bytes_an_element(self) == 0)
        return false;
    *failure = (struct failure){0};
    self->piece = divide_up(self->piece / 2, LEAST_PIECE) * LEAST_PIECE;
    return true;
}

bool passes_run(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct passes self = {.machine = machine, .plan = plan, .measured = run->timing};
    self.input.form = choose_form(&self);
    self.input.element = plan->source->input;
    self.piece = choose_piece(&self, run);
    bool ran;
    do {
        self.fed = 0;
        ran = run_pieces(&self, run);
        release(&self);
    } while (!ran && try_smaller(&self));
    return ran;
}
