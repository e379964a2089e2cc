#include "simulated/checker.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unwind.h>

enum {
    WORD_BYTES = 4,
    LOADS_TRACKED = 2,     /* the last loads of a word, by different threads */
    BUDGET = 1 << 20,      /* accesses that any launch may make, */
    BUDGET_PER_WORD = 256, /* and more for each word of its memory */
};

/* The last access of a word, and its time: the block's count of barriers, the lane's count of its
 * warp's barriers, and the grid's counts of atomics and barriers. */
struct last_access {
    unsigned block, thread, barriers, steps, grid_barriers;
    uint64_t atomics;
    enum simulator_event event;
    const char *file; /* NULL: no access */
    unsigned line;
};

struct word {
    struct last_access store, loads[LOADS_TRACKED];
    bool initialized;
};

/* The block that a core runs. */
struct checked_block {
    unsigned number, barriers, grid_barriers;
    struct region shared;
    struct word *words;                  /* of `shared` */
    unsigned steps[SIMULATOR_BLOCK_MAX]; /* warp barriers that each thread has reached */
    unsigned seen[SIMULATOR_BLOCK_MAX][SIMULATOR_WARP]; /* completed steps per lane, as seen */
    struct simulator_access last[SIMULATOR_BLOCK_MAX];
};

struct checker {
    const struct simulator_launch *launch;
    struct regions regions;
    struct fault *fault;
    pthread_mutex_t lock;
    struct word *words[REGIONS_MAX];
    unsigned cores;
    struct checked_block *blocks; /* one per core */
    uint64_t *last_atomics;       /* the last atomic of each block, by block index */
    uint64_t atomics, budget;
};

static size_t words_in(size_t bytes)
{
    return (bytes + WORD_BYTES - 1) / WORD_BYTES;
}

/* ---- opening and closing ---- */

/* NULL if out of memory. */
static struct word *allocate_words(size_t bytes, bool initialized)
{
    struct word *words = calloc(words_in(bytes) + 1, sizeof *words);
    for (size_t w = 0; words && w < words_in(bytes); w++)
        words[w].initialized = initialized;
    return words;
}

static bool allocate_all(struct checker *self)
{
    self->last_atomics = calloc(self->launch->grid, sizeof *self->last_atomics);
    self->blocks = calloc(self->cores, sizeof *self->blocks);
    bool ok = self->last_atomics && self->blocks;
    for (unsigned k = 0; ok && k < self->cores; k++)
        ok = (self->blocks[k].words = allocate_words(self->launch->shared_bytes, false)) != NULL;
    for (unsigned k = 0; ok && k < self->regions.count; k++) {
        const struct region *region = &self->regions.at[k];
        ok = (self->words[k] = allocate_words(region->bytes, region->initialized)) != NULL;
        self->budget += BUDGET_PER_WORD * words_in(region->bytes);
    }
    return ok;
}

struct checker *checker_open(const struct simulator_launch *launch, unsigned cores,
                             const struct regions *regions, struct fault *fault)
{
    struct checker *self = calloc(1, sizeof *self);
    if (!self)
        return NULL;
    *self = (struct checker){
        .launch = launch, .regions = *regions, .fault = fault, .cores = cores, .budget = BUDGET};
    pthread_mutex_init(&self->lock, NULL);
    if (allocate_all(self))
        return self;
    checker_close(self);
    return NULL;
}

void checker_close(struct checker *self)
{
    if (!self)
        return;
    for (unsigned k = 0; k < REGIONS_MAX; k++)
        free(self->words[k]);
    for (unsigned k = 0; self->blocks && k < self->cores; k++)
        free(self->blocks[k].words);
    free(self->blocks);
    free(self->last_atomics);
    pthread_mutex_destroy(&self->lock);
    free(self);
}

void checker_begin_block(struct checker *self, unsigned core, unsigned block, const void *shared)
{
    struct checked_block *at = &self->blocks[core];
    struct word *words = at->words;
    memset(words, 0, words_in(self->launch->shared_bytes) * sizeof *words);
    memset(at, 0, sizeof *at);
    at->number = block;
    at->shared = (struct region){
        .name = "shared element", .at = (uintptr_t)shared, .bytes = self->launch->shared_bytes};
    at->words = words;
}

