/* Lists of arrays on a device. Their elements are cut into tiles, at least one per block, and one
 * launch of the long-rows kernel computes all results. For other reductions, such as describe, all
 * elements are copied together, or arrays are reduced one by one. */
#include "common/arithmetic.h"
#include "run/execute.h"

#include <stdlib.h>
#include <string.h>

/* For a plan with results along axes, even if there is only one. */
struct list_schedule {
    enum element accumulator;
    const void *kernel;
    bool copies;       /* elements are converted to the accumulator's type */
    size_t size;       /* bytes per element */
    size_t state;      /* bytes */
    uint64_t resident; /* blocks */
    uint64_t blocks, tiles;
    struct arena arena;
};

/* ---- arrays ---- */

/* Copies the elements of all arrays, converted, to contiguous memory. */
static bool gather_all(const struct executor *exec, enum element type, char *to)
{
    const struct array_list *const list = exec->plan->elements.list;
    struct layout layout;
    for (uint64_t k = 0; k < list->count; k++) {
        list_entry_layout(&list->at[k], exec->plan->layout->type, &layout);
        if (list->at[k].n > 0 && !executor_gather(exec, &layout, type, to))
            return false;
        to += list->at[k].n * element_size(type);
    }
    return true;
}

/* ---- in one launch ---- */

/* Elements per block for a result of n elements, independent of all other results: whole vectors,
 * and so many that all blocks of a large result are resident. */
static uint64_t block_share(const struct list_schedule *self, uint64_t n)
{
    enum { VECTOR_BYTES = 16, BATCH_BYTES = 1 << 17 }; /* bytes */
    const uint64_t vectors = VECTOR_BYTES / self->size, batch = BATCH_BYTES / self->size,
                   share = ceil_div(n, self->resident * vectors) * vectors;
    return share > batch ? share : batch;
}

/* False if there is no kernel, or results need the generic finish. */
static bool list_schedule_make(const struct plan *plan, const struct facts *facts,
                               struct list_schedule *self)
{
    const struct array_list *const list = plan->elements.list;
    struct plan smallest = *plan;
    smallest.n = list->each ? list->fewest : plan->n;
    self->kernel = plan->exact
                       ? NULL
                       : choice_kernel_along(facts->kernels, KERNEL_TYPED_ROWS, plan, list->uniform,
                                             &self->accumulator, &self->copies);
    if (!self->kernel || !epilogue_stores_directly(&smallest, self->accumulator))
        return false;
    self->size = element_size(self->copies ? self->accumulator : plan->layout->input);
    self->state = state_bytes(plan->fold, self->accumulator);
    self->resident =
        (uint64_t)facts->multiprocessors * LONG_ROWS_RESIDENT(self->state, self->size, false);
    self->blocks = 0;
    for (uint64_t k = 0; k < list->count; k++)
        self->blocks += list->each ? ceil_div(list->at[k].n, block_share(self, list->at[k].n)) : 0;
    if (!list->each)
        self->blocks = ceil_div(plan->n, block_share(self, plan->n));
    self->tiles = self->blocks + (list->each ? 0 : list->count);
    if (self->tiles > INT32_MAX)
        return false;
    struct arena *const arena = &self->arena;
    *arena = (struct arena){.total = 0};
    arena_reserve(arena, PART_TICKETS, plan->axes->results, sizeof(unsigned));
    arena_reserve(arena, PART_LIST, self->tiles, sizeof(struct list_tile));
    arena_reserve(arena, PART_PARTIALS, self->blocks, self->state);
    if (self->copies)
        arena_reserve(arena, PART_COPY, plan->n, self->size);
    return true;
}

/* State while tiles are filled in: the first tile of every block precedes all others. */
struct tile_cursor {
    size_t size; /* bytes per element */
    bool each;   /* every array has blocks of its own */
    struct list_tile *tiles;
    uint64_t block, next; /* the current block, and the index of its next tile */
    uint64_t filled;      /* elements in the current block */
};

/* Distributes an array's elements to blocks of `share` elements. */
static void tile_array(struct tile_cursor *self, const struct list_tile *array, uint64_t share)
{
    for (uint64_t at = 0, n; at < array->n; at += n) {
        struct list_tile *const first = &self->tiles[self->block], *tile = first;
        n = min_u64(array->n - at, share - self->filled);
        if (self->filled == 0) {
            *tile = *array;
            tile->next = (uint32_t)self->next;
            tile->more = 0;
        } else {
            tile = &self->tiles[self->next++];
            *tile = *array;
            first->more++;
        }
        tile->data = (const char *)array->data + at * self->size;
        tile->n = n;
        tile->position = array->position + at;
        self->filled += n;
        if (self->filled == share || (self->each && at + n == array->n)) {
            self->filled = 0;
            self->block++;
        }
    }
}

static void fill_tiles(const struct executor *exec, const struct list_schedule *self,
                       struct list_tile *tiles)
{
    const struct plan *plan = exec->plan;
    const struct array_list *const list = plan->elements.list;
    const char *copy = executor_part(exec, PART_COPY);
    struct tile_cursor cursor = {
        .size = self->size, .each = list->each, .tiles = tiles, .next = self->blocks};
    struct list_tile array = {.count = plan->n, .blocks = (uint32_t)self->blocks};
    uint64_t share = block_share(self, plan->n);
    for (uint64_t k = 0; k < list->count; k++) {
        array.data = copy ? copy : list->at[k].data;
        array.n = list->at[k].n;
        if (list->each) {
            share = block_share(self, array.n);
            array.count = array.n;
            array.result = (uint32_t)k;
            array.first = (uint32_t)cursor.block;
            array.blocks = (uint32_t)ceil_div(array.n, share);
        }
        tile_array(&cursor, &array, share);
        array.position += list->each ? 0 : array.n;
        copy += copy ? array.n * self->size : 0;
    }
}

