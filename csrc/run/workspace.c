#include "run/workspace.h"

#include <string.h>

uint64_t workspace_divide_up(uint64_t n, uint64_t by)
{
    return n / by + (n % by != 0);
}

uint64_t workspace_pieces(const struct passes *self)
{
    return workspace_divide_up(self->plan->n, self->piece);
}

/* ---- which kernels ---- */

const void *workspace_flat_kernel(const struct passes *self, enum element input)
{
    const struct plan *plan = self->plan;
    return self->machine->kernels->flat(plan->op, method_index_of(plan->method), input,
                                        self->accumulator, plan->block);
}

library_reduce *workspace_library(const struct passes *self, enum element input)
{
    return self->machine->kernels->library(self->plan->op, input, self->accumulator);
}

/* In-place methods must not touch the caller's array, and a library takes what it takes. */
static bool needs_copy(const struct passes *self)
{
    const struct plan *plan = self->plan;
    if (method_works_in_place(plan->method))
        return true;
    return plan->method->schedule == SCHEDULE_library &&
           !(self->input.form == FORM_FLAT && workspace_library(self, self->input.element));
}

/* Whether a kernel takes the array as a plain pointer: the method's own, or the copying one. */
static bool takes_flat(const struct passes *self)
{
    const struct plan *plan = self->plan;
    const enum element input = plan->layout->input;
    if (!plan->direct)
        return false;
    if (method_works_in_place(plan->method))
        return self->machine->kernels->copy_flat(input, self->accumulator);
    if (plan->method->schedule == SCHEDULE_library)
        return workspace_library(self, input) ||
               self->machine->kernels->copy_flat(input, self->accumulator);
    return workspace_flat_kernel(self, input);
}

static bool takes_strided(const struct passes *self)
{
    const struct plan *plan = self->plan;
    return plan->direct && plan->on_device && plan->layout->dimensions > 0 &&
           self->machine->kernels->strided(plan->op, method_index_of(plan->method),
                                           plan->layout->input, self->accumulator);
}

static enum form choose_form(const struct passes *self)
{
    const bool flat = self->plan->flat || !self->plan->on_device; /* what is uploaded is flat */
    if (flat && takes_flat(self))
        return FORM_FLAT;
    return takes_strided(self) ? FORM_STRIDED : FORM_GATHERED;
}

const void *workspace_first_kernel(const struct passes *self)
{
    const struct plan *plan = self->plan;
    const struct kernels *kernels = self->machine->kernels;
    const enum method_index method = method_index_of(plan->method);
    if (self->space.copy)
        return workspace_flat_kernel(self, self->accumulator);
    switch (self->input.form) {
    case FORM_FLAT:
        return workspace_flat_kernel(self, self->input.element);
    case FORM_STRIDED:
        return kernels->strided(plan->op, method, self->input.element, self->accumulator);
    default:
        return kernels->gathered(plan->op, method, self->accumulator);
    }
}

size_t workspace_shared_bytes(const struct passes *self)
{
    const struct plan *plan = self->plan;
    return method_works_in_place(plan->method) ? 0 : plan->block * element_size(self->accumulator);
}

bool workspace_repeats(const struct plan *plan)
{
    return plan->method->schedule == SCHEDULE_in_place ||
           plan->method->schedule == SCHEDULE_tiles ||
           plan->method->schedule == SCHEDULE_grid_stride;
}

bool workspace_grid(const struct passes *self, const void *kernel, uint64_t n, uint64_t *grid)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    unsigned a_multiprocessor = plan->method->threads / plan->block;
    *grid = workspace_divide_up(n, (uint64_t)plan->block * plan->method->data_blocks);
    switch (plan->method->schedule) {
    case SCHEDULE_cooperative:
        if (!machine->resident(machine, kernel, plan->block, workspace_shared_bytes(self),
                               &a_multiprocessor))
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

struct entries_gathered workspace_array(const struct passes *self, uint64_t start)
{
    if (self->space.uploaded)
        start = 0;
    if (self->input.form == FORM_FLAT)
        return (struct entries_gathered){
            self->input.data + start * element_size(self->input.element), 0};
    return (struct entries_gathered){self->input.layout, start};
}

/* ---- memory ---- */

void workspace_release(struct passes *self)
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
    const double size = (double)element_size(self->accumulator);
    double bytes = 0;
    if (!plan->on_device)
        bytes += (double)element_size(plan->layout->input);
    if (needs_copy(self))
        bytes += size;
    if (workspace_repeats(plan))
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
    const uint64_t most =
        self->piece < workspace_pieces(self) ? workspace_pieces(self) : self->piece;
    return workspace_grid(self, workspace_first_kernel(self), most, count);
}

/* The mask as a layout of its own, without the dimensions that it is broadcast along; the array's
 * mask strides become those of the mask's elements, one byte each and one after the other. */