/* ---- faults ---- */

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static _Unwind_Reason_Code record_frame(struct _Unwind_Context *context, void *kept)
{
    struct fault *fault = kept;
    fault->frames[fault->depth++] = _Unwind_GetIP(context);
    return fault->depth == FRAMES_MAX ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Records the first fault; always returns false. */
static bool fail(struct checker *self, enum fault_kind kind, const char *file, unsigned line,
                 const char *text)
{
    struct fault *fault = self->fault;
    if (fault->kind == FAULT_NONE) {
        *fault = (struct fault){.kind = kind, .file = file, .line = line};
        snprintf(fault->text, sizeof fault->text, "%s", text);
        _Unwind_Backtrace(record_frame, fault);
    }
    return false;
}

static bool is_load(enum simulator_event event)
{
    return event == SIMULATOR_GLOBAL_LOAD || event == SIMULATOR_SHARED_LOAD;
}

static const char *verb(enum simulator_event event)
{
    return event == SIMULATOR_ATOMIC ? "changes" : is_load(event) ? "loads" : "stores";
}

/* The memory of an access, and its thread. */
struct target {
    struct checked_block *block;
    const struct simulator_access *access;
    unsigned tid;
    const struct region *region;
    struct word *words; /* of the region */
    intptr_t offset;
    unsigned element; /* bytes per element; in shared memory, those of the access */
};

/* Reports "thread 3 of block 0 loads element 33 of the array", for example, and the reason. */
static bool fail_access(struct checker *self, enum fault_kind kind, const struct target *target,
                        const char *why)
{
    char text[256];
    snprintf(text, sizeof text, "thread %u of block %u %s %s %lld%s", target->tid,
             target->block->number, verb(target->access->event), target->region->name,
             (long long)target->offset / (long long)target->element, why);
    return fail(self, kind, target->access->file, target->access->line, text);
}

static bool fail_race(struct checker *self, const struct target *target,
                      const struct last_access *before)
{
    char why[160];
    const bool same = before->block == target->block->number;
    snprintf(why, sizeof why, ", which thread %u of block %u %s in %s:%u; %s", before->thread,
             before->block, verb(before->event), base_name(before->file), before->line,
             same ? "no barrier separates them" : "nothing orders the two blocks");
    return fail_access(self, FAULT_RACE, target, why);
}

/* ---- races ---- */

/* Whether two accesses are ordered or harmless. */
static bool is_ordered(const struct checker *self, const struct target *now,
                       const struct last_access *before)
{
    const struct checked_block *here = now->block;
    if (!before->file || before->grid_barriers != here->grid_barriers ||
        (before->event == SIMULATOR_ATOMIC && now->access->event == SIMULATOR_ATOMIC))
        return true;
    if (before->block != here->number)
        return self->last_atomics[before->block] > before->atomics &&
               self->last_atomics[here->number] > before->atomics;
    if (before->thread == now->tid || before->barriers != here->barriers)
        return true;
    return before->thread / SIMULATOR_WARP == now->tid / SIMULATOR_WARP &&
           here->seen[now->tid][before->thread % SIMULATOR_WARP] > before->steps;
}

static bool check_word(struct checker *self, const struct target *target, struct word *word)
{
    const struct checked_block *block = target->block;
    const struct simulator_access *access = target->access;
    const struct last_access now = {.block = block->number,
                                    .thread = target->tid,
                                    .barriers = block->barriers,
                                    .steps = block->steps[target->tid],
                                    .atomics = self->atomics,
                                    .grid_barriers = block->grid_barriers,
                                    .event = access->event,
                                    .file = access->file,
                                    .line = access->line};
    if (!is_ordered(self, target, &word->store))
        return fail_race(self, target, &word->store);
    if (is_load(now.event)) {
        if (!word->initialized)
            return fail_access(self, FAULT_UNWRITTEN, target, ", which is uninitialized");
        struct last_access *loads = word->loads;
        if (loads[0].file && (loads[0].thread != now.thread || loads[0].block != now.block))
            loads[1] = loads[0];
        loads[0] = now;
        return true;
    }
    for (unsigned k = 0; k < LOADS_TRACKED; k++)
        if (!is_ordered(self, target, &word->loads[k]))
            return fail_race(self, target, &word->loads[k]);
    word->store = now;
    word->initialized = true;
    return true;
}

/* ---- accesses ---- */

static size_t distance(const struct region *region, uintptr_t at)
{
    if (at < region->at)
        return region->at - at;
    return at < region->at + region->bytes ? 0 : at - (region->at + region->bytes) + 1;
}

/* Finds shared memory, or the region that contains the address or is nearest to it. */
static void find_target(struct checker *self, struct target *target)
{
    const enum simulator_event event = target->access->event;
    const uintptr_t at = (uintptr_t)target->access->address;
    const struct region *regions = self->regions.at, *shared = &target->block->shared;
    if (event == SIMULATOR_SHARED_LOAD || event == SIMULATOR_SHARED_STORE ||
        (event == SIMULATOR_ATOMIC && at - shared->at < shared->bytes)) {
        target->region = shared;
        target->words = target->block->words;
    } else {
        unsigned nearest = 0;
        for (unsigned k = 1; k < self->regions.count; k++)
            if (distance(&regions[k], at) < distance(&regions[nearest], at))
                nearest = k;
        target->region = &regions[nearest];
        target->words = self->words[nearest];
    }
    target->offset = (intptr_t)(at - target->region->at);
    target->element = target->region == shared ? target->access->bytes : target->region->element;
}

static bool check_access(struct checker *self, struct target *target)
{
    const unsigned bytes = target->access->bytes;
    find_target(self, target);
    const struct region *region = target->region;
    if (target->offset < 0 || (size_t)target->offset + bytes > region->bytes) {
        char why[64];
        snprintf(why, sizeof why, ", of which there are %zu", region->bytes / target->element);
        return fail_access(self, FAULT_BOUNDS, target, why);
    }
    if ((uintptr_t)target->access->address % (bytes & -bytes))
        return fail_access(self, FAULT_ALIGNMENT, target,
                           ": its address is not a multiple of the access's size");
    if (region->read_only && !is_load(target->access->event))
        return fail_access(self, FAULT_BOUNDS, target, ", which is read-only: it is the caller's");
    for (unsigned w = 0; w < words_in(bytes) && !region->is_atomic; w++)
        if (!check_word(self, target, &target->words[target->offset / WORD_BYTES + w]))
            return false;
    return true;
}

static bool check(struct checker *self, struct target *target)
{
    struct checked_block *block = target->block;
    const struct simulator_access *access = target->access;
    if (self->fault->kind != FAULT_NONE) /* all threads stop after the first fault */
        return false;
    block->last[target->tid] = *access;
    if (access->event == SIMULATOR_WARP_BARRIER)
        block->steps[target->tid]++;
    if (self->budget == 0)
        return fail(self, FAULT_ENDLESS, access->file, access->line,
                    "a loop here seems not to terminate");
    self->budget--;
    if (access->event == SIMULATOR_ATOMIC)
        self->last_atomics[block->number] = ++self->atomics;
    return !access->address || check_access(self, target);
}

bool checker_check(struct checker *self, unsigned core, unsigned tid,
                   const struct simulator_access *access)
{
    struct target target = {.block = &self->blocks[core], .access = access, .tid = tid};
    pthread_mutex_lock(&self->lock);
    const bool fine = check(self, &target);
    pthread_mutex_unlock(&self->lock);
    return fine;
}

/* ---- barriers ---- */

void checker_pass_warp_barrier(struct checker *self, unsigned core, unsigned tid, unsigned mask)
{
    struct checked_block *block = &self->blocks[core];
    const unsigned first = tid / SIMULATOR_WARP * SIMULATOR_WARP;
    if (block->last[tid].event != SIMULATOR_WARP_BARRIER)
        return;
    for (unsigned left = mask; left; left &= left - 1) {
        const unsigned lane = (unsigned)__builtin_ctz(left);
        block->seen[tid][lane] = block->steps[first + lane];
    }
}

/* Takes the lock, because other cores may report faults at the same time. */
void checker_report(struct checker *self, unsigned core, unsigned tid, const char *text)
{
    const struct simulator_access *at = &self->blocks[core].last[tid];
    pthread_mutex_lock(&self->lock);
    fail(self, FAULT_BARRIER, at->file, at->line, text);
    pthread_mutex_unlock(&self->lock);
}

/* Threads at different barriers is an error, even if a GPU happens to accept it. */
bool checker_pass_block_barrier(struct checker *self, unsigned core)
{
    struct checked_block *block = &self->blocks[core];
    const struct simulator_access *first = &block->last[0];
    block->barriers++;
    for (unsigned t = 1; t < self->launch->block; t++) {
        const struct simulator_access *other = &block->last[t];
        if (other->line == first->line && strcmp(other->file, first->file) == 0)
            continue;
        char text[256];
        snprintf(text, sizeof text,
                 "thread %u of block %u waits at this barrier, and thread 0 at another, in %s:%u",
                 t, block->number, base_name(first->file), first->line);
        checker_report(self, core, t, text);
        return false;
    }
    return true;
}

void checker_pass_grid_barrier(struct checker *self, unsigned core)
{
    self->blocks[core].grid_barriers++;
}

bool checker_end(struct checker *self)
{
    for (unsigned k = 0; k < self->regions.count; k++) {
        const struct region *region = &self->regions.at[k];
        for (size_t w = 0; region->must_be_written && w < words_in(region->bytes); w++)
            if (!self->words[k][w].initialized) {
                char text[256];
                snprintf(text, sizeof text, "no thread has stored %s %zu", region->name,
                         w * WORD_BYTES / region->element);
                return fail(self, FAULT_MISSING, NULL, 0, text);
            }
    }
    return true;
}
