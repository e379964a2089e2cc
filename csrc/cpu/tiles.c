/* The cost of a fold on one thread is known approximately in advance. Where it is twice as fast,
 * threads join in at twice the length. More threads also pay when reading from memory. */
#include "cpu/tiles.h"

#include "common/arithmetic.h"
#include "common/scratch.h"
#include "run/explanation.h"

#include <fenv.h>

/* Nanoseconds on one thread ("sharing" in benchmarks/tuning/host.json). */
enum {
    SERIAL_TIME = 6000,        /* up to here, a second thread is not worthwhile */
    SERIAL_TIME_ALONG = 20000, /* along axes: data in the caller's cache must be fetched */
    PIECE_TIME = 1200,         /* least length of a piece, so that taking one is negligible */
    WAKE_TIME = 60000,         /* waking sleeping threads takes as long, and costs the caller */
};

/* Picoseconds per byte of elements, per converted 16-bit float, and per result. */
enum { BYTE_COST = 20, HALF_COST = 80, RESULT_COST = 1000 };

/* Pieces of long jobs: enough that threads finish together. */
enum { PIECES = 512 };

static uint64_t element_cost(enum fold fold, enum element input)
{
    const bool half = input == ELEMENT_FLOAT16 || input == ELEMENT_BFLOAT16;
    const uint64_t cost = half ? HALF_COST : BYTE_COST * element_size(input);
    return fold == FOLD_logsumexp                           ? 16 * cost
           : fold_is_variance(fold) || fold == FOLD_summary ? 4 * cost
                                                            : cost;
}

struct sharing sharing_of(enum fold fold, enum element input, enum gathering gathering, bool along,
                          uint64_t n, uint64_t results)
{
    const uint64_t alone = along ? SERIAL_TIME_ALONG : SERIAL_TIME, chunks = ceil_div(n, CHUNK_MAX),
                   cost = element_cost(fold, input) + gathering,
                   each = (cost * CHUNK_MAX + results * RESULT_COST / chunks) / 1000 + 1;
    struct sharing sharing = {.chunks = chunks, .pieces = 1, .brief = chunks * each < WAKE_TIME};
    if (chunks * each > alone) {
        const uint64_t least = ceil_div(PIECE_TIME, each), fair = ceil_div(chunks, PIECES);
        sharing.chunks = least > fair ? least : fair;
        sharing.pieces = ceil_div(chunks, sharing.chunks);
    }
    return sharing;
}

/* ---- tiles ---- */

size_t tiles_aligned(size_t bytes)
{
    enum { CACHE_LINE = 64 };
    return ceil_div(bytes, CACHE_LINE) * CACHE_LINE;
}

static bool report_out_of_memory(struct tiles *self, const char *purpose)
{
    if (self->job->run)
        failure_record(&self->job->run->failure, FAILURE_MEMORY, "out of memory for %s", purpose);
    return false;
}

static size_t tiles_bytes(const struct tiles *self)
{
    return self->threads * self->workspace + self->common;
}

bool tiles_open(struct tiles *self, uint64_t tiles, const char *purpose)
{
    self->threads = threads_for(&self->job->threads, tiles);
    self->workspace = tiles_aligned(self->workspace);
    self->memory = scratch_acquire(tiles_bytes(self));
    return self->memory || report_out_of_memory(self, purpose);
}

void tiles_close(struct tiles *self)
{
    scratch_release(self->memory, tiles_bytes(self));
    if (self->job->run)
        self->job->run->findings |= self->findings & (TILE_OUT_OF_MEMORY - 1);
}

static void process_tile(void *context, uint64_t index, unsigned thread)
{
    struct tiles *self = context;
    const unsigned found =
        self->work(self->context, self->start + index, tiles_workspace(self, thread));
    if (found)
        atomic_fetch_or(&self->findings, found);
}

bool tiles_run(struct tiles *self, uint64_t tiles, tile_function *work, void *context)
{
    const uint64_t poll_interval = self->poll_interval ? self->poll_interval : tiles;
    self->work = work;
    self->context = context;
    for (self->start = 0; self->start < tiles; self->start += poll_interval) {
        const uint64_t count = min_u64(tiles - self->start, poll_interval);
        if (self->start && run_check_interrupt(self->job->run))
            return false;
        fenv_t callers;
        if (self->default_fenv) { /* threads that join in use the caller's environment */
            fegetenv(&callers);
            fesetenv(FE_DFL_ENV);
        }
        if (self->sharing.pieces > 1)
            threads_run(&self->job->threads, count, self->sharing.brief, process_tile, self);
        else
            for (uint64_t k = 0; k < count; k++)
                process_tile(self, k, 0);
        if (self->default_fenv)
            fesetenv(&callers);
    }
    return true;
}

bool tiles_explain(const struct job *job, struct loops loops, uint64_t tiles)
{
    loops.threads = threads_for(&job->threads, tiles);
    loops.instructions = instructions_name(job->instructions);
    job->run->explanation->loops = loops;
    return true;
}

bool tiles_process(struct tiles *self, uint64_t tiles, uint64_t pieces, const char *purpose,
                   tile_function *whole, tile_function *piece, tile_function *finish, void *context)
{
    bool done = tiles_open(self, tiles * pieces, purpose) &&
                tiles_run(self, tiles * pieces, pieces == 1 ? whole : piece, context);
    if (done && pieces > 1) {
        self->sharing.brief = true;
        done = tiles_run(self, tiles, finish, context);
    }
    tiles_close(self);
    return done && (!(self->findings & TILE_OUT_OF_MEMORY) || report_out_of_memory(self, purpose));
}
