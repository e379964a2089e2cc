/* Exact sums, counts and extremes by key on a device: see kernel_keys. The digits of sums first
 * cover numbers near a sample's largest; if some do not fit, all numbers of the type. */
#include "common/arithmetic.h"
#include "run/execute.h"
#include "run/result.h"

enum { DIGIT_BITS = 32, SLOTS = 4096, ALIGNMENT = 16 };

struct keys_execution {
    struct executor exec;
    struct arena arena;
    struct kernel_keys keys;
    enum element accumulator; /* type that elements are converted to */
    struct transfer array, key_array;
    const void *kernel;
};

/* ---- numbers ---- */

/* Chooses the number of digits, the topmost of which takes up carries, and the bits per number that
 * n numbers may have. A float's last bit is at least 2^lowest, its first below 2^greatest. */
static void choose_digits(struct keys_execution *self, bool whole)
{
    enum { DIGITS_FLOAT32 = 3, DIGITS_FLOAT64 = 4, DIGITS_INT64 = 2, SIGN_BITS = 2 };
    const struct plan *plan = self->exec.plan;
    const enum element input = self->keys.of.input;
    struct keyed_sums *sums = &self->keys.sums;
    sums->whole = whole || input == ELEMENT_FLOAT16;
    sums->limit = 0;
    sums->lowest = 0;
    if (plan->fold == FOLD_nonzero || fold_is_extreme(plan->fold)) {
        sums->digits = 0;
    } else if (self->accumulator == ELEMENT_INT64) {
        sums->whole = true;
        sums->digits = plan->exact ? DIGITS_INT64 + 1 : DIGITS_INT64;
    } else {
        const bool wide = input == ELEMENT_FLOAT64, narrow = input == ELEMENT_FLOAT16;
        const int greatest = wide ? 1024 : narrow ? 16 : 128;
        sums->lowest = wide ? -1074 : narrow ? -47 : -149;
        const unsigned full = (unsigned)ceil_div((uint64_t)(greatest - sums->lowest), DIGIT_BITS);
        sums->digits = sums->whole                            ? full + 1
                       : self->accumulator == ELEMENT_FLOAT64 ? DIGITS_FLOAT64
                                                              : DIGITS_FLOAT32;
        sums->limit =
            sums->digits * DIGIT_BITS - SIGN_BITS - (64 - (unsigned)__builtin_clzll(plan->n | 1));
    }
}

/* ---- memory ---- */

/* Elements that are not contiguous are copied. */
static struct transfer transfer_if_not_flat(const struct layout *layout, enum part copied)
{
    struct transfer transfer = {.layout = *layout, .type = layout->input};
    layout_normalise(&transfer.layout, true);
    if (!layout_is_flat(&transfer.layout)) {
        transfer.copied = copied;
        transfer.type = widest_accumulator(layout->input);
    }
    return transfer;
}

static void set_arguments(struct keys_execution *self)
{
    const struct plan *plan = self->exec.plan;
    const uint64_t rows = layout_length(plan->segments.keys);
    const bool mean = reduction_row(plan->reduction)->nothing == NOTHING_nan;
    self->keys = (struct kernel_keys){
        .of = {.n = plan->n, .width = rows ? plan->n / rows : 1},
        .sums = {.counts = mean || plan->fold == FOLD_nonzero || fold_is_extreme(plan->fold),
                 .skips_nan = plan->fold == FOLD_nansum || plan->fold == FOLD_nanmin ||
                              plan->fold == FOLD_nanmax,
                 .least = plan->fold == FOLD_min || plan->fold == FOLD_nanmin,
                 .wraps = !plan->exact,
                 .out_bytes = (unsigned)element_size(plan->results.types[0])},
        .results = plan->segments.of->count,
        .outside = plan->segments.drops ? 0 : FOUND_OUTSIDE,
    };
    self->keys.keys_end = self->keys.results / self->keys.of.width;
    self->array = transfer_if_not_flat(plan->layout, PART_COPY);
    self->key_array = transfer_if_not_flat(plan->segments.keys, PART_OFFSETS);
    self->keys.of.input = self->array.type;
    self->keys.of.key_type = self->key_array.type;
    arena_reserve_transfer(&self->arena, &self->array);
    arena_reserve_transfer(&self->arena, &self->key_array);
    self->accumulator = element_is_integer(self->keys.of.input)  ? ELEMENT_INT64
                        : self->keys.of.input == ELEMENT_FLOAT64 ? ELEMENT_FLOAT64
                                                                 : ELEMENT_FLOAT32;
    self->keys.of.bytes = trailing_zeros(element_size(self->keys.of.input));
    self->keys.of.key_bytes = trailing_zeros(element_size(self->keys.of.key_type));
    self->kernel = kernel_of_fold(self->exec.machine->facts.kernels,
                                  fold_is_extreme(plan->fold) ? KERNEL_KEYS_EXTREMES : KERNEL_KEYS,
                                  plan->fold, self->keys.of.input, self->accumulator, 0);
}

