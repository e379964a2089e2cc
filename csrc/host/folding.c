/* A layout is folded in chunks of fixed length and the chunks' states in turn, so a sum's bits do
 * not depend on the number of threads, and rounding errors grow with the chunk's length and not
 * with the array's. Elements that are not ready for a loop are gathered into a thread's own buffer
 * first, a chunk at a time. */
#include "host/folding.h"

#include "common/arithmetic.h"
#include "host/sharing.h"
#include "run/gather.h"
#include "run/walk.h"
#include "run/watch.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

enum {
    CHUNK = LOOP_MOST,         /* elements folded by one loop */
    STRETCH = 1 << 26,         /* elements folded to one state, and between two thoughts of the
                                  watch */
    GATHERED_STRETCH = 1 << 24 /* the latter where elements are gathered first */
};

/* How a layout's elements come to a loop: as they lie, all or a row at a time, brought together, or
 * converted, too. */
enum way { IN_PLACE, IN_ROWS, GATHERED, CONVERTED };

static bool is_gathered(enum way way)
{
    return way == GATHERED || way == CONVERTED;
}

/* What one thread gathers into. */
struct buffer {
    size_t elements, shown; /* where each begins, bytes */
    size_t bytes;           /* of both */
};

struct folding {
    struct layout layout;
    struct layout mask; /* its bytes as elements, where positions matter */
    enum instructions instructions;
    enum way way;
    bool indexed;     /* positions matter */
    bool by_position; /* and there is a mask: what it hides still counts in positions */
    enum fold fold;
    enum element accumulator;
    fold_values *fold_elements;
    merge_states *merge;
    is_settled *settled; /* NULL: all chunks matter */
    size_t size, width;  /* of an element as a loop takes it and of a state, bytes */
    struct buffer buffer;
    char *buffers;   /* one a thread, in an array */
    uint64_t hidden; /* elements that did not take part so far */
};

/* ---- making one ---- */

static size_t aligned(size_t bytes)
{
    enum { CACHE_LINE = 64 };
    return divide_up(bytes, CACHE_LINE) * CACHE_LINE;
}

static struct buffer describe_buffer(const struct folding *self)
{
    struct buffer buffer = {0};
    if (!is_gathered(self->way))
        return buffer;
    buffer.shown = buffer.elements + aligned(CHUNK * self->size);
    buffer.bytes = buffer.shown + (self->by_position ? aligned(CHUNK) : 0);
    return buffer;
}

/* A loop that converts on the way; NULL: there is none. */
static fold_values *direct_loop(const struct plan *plan, enum instructions instructions)
{
    return loop_of_elements(instructions, plan->fold, plan->layout->input, plan->layout->type);
}

/* Whether rows are ready for a loop, and so long that to begin with each costs little. */
static bool has_long_rows(const struct layout *layout)
{
    enum { LONG = 960 }; /* bytes */
    const size_t size = element_size(layout->input);
    const unsigned inner = layout->dimensions - 1;
    if (layout->swapped || layout->mask || layout->dimensions == 0)
        return false;
    uintptr_t aligned = (uintptr_t)layout->data;
    for (unsigned k = 0; k < inner; k++)
        aligned |= (uintptr_t)layout->strides[k];
    return aligned % size == 0 && layout->strides[inner] == (int64_t)size &&
           layout->shape[inner] * size >= LONG;
}

static enum way way_of(const struct plan *plan, fold_values *direct)
{
    if (!direct)
        return CONVERTED;
    if (plan->flat)
        return IN_PLACE;
    return has_long_rows(plan->layout) ? IN_ROWS : GATHERED;
}

