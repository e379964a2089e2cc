/* Dot products: of two vectors' elements, multiplied in pairs and added up, in a float's arithmetic
 * or exactly. */
#pragma once

#include "common/exact_sums.h"
#include "common/layout.h"

struct pairs {
    const struct layout *a, *b; /* walked alike, and of one `type`, which elements become */
    uint64_t n;
};

/* Whether elements of a type may be longer than any float's significand. */
static inline bool is_long_integer(enum element type)
{
    return type == ELEMENT_INT64 || type == ELEMENT_UINT64;
}

struct dot;

/* Of the pairs, which have to stay where they are. NULL when memory is short. */
struct dot *dot_begin(void *host, const struct pairs *, bool exactly);
void dot_end(struct dot *);

/* Stretches, but for the last, are whole numbers of these. */
enum { DOT_PIECE = 1 << 14 };

/* Adds the products of pairs `start` to `start + length`, in any order of stretches. */
void dot_add(struct dot *, uint64_t start, uint64_t length);

/* What has been added exactly; normalised. */
void dot_sums(struct dot *, struct exact_sums *);

/* What has been added, exactly, modulo 2^64 or as floats, as a value of that type. */
union scalar dot_result(struct dot *, enum element type);
