#include "run/workspace.h"

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
        .shared_bytes = workspace_shared_bytes(self),
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
    const void *kernel = workspace_flat_kernel(self, self->accumulator);
    for (uint64_t n = length; n > 1; n -= n / 2)
        if (!launch_pass(self, kernel, (struct entries_gathered){self->space.copy, 0}, n, NULL,
                         workspace_divide_up(n / 2, self->plan->block)))
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
    const void *kernel = workspace_first_kernel(self);
    for (unsigned turn = 0;; turn ^= 1) {
        void *partials = self->space.partials[turn];
        uint64_t grid;
        if (!workspace_grid(self, kernel, n, &grid) ||
            !launch_pass(self, kernel, array, n, partials, grid))
            return false;
        array = (struct entries_gathered){partials, 0};
        n = grid;
        if (n == 1 || !workspace_repeats(plan))
            break;
        kernel = workspace_flat_kernel(self, self->accumulator);
    }
    *result = array.layout;
    return true;
}

static bool run_library(struct passes *self, struct entries_gathered array, uint64_t n,
                        const void **result)
{
    struct machine *machine = self->machine;
    library_reduce *reduce =
        workspace_library(self, self->space.copy ? self->accumulator : self->input.element);
    if (!machine->reduce(machine, reduce, array.layout, n, self->space.partials[0]))
        return false;
    self->done = 1;
    *result = self->space.partials[0];
    return !self->measured || machine->mark(machine, MOMENT_FIRST_PASS);
}

static bool run_once(struct passes *self, uint64_t start, uint64_t n, const void **result)
{
    const struct entries_gathered array = self->space.copy
                                              ? (struct entries_gathered){self->space.copy, 0}
                                              : workspace_array(self, start);
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

/* ---- what a method expects to find ---- */

static bool restore_copy(struct passes *self, uint64_t start, uint64_t n)
{
    enum { BLOCK = 512, BLOCKS_A_MULTIPROCESSOR = 8 };
    const struct plan *plan = self->plan;
    struct machine *machine = self->machine;
    struct entries_gathered array = workspace_array(self, start);
    void *arguments[] = {&array, &n, &self->space.copy};
    const uint64_t most = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
                   grid = workspace_divide_up(n, BLOCK);
    const struct launch launch = {
        .kernel = self->input.form == FORM_FLAT
                      ? machine->kernels->copy_flat(self->input.element, self->accumulator)
                      : machine->kernels->copy_gathered(plan->op, self->accumulator),
        .arguments = arguments,
        .grid = grid < most ? grid : most,
        .block = BLOCK,
    };
    return machine->launch(machine, &launch);
}

static bool store_identity(struct passes *self, void *target)
{
    const struct plan *plan = self->plan;
    const union scalar identity = op_identity(plan->op, self->accumulator);
    return self->machine->copy_in(self->machine, target, &identity,
                                  element_size(self->accumulator));
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
        !machine->feed(machine, self->space.uploaded, self->plan->layout, start, length, n))
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
    const uint64_t n = workspace_pieces(self);
    last.input = (struct input){
        .form = FORM_FLAT, .element = self->accumulator, .data = self->space.results};
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
    const size_t size = element_size(self->accumulator);
    const uint64_t n = self->plan->n, count = workspace_pieces(self);
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
    void *arguments[] = {&self->input.layout, &n, &self->space.counted};
    const uint64_t most = (uint64_t)machine->multiprocessors * BLOCKS_A_MULTIPROCESSOR,
                   grid = workspace_divide_up(n, BLOCK);
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
    struct finish finish = finish_from(&plan->finish, self->accumulator);
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
    if (plan->finish.mean && plan->layout->mask && plan->on_device && plan->n &&
        !count_selected(self))
        return false;
    if (plan->out)
        return finish_on_device(self, folded);
    run->count = self->fed;
    run->accumulator = self->accumulator;
    return machine->copy_out(machine, &run->result, folded, element_size(self->accumulator)) &&
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
    return workspace_prepare(self) &&
           (self->measured ? measure(self, run, &result) : reduce_all(self, run, &result)) &&
           deliver(self, result, run);
}

bool passes_run(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct passes self = {.machine = machine, .plan = plan, .measured = run->timing};
    workspace_choose(&self, run);
    bool ran;
    do {
        self.fed = 0;
        ran = run_pieces(&self, run);
        workspace_release(&self);
    } while (!ran && workspace_shrink(&self));
    return ran;
}