static void describe_folding(struct folding *self, const struct job *job)
{
    const struct plan *plan = job->plan;
    const struct layout *layout = plan->layout;
    fold_values *const direct = direct_loop(plan, job->instructions);
    self->layout = *layout;
    self->instructions = job->instructions;
    self->way = way_of(plan, direct);
    self->indexed = fold_is_indexed(plan->fold);
    self->by_position = layout->mask && self->indexed;
    if (self->by_position) {
        self->mask = layout_of_its_mask(layout);
        self->layout.mask = NULL;
    }
    self->fold = plan->fold;
    self->accumulator = plan->accumulator;
    self->fold_elements =
        direct ? direct : loop_of_values(job->instructions, plan->fold, plan->accumulator);
    self->merge = loop_of_states(plan->fold, plan->accumulator);
    self->settled = layout->mask ? NULL : settling_of(plan->reduction, layout->type);
    self->size = element_size(direct ? layout->input : plan->accumulator);
    self->width = state_bytes(plan->fold, plan->accumulator);
    self->buffer = describe_buffer(self);
}

/* ---- a chunk ---- */

static uint64_t bring_together(const struct folding *self, uint64_t start, uint64_t n, void *target)
{
    return self->way == CONVERTED
               ? gather(self->instructions, &self->layout, start, n, target)
               : gather_unconverted(self->instructions, &self->layout, start, n, target);
}

/* Folds the elements that the mask lets through, and returns how many there are. */
static uint64_t fold_gathered(const struct folding *self, char *buffer, uint64_t start, uint64_t n,
                              void *state)
{
    void *const elements = buffer + self->buffer.elements;
    const uint64_t kept = bring_together(self, start, n, elements);
    if (kept)
        self->fold_elements(elements, kept, start, state);
    else
        state_identity(self->fold, self->accumulator, state);
    return kept;
}

/* The first place from `at` on where the mask shows an element, or hides one; n: there is none. */
static uint64_t find(const unsigned char *shown, uint64_t at, uint64_t n, bool wanted)
{
    while (at < n && (shown[at] != 0) != wanted)
        at++;
    return at;
}

/* The same where positions matter: the elements between two hidden ones are folded by themselves,
 * from where they are in the array. */
static uint64_t fold_runs(const struct folding *self, char *buffer, uint64_t start, uint64_t n,
                          void *state)
{
    uint64_t kept = 0;
    char *const elements = buffer + self->buffer.elements;
    unsigned char *const shown = (unsigned char *)buffer + self->buffer.shown;
    bring_together(self, start, n, elements);
    gather_unconverted(self->instructions, &self->mask, start, n, shown);
    for (uint64_t end, at = find(shown, 0, n, true); at < n; at = find(shown, end, n, true)) {
        end = find(shown, at, n, false);
        self->fold_elements(elements + at * self->size, end - at, start + at, state);
        kept += end - at;
    }
    return kept;
}

/* One row after the other, or what the chunk has of it. */
static void fold_rows(const struct folding *self, uint64_t start, uint64_t n, void *state)
{
    _Alignas(STATE_ALIGNMENT) char states[2 * STATE_BYTES_MAX];
    char *next = self->indexed ? state : states;
    struct walk walk;
    walk_start(&walk, &self->layout, start, n);
    while (walk.left) {
        const uint64_t at = start + n - walk.left;
        const struct tile row = walk_next(&walk, least(walk.left, walk.whole.columns));
        self->fold_elements(row.at, row.columns, at, next);
        if (next == states)
            next += self->width;
        else if (!self->indexed)
            self->merge(states, 2);
    }
    if (!self->indexed)
        memcpy(state, states, self->width);
}

static uint64_t fold_chunk(const struct folding *self, char *buffer, uint64_t start, uint64_t n,
                           void *state)
{
    if (self->by_position)
        return fold_runs(self, buffer, start, n, state);
    if (is_gathered(self->way))
        return fold_gathered(self, buffer, start, n, state);
    if (self->way == IN_ROWS)
        fold_rows(self, start, n, state);
    else
        self->fold_elements((const char *)self->layout.data + start * self->size, n, start, state);
    return n;
}

/* ---- many chunks ---- */

static struct sharing sharing_for(const struct plan *plan, enum way way, uint64_t n)
{
    return sharing_of(plan->fold, plan->layout->input, is_gathered(way), n);
}

