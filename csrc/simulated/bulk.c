#include "simulated/bulk.h"

#include "simulated/random.h"

#include <string.h>

/* ---- barriers ---- */

void simulator_mbarrier_init(struct simulator_mbarrier *self, unsigned arrivals)
{
    *self = (struct simulator_mbarrier){.arrivals = arrivals, .left = arrivals};
}

static void end_phase_if_complete(struct simulator_mbarrier *self)
{
    if (self->left || self->bytes)
        return;
    self->left = self->arrivals;
    self->parity ^= 1;
}

void simulator_mbarrier_arrive(struct simulator_mbarrier *self, unsigned bytes)
{
    self->bytes += (int32_t)bytes;
    self->left--;
    end_phase_if_complete(self);
}

bool mbarrier_has_ended(const struct simulator_mbarrier *self, unsigned parity)
{
    return self->parity != parity;
}

/* ---- copies ---- */

static void end(const struct bulk_copy *copy)
{
    memcpy(copy->to, copy->from, copy->bytes);
    copy->barrier->bytes -= (int32_t)copy->bytes;
    end_phase_if_complete(copy->barrier);
}

void bulk_copies_add(struct bulk_copies *self, const struct bulk_copy *copy)
{
    if (self->count == BULK_COPIES_MAX)
        bulk_copies_end_any(self);
    self->at[self->count++] = *copy;
}

bool bulk_copies_end_any(struct bulk_copies *self)
{
    if (self->count == 0)
        return false;
    const uint64_t any = random_next(&self->random) % self->count;
    const struct bulk_copy copy = self->at[any];
    self->at[any] = self->at[--self->count];
    end(&copy);
    return true;
}
