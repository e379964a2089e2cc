#include "schedule/arena.h"

const char *part_name(enum part part)
{
    static const char *const names[PARTS] = {
        [PART_ARRAY] = "array",
        [PART_UPLOADED] = "uploaded piece",
        [PART_MASK_BITS] = "mask's bits",
        [PART_MASK] = "mask",
        [PART_COPY] = "working copy",
        [PART_COPIED_MASK] = "working copy's mask",
        [PART_UPLOADED_FACTORS] = "factors' uploaded piece",
        [PART_COPIED_FACTORS] = "factors' working copy",
        [PART_PARTIALS] = "partials",
        [PART_OTHER_PARTIALS] = "other partials",
        [PART_TICKETS] = "tickets",
        [PART_RESULTS] = "results of pieces",
        [PART_COUNTED] = "count",
        [PART_MEANS] = "means",
        [PART_FINDINGS] = "findings",
        [PART_OFFSETS] = "offsets",
        [PART_SPLITS] = "splits",
        [PART_OUT] = "out",
    };
    return names[part];
}

/* The next offset where a part may begin, SIZE_MAX if there is none. */
static size_t aligned(size_t at)
{
    const size_t up = ARENA_ALIGNMENT - 1;
    return at > SIZE_MAX - up ? SIZE_MAX : (at + up) & ~up;
}

void arena_reserve(struct arena *self, enum part part, uint64_t count, size_t size)
{
    size_t bytes, end;
    const size_t at = aligned(self->total);
    if (__builtin_mul_overflow(count, size, &bytes))
        bytes = SIZE_MAX;
    self->at[part] = at;
    self->bytes[part] = bytes;
    self->total = __builtin_add_overflow(at, bytes, &end) ? SIZE_MAX : end;
}

void *arena_part(const struct arena *self, char *memory, enum part part)
{
    return self->bytes[part] ? memory + self->at[part] : NULL;
}
