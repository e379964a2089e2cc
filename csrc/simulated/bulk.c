#include "simulated/bulk.h"

#include "simulated/random.h"

#include <string.h>

/* ---- barriers ---- */

void simulator_mbarrier_init(struct simulator_mbarrier *self, unsigned arrivals)
{
    *self = (struct simulator_mbarrier){.arrivals = (uint16_t)arrivals,
                                        .left = (uint16_t)(arrivals & 0x7fff)};
}

static void end_phase_if_complete(struct simulator_mbarrier *self)
{
    if (self->left || self->bytes)
        return;
    self->left = self->arrivals & 0x7fff;
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

void bulk_copies_add(struct bulk_copies *self, const struct bulk_copy *copy,
                     enum thread_order order, uint64_t *random)
{
    if (order == ORDER_FORWARDS || (order == ORDER_SHUFFLED && random_next(random) % 2)) {
        end(copy);
        return;
    }
    if (self->count == BULK_COPIES_MAX)
        bulk_copies_end_one(self, order, random);
    self->at[self->count++] = *copy;
}

bool bulk_copies_end_one(struct bulk_copies *self, enum thread_order order, uint64_t *random)
{
    if (self->count == 0)
        return false;
    const uint64_t any = order == ORDER_SHUFFLED ? random_next(random) % self->count : 0;
    const struct bulk_copy copy = self->at[any];
    self->at[any] = self->at[--self->count];
    end(&copy);
    return true;
}