static bool upload_tiles(const struct executor *exec, const struct list_schedule *self)
{
    const size_t bytes = self->tiles * sizeof(struct list_tile);
    struct list_tile *const tiles = calloc(self->tiles, sizeof *tiles);
    if (!tiles)
        return failure_record(exec->machine->failure, FAILURE_MEMORY, "out of memory for a list");
    fill_tiles(exec, self, tiles);
    const bool copied = exec->machine->memory->copy(exec->machine, COPY_CAPTURABLE,
                                                    executor_part(exec, PART_LIST), tiles, bytes);
    free(tiles);
    return copied;
}

static bool launch_tiles(const struct executor *exec, const struct list_schedule *self)
{
    const size_t warp_bytes = self->state > sizeof(uint64_t) ? self->state : sizeof(uint64_t);
    const struct step step = launch_step(self->kernel, self->blocks, 1u << LONG_ROWS_BLOCK,
                                         warp_bytes << (LONG_ROWS_BLOCK - WARP));
    struct kernel_axes axes = {.launch = {.kernel = KERNEL_TYPED_ROWS,
                                          .block = LONG_ROWS_BLOCK,
                                          .team = LONG_ROWS_BLOCK,
                                          .groups = self->blocks,
                                          .splits = 1,
                                          .inner = 1,
                                          .step = 1,
                                          .long_row.readers = 1u << LONG_ROWS_BLOCK},
                               .results = self->blocks,
                               .result = executor_results(exec, self->accumulator),
                               .list = executor_part(exec, PART_LIST)};
    void *partials = executor_part(exec, PART_PARTIALS), *counts = NULL,
         *tickets = executor_part(exec, PART_TICKETS);
    void *arguments[] = {&axes, &partials, &counts, &tickets};
    epilogue_order(self->copies ? self->accumulator : exec->plan->layout->input, &axes.result);
    return executor_clear(exec, PART_TICKETS) && executor_launch(exec, &step, arguments);
}

static bool run_tiles(struct executor *exec, void *context)
{
    const struct list_schedule *self = context;
    return (!self->copies || gather_all(exec, self->accumulator, executor_part(exec, PART_COPY))) &&
           upload_tiles(exec, self) && launch_tiles(exec, self);
}

static bool execute_tiles(struct machine *machine, const struct plan *plan,
                          struct list_schedule *self, struct run *run)
{
    struct executor exec = {machine, run, plan, &self->arena, NULL};
    return executor_is_within_limit(machine, run, self->arena.total, "a list") &&
           executor_run(&exec, run_tiles, self);
}

/* ---- as separate arrays ---- */

/* Reduces a contiguous copy of all arrays. */
static bool execute_gathered(struct machine *machine, const struct plan *plan, struct run *run)
{
    const enum element type =
        plan->exact ? plan->layout->type : widest_accumulator(plan->accumulator);
    const struct executor exec = {.machine = machine, .run = run, .plan = plan};
    struct layout layout = {.type = plan->layout->type};
    struct plan one = *plan;
    void *copy;
    if (!executor_is_within_limit(machine, run, plan->n * element_size(type), "a list") ||
        !machine->memory->acquire(machine, plan->n * element_size(type), &copy))
        return false;
    layout_set_flat(&layout, copy, NULL, type, plan->n);
    plan_retarget(&one, &layout, plan->n, true);
    const bool done = gather_all(&exec, type, copy) && execute_array(machine, &one, run);
    machine->memory->release(machine, copy);
    return done;
}

/* Reduces array by array. Results of a single value that stay on the device are stored in place. */
static bool execute_one_by_one(struct machine *machine, const struct plan *plan, struct run *run)
{
    const struct array_list *const list = plan->elements.list;
    struct layout layout;
    struct plan one = *plan;
    for (uint64_t k = 0; k < list->count; k++) {
        list_entry_layout(&list->at[k], plan->layout->type, &layout);
        plan_retarget(&one, &layout, list->at[k].n, !list->at[k].layout);
        if (!execute_one(machine, plan, &one,
                         !results_are_synchronous(&plan->results) && plan->results.values == 1,
                         (int64_t)k, run))
            return false;
    }
    return true;
}

/* ---- all lists ---- */

/* One result of all arrays, for the host or stored in place. */
static bool execute_combined(struct machine *machine, const struct plan *requested, struct run *run)
{
    static const struct axes single = {.results = 1};
    struct complex128 values[ANSWER_VALUES];
    struct plan plan = *requested;
    struct results *const results = &plan.results;
    struct list_schedule schedule;
    plan.axes = &single;
    for (unsigned v = 0; v < results->values && !results->on_device; v++)
        results->at[v] = &values[v];
    if (results->type != results->types[0] ||
        !list_schedule_make(&plan, &machine->facts, &schedule))
        return execute_gathered(machine, requested, run);
    if (!execute(machine, &plan, run))
        return false;
    run->count = plan.n;
    for (unsigned v = 0; v < results->values && !results->on_device; v++)
        run->answer.values[v] =
            scalar_widen(scalar_load(&values[v], results->types[v]), results->types[v]);
    return true;
}

bool execute_list(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct list_schedule schedule;
    if (!plan->axes)
        return execute_combined(machine, plan, run);
    return list_schedule_make(plan, &machine->facts, &schedule)
               ? execute_tiles(machine, plan, &schedule, run)
               : execute_one_by_one(machine, plan, run);
}