static bool transfer_keyed(struct keys_execution *self)
{
    struct kernel_keys *keys = &self->keys;
    const struct executor *exec = &self->exec;
    if (!executor_transfer(exec, &self->array) || !executor_transfer(exec, &self->key_array))
        return false;
    keys->of.data = self->array.layout.data;
    keys->of.keys = self->key_array.layout.data;
    keys->of.aligned = ((uintptr_t)keys->of.data | (uintptr_t)keys->of.keys) % ALIGNMENT == 0;
    return true;
}

/* ---- launches ---- */

/* A table of all results if there are more elements than these; else as many tagged slots as fit
 * twice per multiprocessor. */
static size_t choose_table(struct keys_execution *self)
{
    struct kernel_keys *keys = &self->keys;
    const size_t slot_bytes = (keys->sums.digits + keys->sums.counts) * sizeof(uint32_t),
                 limit = self->exec.machine->facts.shared_bytes,
                 room = limit / 2 / (slot_bytes + sizeof(uint32_t)),
                 sample = (KEYS_SAMPLE + 32) * sizeof(uint32_t);
    size_t bytes = keys->results * slot_bytes;
    keys->slots = (unsigned)keys->results;
    if (bytes > limit || keys->results > keys->of.n) {
        keys->slots = SLOTS;
        while (keys->slots > room)
            keys->slots /= 2;
        bytes = keys->slots * (slot_bytes + sizeof(uint32_t));
    }
    return bytes > sample ? bytes : sample;
}

static bool launch_accumulate(struct keys_execution *self)
{
    const struct facts *facts = &self->exec.machine->facts;
    const size_t shared_bytes = fold_is_extreme(self->exec.plan->fold) ? 0 : choose_table(self);
    uint64_t most;
    if (!facts_resident(facts, self->kernel, 1u << KEYS_BLOCK, shared_bytes, &most))
        return false;
    const uint64_t blocks = ceil_div(self->keys.of.n, KEYS_PER_LOAD << KEYS_BLOCK);
    const struct step step =
        launch_step(self->kernel, min_u64(blocks, most), 1u << KEYS_BLOCK, shared_bytes);
    void *arguments[] = {&self->keys};
    return self->keys.of.n == 0 || executor_launch(&self->exec, &step, arguments);
}

/* As it starts, this launch posts what the adding launch found. */
static bool launch_finish(struct keys_execution *self, struct epilogue epilogue)
{
    enum { BLOCK = 256 };
    const struct plan *plan = self->exec.plan;
    const bool sums = !fold_is_extreme(plan->fold);
    const struct step step =
        launch_step(kernel_of_kind(self->exec.machine->facts.kernels,
                                   sums ? KERNEL_KEYS_FINISH : KERNEL_KEYS_STORE),
                    ceil_div(self->keys.results, BLOCK), BLOCK, 0);
    void *out = plan->results.at[0];
    enum element out_type = plan->results.types[0],
                 type = self->keys.of.input == ELEMENT_UINT64 ? ELEMENT_UINT64 : self->accumulator;
    struct exact_result result = step_exact_result(plan, type, out, plan->n);
    struct scalar_wide empty_result = scalar_widen(run_empty_value(plan), plan->results.type);
    void *sum_arguments[] = {&self->keys, &result, &epilogue},
         *extreme_arguments[] = {&self->keys, &type, &out_type, &out, &empty_result, &epilogue};
    return executor_launch(&self->exec, &step, sums ? sum_arguments : extreme_arguments);
}

/* A result's words are adjacent if all words fit into a GPU's cache. Returns the words' bytes. */
static size_t choose_word_layout(struct kernel_keys *keys)
{
    enum { CACHED = 32 << 20 };
    const uint64_t per_result = (keys->sums.digits ? keys->sums.digits - 1 : 0) + keys->sums.counts;
    const size_t bytes = keys->results * per_result * sizeof *keys->words;
    keys->word_step = bytes <= CACHED ? 1 : keys->results;
    keys->result_step = bytes <= CACHED ? per_result : 1;
    return bytes;
}

