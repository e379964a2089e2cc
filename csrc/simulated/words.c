/* What a kernel's words do on the simulated device, said by the thread that is running. */
#define _GNU_SOURCE

#include "simulated/checker.h"
#include "simulated/multiprocessor.h"

const struct simulator_place *simulator_here(void)
{
    return &thread_running()->place;
}

void *simulator_shared_memory(void)
{
    return thread_running()->home->shared;
}

void simulator_barrier_block(void)
{
    multiprocessor_wait_at(AT_BLOCK_BARRIER);
}

bool simulator_barrier_block_or(bool vote)
{
    struct multiprocessor *home = thread_running()->home;
    home->voted |= vote;
    multiprocessor_wait_at(AT_BLOCK_BARRIER);
    return home->verdict;
}

void simulator_barrier_warp(unsigned mask)
{
    struct thread *self = thread_running();
    const unsigned tid = self->place.thread.x, lane = 1u << tid % SIMULATOR_WARP;
    self->mask = mask | lane;
    self->home->warps[tid / SIMULATOR_WARP].waiting |= lane;
    multiprocessor_wait_at(AT_WARP_BARRIER);
}

void simulator_barrier_grid(void)
{
    multiprocessor_wait_at(AT_GRID_BARRIER);
}

void simulator_barrier_cluster(void)
{
    multiprocessor_wait_at(AT_CLUSTER_BARRIER);
}

void *simulator_memory_of_block(void *here, unsigned rank)
{
    const struct multiprocessor *home = thread_running()->home;
    const ptrdiff_t offset = (unsigned char *)here - home->shared;
    return home->cluster[rank].shared + offset;
}

void simulator_mbarrier_wait(struct simulator_mbarrier *barrier, unsigned parity)
{
    struct thread *self = thread_running();
    self->mbarrier = barrier;
    self->parity = parity;
    if (!mbarrier_has_ended(barrier, parity))
        multiprocessor_wait_at(AT_MBARRIER);
}

/* Whether a GPU would take it. */
static bool is_aligned(const struct bulk_copy *copy)
{
    const uintptr_t all = (uintptr_t)copy->to | (uintptr_t)copy->from | copy->bytes;
    return all % SIMULATOR_BULK_ALIGNMENT == 0;
}

void simulator_bulk_copy(void *to, const void *from, unsigned bytes,
                         struct simulator_mbarrier *barrier)
{
    struct multiprocessor *home = thread_running()->home;
    const struct bulk_copy copy = {to, from, bytes, barrier};
    if (!is_aligned(&copy)) {
        grid_stop(home->grid, SIMULATOR_FAILED,
                  "a bulk copy of which addresses and length are no multiples of 16");
        return;
    }
    bulk_copies_add(&home->copies, &copy);
    if (home->ordering == ORDER_FORWARDS)
        bulk_copies_end_any(&home->copies);
}

/* The running thread is not to do what it was about to: it never runs again. */
static _Noreturn void go_no_further(struct grid *grid)
{
    grid_stop(grid, SIMULATOR_FAILED, "an access is at fault");
    for (;;)
        multiprocessor_wait_at(ENDED);
}

/* The block of the cluster in whose shared memory an address is; the own one if it is in none. */
static const struct multiprocessor *owner_of(const struct thread *self, const volatile void *at)
{
    const struct multiprocessor *home = self->home;
    for (unsigned k = 0; k < self->place.cluster_size; k++) {
        const uintptr_t begin = (uintptr_t)home->cluster[k].shared;
        if ((uintptr_t)at >= begin && (uintptr_t)at < begin + home->launch->shared_bytes)
            return &home->cluster[k];
    }
    return home;
}

static void record(const struct thread *self, const struct simulator_access *access)
{
    const struct multiprocessor *home = self->home, *owner = owner_of(self, access->address);
    const uint64_t first = self->place.block.x - self->place.cluster_rank;
    if (!recorder_note(home->recorder, &self->place, owner->shared,
                       first + (uint64_t)(owner - home->cluster), access))
        grid_stop(home->grid, SIMULATOR_FAILED, "too many accesses to record one by one");
}

void simulator_count(const struct simulator_access *access)
{
    const struct thread *self = thread_running();
    const struct multiprocessor *home = self->home;
    struct checker *checker = home->launch->checker;
    if (checker && !checker_note(checker, home->number, self->place.thread.x, access))
        go_no_further(home->grid);
    if (home->recorder)
        record(self, access);
    counter_note(home->counter, self->place.thread.x, access);
}

uint64_t simulator_shuffle(unsigned mask, uint64_t word, unsigned source)
{
    struct thread *self = thread_running();
    const unsigned tid = self->place.thread.x;
    self->home->warps[tid / SIMULATOR_WARP].words[tid % SIMULATOR_WARP] = word;
    self->source = source;
    simulator_barrier_warp(mask);
    return self->received;
}
