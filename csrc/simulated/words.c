/* The CUDA words of kernels on the simulated device, called by the running thread. */
#define _GNU_SOURCE

#include "simulated/block.h"
#include "simulated/checker.h"

#include <string.h>

/* ---- bulk copies and their barriers ---- */

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

bool bulk_copies_complete_one(struct bulk_copies *self)
{
    if (self->count == 0)
        return false;
    const uint64_t any = random_next(&self->random) % self->count;
    const struct bulk_copy copy = self->at[any];
    self->at[any] = self->at[--self->count];
    memcpy(copy.to, copy.from, copy.bytes);
    copy.barrier->bytes -= (int32_t)copy.bytes;
    end_phase_if_complete(copy.barrier);
    return true;
}

/* ---- indices and barriers ---- */

const struct simulator_place *simulator_here(void)
{
    return &thread_running()->place;
}

void *simulator_shared_memory(void)
{
    return thread_running()->sm->shared;
}

/* Separate from simulator_barrier_block_or: having no frame, it saves a cache miss per fiber. */
void simulator_barrier_block(void)
{
    thread_wait_at(AT_BLOCK_BARRIER);
}

bool simulator_barrier_block_or(bool vote)
{
    struct multiprocessor *sm = thread_running()->sm;
    sm->voted |= vote;
    thread_wait_at(AT_BLOCK_BARRIER);
    return sm->vote_result;
}

void simulator_barrier_warp(unsigned mask)
{
    struct thread *self = thread_running();
    const unsigned tid = self->place.thread.x, lane = 1u << tid % SIMULATOR_WARP;
    self->mask = mask | lane;
    self->sm->warps[tid / SIMULATOR_WARP].waiting |= lane;
    thread_wait_at(AT_WARP_BARRIER);
}

void simulator_barrier_grid(void)
{
    thread_wait_at(AT_GRID_BARRIER);
}

void simulator_barrier_cluster(void)
{
    thread_wait_at(AT_CLUSTER_BARRIER);
}

void *simulator_map_shared_rank(void *here, unsigned rank)
{
    const struct multiprocessor *sm = thread_running()->sm;
    const ptrdiff_t offset = (unsigned char *)here - sm->shared;
    return sm->cluster[rank].shared + offset;
}

void simulator_mbarrier_wait(struct simulator_mbarrier *barrier, unsigned parity)
{
    struct thread *self = thread_running();
    self->mbarrier = barrier;
    self->parity = parity;
    if (barrier->parity == parity)
        thread_wait_at(AT_MBARRIER);
}

void simulator_bulk_copy(void *to, const void *from, unsigned bytes,
                         struct simulator_mbarrier *barrier)
{
    struct multiprocessor *sm = thread_running()->sm;
    struct bulk_copies *copies = &sm->copies;
    if (((uintptr_t)to | (uintptr_t)from | bytes) % SIMULATOR_BULK_ALIGNMENT != 0) {
        grid_stop(sm->grid, FAILURE_RUNTIME,
                  "a bulk copy whose addresses and length are not multiples of 16");
        return;
    }
    if (copies->count == BULK_COPIES_MAX)
        bulk_copies_complete_one(copies);
    copies->at[copies->count++] = (struct bulk_copy){to, from, bytes, barrier};
    if (sm->launch->order == ORDER_FORWARDS)
        bulk_copies_complete_one(copies);
}

/* The block of the cluster whose shared memory contains an address; otherwise the thread's own. */
static const struct multiprocessor *owner_of(const struct thread *self, const volatile void *at)
{
    const struct multiprocessor *sm = self->sm;
    for (unsigned k = 0; k < self->place.cluster_size; k++)
        if ((uintptr_t)at - (uintptr_t)sm->cluster[k].shared < sm->launch->shared_bytes)
            return &sm->cluster[k];
    return sm;
}

static void record(struct thread *self, const struct simulator_access *access)
{
    const struct multiprocessor *sm = self->sm, *owner = owner_of(self, access->address);
    const uint64_t first = self->place.block.x - self->place.cluster_rank;
    if (!counter_record(sm->launch->counts, &self->place, &self->interval, owner->shared,
                        first + (uint64_t)(owner - sm->cluster), access))
        grid_stop(sm->grid, FAILURE_RUNTIME, "too many accesses to record individually");
}

void simulator_record(const struct simulator_access *access)
{
    struct thread *self = thread_running();
    const struct multiprocessor *sm = self->sm;
    struct checker *checker = sm->launch->checker;
    if (checker && !checker_check(checker, sm->number, self->place.thread.x, access)) {
        grid_stop(sm->grid, FAILURE_RUNTIME, "an access is at fault");
        for (;;) /* the access must not happen: the thread is never resumed */
            thread_wait_at(ENDED);
    }
    if (sm->launch->counts->room)
        record(self, access);
    counter_add(sm->counter, self->place.thread.x, access);
}

uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source)
{
    struct thread *self = thread_running();
    const unsigned tid = self->place.thread.x;
    self->sm->warps[tid / SIMULATOR_WARP].words[tid % SIMULATOR_WARP] = word;
    self->source = source;
    simulator_barrier_warp(mask);
    return self->received;
}