static void compact_mask(struct layout *array, struct layout *mask)
{
    *mask = (struct layout){.data = array->mask, .input = ELEMENT_BOOL, .type = ELEMENT_BOOL};
    for (unsigned k = 0; k < array->dimensions; k++)
        if (array->mask_strides[k]) {
            mask->shape[mask->dimensions] = array->shape[k];
            mask->strides[mask->dimensions++] = array->mask_strides[k];
        }
    int64_t stride = 1;
    for (unsigned k = array->dimensions; k-- > 0;)
        if (array->mask_strides[k]) {
            array->mask_strides[k] = stride;
            stride *= (int64_t)array->shape[k];
        }
}

/* The layout, where kernels can read it: with the memory that they are to find. */
static bool describe(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    struct layout layout = *plan->layout;
    if (!plan->on_device) {
        layout.data = self->space.uploaded;
        layout.mask = NULL;
        layout.swapped = false;
        layout.dimensions = 1;
        layout.shape[0] = self->piece;
        layout.strides[0] = (int64_t)element_size(layout.input);
    } else if (self->space.mask) {
        struct layout mask;
        compact_mask(&layout, &mask);
        layout.mask = self->space.mask;
    }
    self->input.layout = self->space.described;
    return machine->copy_in(machine, self->space.described, &layout, sizeof layout);
}

/* A host's mask goes to the device in the array's order, a byte an element of its own. */
static bool upload_mask(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    if (!plan->on_device || !plan->layout->mask || plan->mask_on_device)
        return true;
    struct layout array = *plan->layout, mask;
    compact_mask(&array, &mask);
    const uint64_t bytes = layout_length(&mask);
    uint64_t fed;
    return machine->allocate(machine, bytes, &self->space.mask) &&
           machine->feed(machine, self->space.mask, &mask, 0, bytes, &fed);
}

static bool prepare_input(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    self->input.element = plan->layout->input;
    self->input.data = plan->layout->data;
    if (!plan->on_device) {
        if (!machine->allocate(machine, self->piece * element_size(self->input.element),
                               &self->space.uploaded))
            return false;
        self->input.data = self->space.uploaded;
    }
    if (self->input.form == FORM_FLAT)
        return true;
    return upload_mask(self) &&
           machine->allocate(machine, sizeof(struct layout), &self->space.described) &&
           describe(self);
}

/* A counter that starts, and ends, at 0. */
static bool needs_tickets(const struct plan *plan)
{
    return plan->method->schedule == SCHEDULE_last_block ||
           plan->method->schedule == SCHEDULE_cooperative;
}

bool workspace_prepare(struct passes *self)
{
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    const size_t size = element_size(self->accumulator);
    uint64_t count;
    if (!prepare_input(self))
        return false;
    if (needs_copy(self) && !machine->allocate(machine, self->piece * size, &self->space.copy))
        return false;
    if (!count_partials(self, &count) ||
        !machine->allocate(machine, count * size, &self->space.partials[0]) ||
        (workspace_repeats(plan) &&
         !machine->allocate(machine, count * size, &self->space.partials[1])) ||
        (workspace_pieces(self) > 1 &&
         !machine->allocate(machine, workspace_pieces(self) * size, &self->space.results)))
        return false;
    const unsigned zero = 0;
    return !needs_tickets(plan) ||
           (machine->allocate(machine, sizeof zero, &self->space.tickets) &&
            machine->copy_in(machine, self->space.tickets, &zero, sizeof zero));
}

/* Another user of the device may have taken the memory that there was room for: then smaller pieces
 * may do. */
bool workspace_shrink(struct passes *self)
{
    struct failure *failure = self->machine->failure;
    if (failure->kind != FAILURE_MEMORY || self->measured || self->piece <= LEAST_PIECE ||
        bytes_an_element(self) == 0)
        return false;
    *failure = (struct failure){0};
    self->piece = workspace_divide_up(self->piece / 2, LEAST_PIECE) * LEAST_PIECE;
    return true;
}

/* Kernels that gather are compiled for these alone. A result is rounded to its type only once, and
 * integers wrap in the end as they would have on the way. */
static enum element widest(enum element accumulator)
{
    switch (accumulator) {
    case ELEMENT_INT32:
        return ELEMENT_INT64;
    case ELEMENT_FLOAT32:
        return ELEMENT_FLOAT64;
    case ELEMENT_COMPLEX64:
        return ELEMENT_COMPLEX128;
    default:
        return accumulator;
    }
}

void workspace_choose(struct passes *self, const struct run *run)
{
    self->accumulator = self->plan->accumulator;
    self->input.form = choose_form(self);
    if (self->input.form == FORM_GATHERED)
        self->accumulator = widest(self->accumulator);
    self->input.element = self->plan->layout->input;
    self->piece = choose_piece(self, run);
}