static uint64_t chunks_of(uint64_t n)
{
    return divide_up(n, CHUNK);
}

/* Elements that are folded without a thought of the watch. */
struct part {
    const struct folding *folding;
    uint64_t start, n, chunks; /* the last: in each of its pieces */
    char *states;
    _Atomic uint64_t matter; /* chunks; those behind them make no difference any more */
    _Atomic uint64_t hidden; /* elements that did not take part */
};

/* The chunks up to this one are enough. */
static void note_enough(struct part *part, uint64_t chunk)
{
    uint64_t matter = atomic_load_explicit(&part->matter, memory_order_relaxed);
    while (chunk + 1 < matter && !atomic_compare_exchange_weak(&part->matter, &matter, chunk + 1))
        ;
}

static bool matters(struct part *part, uint64_t chunk)
{
    return chunk < atomic_load_explicit(&part->matter, memory_order_relaxed);
}

/* Where positions matter, what a piece has found goes from one chunk to the next. */
static void fold_piece(void *context, uint64_t index, unsigned thread)
{
    struct part *part = context;
    const struct folding *self = part->folding;
    char *const buffer = self->buffers + thread * self->buffer.bytes;
    const uint64_t first = index * part->chunks, end = first + part->chunks;
    char *state = part->states + first * self->width;
    uint64_t hidden = 0;
    if (self->indexed)
        state_identity(self->fold, self->accumulator, state);
    for (uint64_t chunk = first; chunk < end && matters(part, chunk);
         chunk++, state += self->width) {
        const uint64_t at = chunk * CHUNK, n = least(part->n - at, CHUNK);
        if (self->indexed && chunk > first)
            memcpy(state, state - self->width, self->width);
        hidden += n - fold_chunk(self, buffer, part->start + at, n, state);
        if (self->settled && self->settled(state, n))
            note_enough(part, chunk);
    }
    if (hidden) /* else threads would wait for one another */
        atomic_fetch_add_explicit(&part->hidden, hidden, memory_order_relaxed);
}

static uint64_t part_length(enum way way)
{
    return is_gathered(way) ? GATHERED_STRETCH : STRETCH;
}

/* Folds a stretch's elements; the result is the first of the states. *over: what lies behind makes
 * no difference. */
static bool fold_stretch(struct job *job, struct folding *self, uint64_t start, uint64_t n,
                         char *states, bool *over)
{
    uint64_t chunks = 0;
    *over = false;
    for (uint64_t at = 0; at < n && !*over; at += part_length(self->way)) {
        if ((start || at) && watch_interrupted_lately(job->run, &job->asked))
            return false;
        const uint64_t length = least(n - at, part_length(self->way));
        const struct sharing sharing = sharing_for(job->plan, self->way, length);
        struct part part = {.folding = self,
                            .start = start + at,
                            .n = length,
                            .chunks = sharing.chunks,
                            .states = states + at / CHUNK * self->width,
                            .matter = chunks_of(length)};
        threads_run(job->threads, sharing.pieces, sharing.brief, fold_piece, &part);
        self->hidden += part.hidden;
        chunks = at / CHUNK + part.matter;
        *over = part.matter < chunks_of(length);
    }
    self->merge(states, chunks);
    return true;
}

/* Stretches, and then the states that they leave. */
static bool fold_stretches(struct job *job, struct folding *self, char *states, char *of_chunks)
{
    const uint64_t n = job->plan->n;
    uint64_t stretches = 0;
    bool over = false;
    for (uint64_t start = 0; start < n && !over; start += STRETCH) {
        if (!fold_stretch(job, self, start, least(n - start, STRETCH), of_chunks, &over))
            return false;
        memcpy(states + stretches++ * self->width, of_chunks, self->width);
    }
    self->merge(states, stretches);
    return true;
}

/* ---- memory ---- */

