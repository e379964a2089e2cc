/* Bulk copies into a block's shared memory that are under way, and the barriers that are told of
 * them. */
#pragma once

#include "common/simulated_words.h"

struct bulk_copy {
    void *to;
    const void *from;
    unsigned bytes;
    struct simulator_mbarrier *barrier;
};

enum { BULK_COPIES_MAX = 64 };

struct bulk_copies {
    struct bulk_copy at[BULK_COPIES_MAX];
    unsigned count;
    uint64_t random;
};

void bulk_copies_add(struct bulk_copies *, const struct bulk_copy *);

/* Does any one of them; false if there is none. */
bool bulk_copies_end_any(struct bulk_copies *);

bool mbarrier_has_ended(const struct simulator_mbarrier *, unsigned parity);
