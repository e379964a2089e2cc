/* The one piece of device memory that a run works in: its parts, one after the other, each where
 * the hardware likes memory to begin. Offsets only; nothing here allocates. */
#pragma once

#include <stddef.h>
#include <stdint.h>

/* What steps read and write. */
enum part {
    PART_ARRAY,            /* the caller's own, and so never a part of the arena */
    PART_UPLOADED,         /* a piece of a host array */
    PART_MASK_BITS,        /* a host's mask, eight elements a byte */
    PART_MASK,             /* the same, a byte an element */
    PART_COPY,             /* the working copy, in the accumulator's type */
    PART_COPIED_MASK,      /* a byte for each of its values */
    PART_UPLOADED_FACTORS, /* the same of what elements are multiplied with */
    PART_COPIED_FACTORS,
    PART_PARTIALS,       /* states, one a block; passes alternate between two buffers */
    PART_OTHER_PARTIALS, /* the second of them */
    PART_TICKETS,        /* a counter of blocks, 0 before and after a launch */
    PART_RESULTS,        /* states, one a piece */
    PART_COUNTED,        /* how many elements a mask lets through */
    PART_MEANS,          /* what results along axes are about, where that is given */
    PART_FINDINGS,       /* what is to be said of results along axes */
    PART_OFFSETS,        /* where segments begin, if they were elsewhere or of another type */
    PART_SPLITS,         /* of segments: where tiles begin, and last whether offsets rise */
    PART_OUT,            /* where the result is to stay: the caller's; or results along axes */
    PARTS
};

enum { ARENA_ALIGNMENT = 256 };

struct arena {
    size_t at[PARTS], bytes[PARTS]; /* 0 bytes: there is no such part */
    size_t total;                   /* SIZE_MAX: more than any memory holds */
};

const char *part_name(enum part);

/* Gives a part `count` times `size` bytes, after all that have some. */
void arena_reserve(struct arena *, enum part, uint64_t count, size_t size);

/* Where a part is, once the arena has its memory; NULL: there is no such part. */
void *arena_part(const struct arena *, char *memory, enum part part);
