/* The cost of a fold on one thread is known approximately in advance. Where it is twice as fast,
 * threads join in at twice the length. More threads also pay when reading from memory. */
#include "cpu/tiles.h"

#include "common/arithmetic.h"
#include "common/spare.h"
#include "run/explanation.h"

#include <fenv.h>

/* Nanoseconds on one thread ("sharing" in benchmarks/tuning/host.json). */
enum {
    ALONE = 6000,        /* up to here, a second thread is not worthwhile */
    ALONE_ALONG = 20000, /* along axes: data in the caller's cache must be fetched */
    PIECE = 1200,        /* least length of a piece, so that taking one is negligible */
    BRIEF = 60000,       /* waking sleeping threads takes as long, and costs the caller */
};

/* Picoseconds per byte of elements, per converted 16-bit float, and per result. */
enum { BYTE = 20, HALF = 80, RESULT = 1000 };

/* Pieces of long jobs: enough that threads finish together. */
enum { PIECES = 512 };

static uint64_t pace_of(enum fold fold, enum element input)
{
    const bool half = input == ELEMENT_FLOAT16 || input == ELEMENT_BFLOAT16;
    const uint64_t pace = half ? HALF : BYTE * element_size(input);
    return fold == FOLD_logsumexp                           ? 16 * pace
           : fold_is_variance(fold) || fold == FOLD_summary ? 4 * pace
                                                            : pace;
}

struct sharing sharing_of(enum fold fold, enum element input, enum bringing bringing, bool along,
                          uint64_t n, uint64_t results)
{
    const uint64_t alone = along ? ALONE_ALONG : ALONE, chunks = ceil_div(n, LOOP_MOST),
                   pace = pace_of(fold, input) + bringing,
                   each = (pace * LOOP_MOST + results * RESULT / chunks) / 1000 + 1;
    struct sharing sharing = {.chunks = chunks, .pieces = 1, .brief = chunks * each < BRIEF};
    if (chunks * each > alone) {
        const uint64_t least = ceil_div(PIECE, each), fair = ceil_div(chunks, PIECES);
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

static bool lack_memory(struct tiles *self, const char *purpose)
{
    if (self->job->run)
        failure_note(&self->job->run->failure, FAILURE_MEMORY, "out of memory for %s", purpose);
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
    self->memory = spare_take(tiles_bytes(self));
    return self->memory || lack_memory(self, purpose);
}

void tiles_close(struct tiles *self)
{
    spare_give(self->memory, tiles_bytes(self));
    if (self->job->run)
        self->job->run->findings |= self->findings & (TILE_LACKS_MEMORY - 1);
}

static void do_tile(void *context, uint64_t index, unsigned thread)
{
    struct tiles *self = context;
    const unsigned found =
        self->work(self->context, self->start + index, tiles_workspace(self, thread));
    if (found)
        atomic_fetch_or(&self->findings, found);
}

bool tiles_run(struct tiles *self, uint64_t tiles, tile_work *work, void *context)
{
    const uint64_t stretch = self->stretch ? self->stretch : tiles;
    self->work = work;
    self->context = context;
    for (self->start = 0; self->start < tiles; self->start += stretch) {
        const uint64_t count = min_u64(tiles - self->start, stretch);
        if (self->start && run_check_interrupt(self->job->run))
            return false;
        fenv_t callers;
        if (self->plain) { /* threads that join in use the caller's environment */
            fegetenv(&callers);
            fesetenv(FE_DFL_ENV);
        }
        if (self->sharing.pieces > 1)
            threads_run(&self->job->threads, count, self->sharing.brief, do_tile, self);
        else
            for (uint64_t k = 0; k < count; k++)
                do_tile(self, k, 0);
        if (self->plain)
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

bool tiles_do(struct tiles *self, uint64_t tiles, uint64_t pieces, const char *purpose,
              const struct tile_works *works, void *context)
{
    bool done = tiles_open(self, tiles * pieces, purpose) &&
                tiles_run(self, tiles * pieces, pieces == 1 ? works->whole : works->piece, context);
    if (done && pieces > 1) {
        self->sharing.brief = true;
        done = tiles_run(self, tiles, works->finish, context);
    }
    tiles_close(self);
    return done && (!(self->findings & TILE_LACKS_MEMORY) || lack_memory(self, purpose));
}