/* Room for the states of all stretches, for those of a stretch's chunks, and for a buffer a thread:
 * from the heap, since a thread of the user's may have a stack of any size. */
static bool fold_in_memory(struct job *job, struct folding *self, void *state)
{
    const uint64_t n = job->plan->n, stretches = divide_up(n, STRETCH);
    const struct sharing sharing =
        sharing_for(job->plan, self->way, least(n, part_length(self->way)));
    const unsigned threads = threads_for(job->threads, sharing.pieces);
    const size_t of_stretches = aligned(stretches * self->width),
                 of_chunks = aligned(chunks_of(least(n, STRETCH)) * self->width);
    char *const memory =
        aligned_alloc(aligned(1), of_stretches + of_chunks + threads * self->buffer.bytes);
    if (!memory) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    self->buffers = memory + of_stretches + of_chunks;
    const bool folded = fold_stretches(job, self, memory, memory + of_stretches);
    if (folded)
        memcpy(state, memory, self->width);
    free(memory);
    return folded;
}

/* One chunk that lies ready takes no memory. */
static bool fold_at_once(const struct job *job, void *state)
{
    const struct plan *plan = job->plan;
    fold_values *const fold =
        plan->flat && plan->n <= CHUNK ? direct_loop(plan, job->instructions) : NULL;
    if (!fold)
        return false;
    if (fold_is_indexed(plan->fold))
        state_identity(plan->fold, plan->accumulator, state);
    fold(plan->layout->data, plan->n, 0, state);
    return true;
}

/* Nor do a few of them, where no thread is to be woken for their sake. */
static bool fold_few(const struct job *job, void *state)
{
    enum { FEW = 16 };
    _Alignas(STATE_ALIGNMENT) char states[FEW * STATE_BYTES_MAX];
    const uint64_t n = job->plan->n, chunks = chunks_of(n);
    struct folding self;
    if (chunks > FEW || sharing_for(job->plan, IN_PLACE, n).pieces > 1)
        return false;
    describe_folding(&self, job);
    if (self.way != IN_PLACE)
        return false;
    self.buffers = states; /* none is needed */
    struct part part = {
        .folding = &self, .n = n, .chunks = chunks, .states = states, .matter = chunks};
    fold_piece(&part, 0, 0);
    self.merge(states, part.matter);
    memcpy(state, states, self.width);
    return true;
}

bool folding_run(struct job *job, void *state, uint64_t *count)
{
    const struct plan *plan = job->plan;
    *count = plan->n;
    if (plan->n == 0) {
        state_identity(plan->fold, plan->accumulator, state);
        return true;
    }
    if (fold_at_once(job, state) || fold_few(job, state))
        return true;
    struct folding *self = calloc(1, sizeof *self);
    if (!self) {
        failure_note(&job->run->failure, FAILURE_MEMORY, "out of memory for partials");
        return false;
    }
    describe_folding(self, job);
    const bool folded = fold_in_memory(job, self, state);
    *count -= self->hidden;
    free(self);
    return folded;
}

bool folding_is_short(const struct plan *plan)
{
    /* Any instructions have the same loops. */
    return direct_loop(plan, INSTRUCTIONS_baseline) &&
           sharing_for(plan, IN_PLACE, plan->n).pieces == 1;
}

void folding_explain(const struct job *job, struct loops *loops)
{
    static const char *const ways[] = {[IN_PLACE] = "as it lies",
                                       [IN_ROWS] = "row by row, as it lies",
                                       [GATHERED] = "gathered first",
                                       [CONVERTED] = "gathered first, and converted"};
    const struct plan *plan = job->plan;
    const enum way way = way_of(plan, direct_loop(plan, job->instructions));
    const uint64_t n = plan->n ? least(plan->n, part_length(way)) : 1;
    *loops = (struct loops){.way = ways[way],
                            .chunk = CHUNK,
                            .threads = threads_for(job->threads, sharing_for(plan, way, n).pieces),
                            .instructions = instructions_name(job->instructions)};
}