/* Words, notes and findings start as zeros. */
static bool accumulate_and_finish(struct keys_execution *self, bool whole, unsigned *found)
{
    struct machine *machine = self->exec.machine;
    struct kernel_keys *keys = &self->keys;
    struct epilogue epilogue = {.mailbox = NULL};
    choose_digits(self, whole);
    const size_t words = choose_word_layout(keys), notes = keys->results * sizeof *keys->notes,
                 bytes = words + sizeof *keys->found + notes;
    void *memory = NULL;
    if (!executor_is_within_limit(machine, self->exec.run, bytes + self->arena.total,
                                  "the call by key") ||
        !machine->memory->acquire(machine, bytes, &memory))
        return false;
    keys->words = memory;
    keys->found = (struct keys_found *)((char *)memory + words);
    keys->notes = (unsigned *)(keys->found + 1);
    bool done = machine->memory->clear(machine, memory, bytes) && launch_accumulate(self);
    if (done && machine->mailbox)
        epilogue = mailbox_next(machine->mailbox, sizeof *found);
    done = done && launch_finish(self, epilogue) &&
           (epilogue.mailbox ||
            machine->memory->copy(machine, COPY_TO_HOST, found, &keys->found->bits, sizeof *found));
    machine->memory->release(machine, memory); /* in stream order */
    return done && (!epilogue.mailbox || executor_receive(&self->exec, found));
}

static bool run_keys(struct executor *exec, void *context)
{
    struct keys_execution *self = context;
    unsigned found;
    if (!transfer_keyed(self) || !accumulate_and_finish(self, false, &found) ||
        (found & KEYS_OVERFLOW && !accumulate_and_finish(self, true, &found)))
        return false;
    exec->run->findings |= found & ~(unsigned)KEYS_OVERFLOW;
    return true;
}

bool execute_keys(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct keys_execution self = {.exec = {machine, run, plan, &self.arena, NULL}};
    set_arguments(&self);
    return executor_run(&self.exec, run_keys, &self);
}

/* ---- quantiles of rows: see kernel_select ---- */

struct selection {
    struct executor exec;
    struct arena arena;
    struct kernel_select select;
    struct step step;
};

/* Few threads share a short row, so that many rows are in flight. If rows are few and long, all
 * blocks process one after the other, since a pass then takes only as long as a barrier ("together"
 * in benchmarks/tuning/selection.json). */
static bool configure(struct selection *self)
{
    enum { GRID_MOST = 1 << 30, SHORT = 256, LONG = 4096, TOGETHER = 1 << 14 };
    const struct facts *facts = &self->exec.machine->facts;
    const struct kernel_select *select = &self->select;
    const uint64_t limit = self->exec.run->workspace_limit;
    const bool sorts = select_sorts(select);
    const void *kernel = kernel_of_fold(facts->kernels, KERNEL_SELECT, FOLDS, select->of.input,
                                        ELEMENTS, sorts ? (unsigned)select->n : 0);
    if (sorts) {
        self->step = launch_step(kernel, ceil_div(select->rows, SELECT_SORTERS), SELECT_SORTERS, 0);
        return true;
    }
    const unsigned block = select->n <= SHORT ? 32 : select->n <= LONG ? 128 : 512;
    self->step = launch_step(kernel, min_u64(select->rows, GRID_MOST), block,
                             SELECT_WORDS * sizeof(uint32_t));
    if (select->of.sorted || select->n / TOGETHER < select->rows)
        return true;
    const uint64_t passes =
        select->rows * SELECT_PASSES(select->of.count, element_size(select->of.input));
    const size_t pass_bytes = SELECT_PASS_WORDS * sizeof(uint32_t);
    if (limit && passes * pass_bytes > limit)
        return true; /* one block per row needs no workspace */
    arena_reserve(&self->arena, PART_TICKETS, passes, pass_bytes);
    self->step.cooperative = true;
    uint64_t most;
    if (!facts_resident(facts, self->step.kernel, self->step.block, self->step.shared_bytes, &most))
        return false;
    self->step.grid = min_u64(ceil_div(select->n, self->step.block), most);
    return true;
}

static bool launch_select(struct executor *exec, void *context)
{
    struct selection *self = context;
    struct kernel_select *select = &self->select;
    void *arguments[] = {select};
    select->passes = executor_part(exec, PART_TICKETS);
    select->values = exec->plan->layout->data;
    select->out = exec->plan->results.at[0];
    select->of.out = exec->plan->results.types[0];
    select->out_bytes = (unsigned)element_size(select->of.out);
    return executor_clear(exec, PART_TICKETS) && executor_launch(exec, &self->step, arguments);
}

bool execute_select(struct machine *machine, const struct plan *plan, struct run *run)
{
    struct selection self = {.exec = {machine, run, plan, &self.arena, NULL},
                             .select = *plan->segments.quantiles};
    return plan->n == 0 || (configure(&self) && executor_run(&self.exec, launch_select, &self));
}
