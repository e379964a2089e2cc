/* Tiles cost one launch that surveys all offsets and one that merges the tiles' partial results, so
 * few elements are folded segment by segment. */
#include "schedule/segments_schedule.h"

#include "common/arithmetic.h"
#include "schedule/tuning.h"

enum {
    WARP = 5,
    THREAD_ELEMENTS = 4, /* elements per thread */
    TEAM_FACTOR = 2      /* in a segment, a block may take this many times longer than in a tile */
};

/* Bytes per element: `scanned` for what threads scan, and `copied` for what is copied besides.
 * Threads have room for a tile wherever in a pack it begins. Shared memory also holds segment ends,
 * the warps' partial results, and padding to 16-byte boundaries. */
static void shape_tiles(uint64_t all, size_t scanned, size_t copied,
                        const struct segments_tuning *tuning, struct segments_shape *shape)
{
    enum { PACK = 16, BOUNDARIES = 6 };
    const size_t size = scanned + copied;
    const uint64_t most = (((size_t)SCANNED_BYTES << tuning->tiling) - PACK) / scanned + 1;
    shape->tile_block = tuning->tiling;
    shape->tile = (unsigned)min_u64(tuning->tile / size, most);
    shape->tiles = ceil_div(all, shape->tile);
    shape->tile_shared_bytes = ((size_t)SCAN_MARKS << tuning->tiling) + SCAN_OF_WARPS +
                               SCAN_BARRIER + shape->tile * size + SCANNED_BYTES +
                               (size_t)BOUNDARIES * PACK;
}

/* A team has as many threads as a segment of mean length keeps busy. Tiles hold elements if a state
 * fits in an element's place and a thread can mark its own in one word. */
void segments_shape_make(uint64_t segments, uint64_t elements, size_t size, size_t state, bool raw,
                         unsigned multiprocessors, struct segments_shape *shape)
{
    const struct segments_tuning *tuning = &tuned->segments;
    const uint64_t mean = segments ? elements / segments : 0, all = segments + elements;
    const size_t partial = (state > sizeof(uint64_t) ? state : sizeof(uint64_t)) + sizeof(uint32_t);
    unsigned team = 0;
    while (team < WARP && mean >> (team + 1 + tuning->share))
        team++;
    *shape = (struct segments_shape){
        .block = tuning->block,
        .team = team,
        .reads_unconverted =
            raw && state <= size && size >= sizeof(uint32_t) && size <= sizeof(uint64_t),
        .alone = THREAD_ELEMENTS * TEAM_FACTOR * tuning->rounds << team,
        .shared_bytes = partial << tuning->block >> WARP,
    };
    uint64_t blocks = ceil_div(segments, (uint64_t)1 << (tuning->block - team));
    if (all > tuning->few) {
        shape_tiles(all, shape->reads_unconverted ? size : state,
                    shape->reads_unconverted ? 0 : size, tuning, shape);
        const uint64_t tile_blocks = ceil_div(shape->tiles, (uint64_t)1 << (tuning->block - WARP));
        blocks = blocks > tile_blocks ? blocks : tile_blocks;
    }
    shape->grid = min_u64(blocks, (uint64_t)multiprocessors * tuning->blocks);
}

/* ---- the schedule ---- */

static void resolve_offsets(const struct plan *plan, struct transfer *offsets)
{
    struct layout *layout = &offsets->layout;
    *offsets = (struct transfer){.type = ELEMENT_INT64};
    if (plan->segments.offsets) {
        *layout = *plan->segments.offsets;
    } else {
        offsets->uploaded = PART_OFFSETS;
        layout_set_flat(layout, plan->segments.of->offsets, NULL, ELEMENT_INT64,
                        plan->segments.of->count);
    }
    layout->type = ELEMENT_INT64;
    layout_normalise(layout, true);
    if (plan->segments.offsets && !(layout->input == ELEMENT_INT64 && layout_is_flat(layout)))
        offsets->copied = PART_OFFSETS;
}

bool segments_schedule_make(const struct plan *plan, const struct facts *facts,
                            struct segments_schedule *self)
{
    struct segments_shape *shape = &self->shape;
    struct arena *arena = &self->arena;
    bool copies;
    if (plan->exact || reduction_row(plan->reduction)->nothing == NOTHING_nan)
        return false;
    self->each = choice_kernel_along(facts->kernels, KERNEL_SEGMENTS, plan,
                                     plan->elements.flat || !plan->elements.on_device,
                                     &self->accumulator, &copies);
    if (!self->each)
        return false;
    self->input = copies ? self->accumulator : plan->layout->input;
    self->array.layout = *plan->layout;
    transfer_choose(plan, copies, self->accumulator, &self->array);
    layout_normalise(&self->array.layout, true);
    resolve_offsets(plan, &self->offsets);
    const size_t state = state_bytes(plan->fold, self->accumulator);
    segments_shape_make(plan->segments.of->count, plan->n, element_size(self->input), state,
                        self->input == self->accumulator, facts->multiprocessors, shape);
    self->tiles = kernel_of_fold(facts->kernels,
                                 shape->reads_unconverted ? KERNEL_TILES : KERNEL_TILES_OF_STATES,
                                 plan->fold, self->input, self->accumulator, 0);
    *arena = (struct arena){.total = 0};
    arena_reserve_transfer(arena, &self->array);
    arena_reserve_transfer(arena, &self->offsets);
    if (shape->tile) {
        arena_reserve(arena, PART_PARTIALS, 2 * shape->tiles, state);
        arena_reserve(arena, PART_SPLITS, shape->tiles + 2, sizeof(uint64_t));
    }
    return true;
}
