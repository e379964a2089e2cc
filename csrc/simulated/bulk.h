/* Bulk copies into a block's shared memory, and the barriers that are told of them. A copy may be
 * done as soon as it is asked for or as late as nobody can go on without it: an answer that depends
 * on it betrays a wait that is missing. */
#pragma once

#include "common/simulated_words.h"
#include "common/thread_order.h"

struct bulk_copy {
    void *to;
    const void *from;
    unsigned bytes;
    struct simulator_mbarrier *barrier;
};

enum { BULK_COPIES_MAX = 64 };

/* Those that are under way. */
struct bulk_copies {
    struct bulk_copy at[BULK_COPIES_MAX];
    unsigned count;
};

/* At once if threads run forwards, as late as can be if backwards, and else either. */
void bulk_copies_add(struct bulk_copies *, const struct bulk_copy *, enum thread_order,
                     uint64_t *random);

/* Any one of them; false if there is none. */
bool bulk_copies_end_one(struct bulk_copies *, enum thread_order, uint64_t *random);

bool mbarrier_has_ended(const struct simulator_mbarrier *, unsigned parity);
