#include "simulated/counter.h"

#include <stdlib.h>
#include <string.h>

enum {
    WARPS = SIMULATOR_BLOCK_MAX / SIMULATOR_WARP,
    SITES_MAX = 256, /* source lines with accesses; no kernel of a page has as many */
    SECTOR_BYTES = 32,
    BANKS = 32,
    BANK_BYTES = 4,
};

/* An instruction that the lanes of a warp execute together. */
struct request {
    uint32_t lanes; /* bit mask */
    uintptr_t at[SIMULATOR_WARP];
};

/* Accesses of a warp at one site since its last barrier: each lane's n-th is part of request n. */
struct request_list {
    unsigned next_request[SIMULATOR_WARP];
    struct request *requests;
    unsigned count, capacity;
};

struct counter {
    struct tally sites[SITES_MAX];
    unsigned count;
    struct request_list lists[WARPS][SITES_MAX];
    uint32_t in_flight[WARPS]; /* bit per lane: its last access was a global load */
    bool failed;               /* out of memory, or too many sites */
};

struct counter *counter_open(void)
{
    return calloc(1, sizeof(struct counter));
}

void counter_close(struct counter *self)
{
    if (!self)
        return;
    for (unsigned w = 0; w < WARPS; w++)
        for (unsigned p = 0; p < SITES_MAX; p++)
            free(self->lists[w][p].requests);
    free(self);
}

/* ---- sites ---- */

static bool is_same_site(const struct tally *a, const struct tally *b)
{
    return a->line == b->line && a->event == b->event && a->bytes == b->bytes &&
           (a->file == b->file || strcmp(a->file, b->file) == 0);
}

/* The index of the matching tally; `count` if there is none. */
static size_t find(const struct tally *tallies, size_t count, const struct tally *key)
{
    size_t k = 0;
    while (k < count && !is_same_site(&tallies[k], key))
        k++;
    return k;
}

/* The index of the site; SITES_MAX if there are too many. */
static size_t site_of(struct counter *self, const struct simulator_access *access)
{
    const struct tally key = {
        .event = access->event, .file = access->file, .line = access->line, .bytes = access->bytes};
    const size_t site = find(self->sites, self->count, &key);
    if (site == self->count && site < SITES_MAX)
        self->sites[self->count++] = key;
    return site;
}

/* ---- combining lanes ---- */

/* NULL if out of memory. */
static struct request *request_at(struct request_list *list, unsigned index)
{
    if (index >= list->capacity) {
        const unsigned capacity = list->capacity ? 2 * list->capacity : 4;
        struct request *more = realloc(list->requests, capacity * sizeof *more);
        if (!more)
            return NULL;
        list->requests = more;
        list->capacity = capacity;
    }
    if (index == list->count)
        list->requests[list->count++].lanes = 0;
    return &list->requests[index];
}

static void add_access(struct counter *self, unsigned tid, const struct simulator_access *access)
{
    const size_t site = site_of(self, access);
    const unsigned lane = tid % SIMULATOR_WARP;
    struct request_list *list = site < SITES_MAX ? &self->lists[tid / SIMULATOR_WARP][site] : NULL;
    struct request *request = list ? request_at(list, list->next_request[lane]) : NULL;
    if (!request) {
        self->failed = true;
        return;
    }
    list->next_request[lane]++;
    request->lanes |= 1u << lane;
    request->at[lane] = (uintptr_t)access->address;
}

/* A GPU waits for a load when its value is needed, so consecutive loads are in flight together: the
 * first of each lane's is a dependent load. */
void counter_add(struct counter *self, unsigned tid, const struct simulator_access *access)
{
    uint32_t *in_flight = &self->in_flight[tid / SIMULATOR_WARP];
    const uint32_t lane = (uint32_t)1 << tid % SIMULATOR_WARP;
    const struct simulator_access dependent = {
        .event = SIMULATOR_DEPENDENT_LOAD, .file = access->file, .line = access->line};
    if (access->event != SIMULATOR_GLOBAL_LOAD) {
        *in_flight &= ~lane;
    } else if (!(*in_flight & lane)) {
        *in_flight |= lane;
        add_access(self, tid, &dependent);
    }
    add_access(self, tid, access);
}

/* ---- costs ---- */

static bool contains(const uintptr_t *values, unsigned count, uintptr_t value)
{
    while (count-- > 0)
        if (values[count] == value)
            return true;
    return false;
}

/* Sectors of global memory that a request touches; each lane's bytes are in one, as aligned. */
static unsigned count_sectors(const struct request *self)
{
    uintptr_t seen[SIMULATOR_WARP];
    unsigned count = 0;
    for (uint32_t left = self->lanes; left; left &= left - 1) {
        const uintptr_t sector = self->at[__builtin_ctz(left)] / SECTOR_BYTES;
        if (!contains(seen, count, sector))
            seen[count++] = sector;
    }
    return count;
}

/* Bulk copies of different lanes are separate. */
static uint64_t count_copy_sectors(const struct request *self, unsigned bytes)
{
    uint64_t count = 0;
    for (uint32_t left = self->lanes; left; left &= left - 1) {
        const uintptr_t at = self->at[__builtin_ctz(left)];
        count += (at + bytes - 1) / SECTOR_BYTES - at / SECTOR_BYTES + 1;
    }
    return count;
}

/* Shared memory wavefronts of some lanes: the most distinct words that they touch in one bank. */
static unsigned count_wavefronts(const struct request *self, uint32_t lanes, unsigned bytes)
{
    uintptr_t words[BANKS][SIMULATOR_WARP];
    unsigned counts[BANKS] = {0}, most = 0;
    for (uint32_t left = lanes; left; left &= left - 1) {
        const uintptr_t at = self->at[__builtin_ctz(left)];
        for (uintptr_t w = at / BANK_BYTES; w <= (at + bytes - 1) / BANK_BYTES; w++) {
            const unsigned bank = w % BANKS;
            if (contains(words[bank], counts[bank], w))
                continue;
            words[bank][counts[bank]++] = w;
            most = counts[bank] > most ? counts[bank] : most;
        }
    }
    return most;
}

/* Whether lanes 2 k and 2 k + 1 always access the same address. */
static bool pairs_agree(const struct request *self)
{
    for (unsigned k = 0; k < SIMULATOR_WARP; k += 2)
        if ((self->lanes >> k & 3) == 3 && self->at[k] != self->at[k + 1])
            return false;
    return true;
}

/* Adjacent lanes are served together, as many as all banks have words for; twice as many for loads
 * of 8 or 16 bytes if pairs agree, as profiled on an H200. */
static void add_wavefronts(struct tally *tally, const struct request *request)
{
    const unsigned words = tally->bytes > BANK_BYTES ? tally->bytes / BANK_BYTES : 1;
    const bool pairs = words > 1 && tally->event == SIMULATOR_SHARED_LOAD && pairs_agree(request);
    const unsigned served = SIMULATOR_WARP / words * (pairs ? 2 : 1);
    const uint32_t group = (uint32_t)(((uint64_t)1 << served) - 1);
    for (unsigned first = 0; first < SIMULATOR_WARP; first += served) {
        const uint32_t lanes = request->lanes & group << first;
        if (!lanes)
            continue;
        const unsigned wavefronts = count_wavefronts(request, lanes, tally->bytes);
        tally->pieces += wavefronts;
        tally->conflicts += wavefronts - 1;
    }
}

static void add(struct tally *tally, const struct request *request)
{
    const enum simulator_event event = tally->event;
    tally->warps++;
    tally->lanes += (unsigned)__builtin_popcount(request->lanes);
    if (event == SIMULATOR_BULK_COPY)
        tally->pieces += count_copy_sectors(request, tally->bytes);
    else if (event == SIMULATOR_SHARED_LOAD || event == SIMULATOR_SHARED_STORE)
        add_wavefronts(tally, request);
    else if (event == SIMULATOR_GLOBAL_LOAD || event == SIMULATOR_GLOBAL_STORE ||
             event == SIMULATOR_ATOMIC)
        tally->pieces += count_sectors(request);
}

void counter_pass_barrier(struct counter *self, unsigned warp)
{
    self->in_flight[warp] = 0;
    for (unsigned p = 0; p < self->count; p++) {
        struct request_list *list = &self->lists[warp][p];
        if (list->count == 0)
            continue;
        for (unsigned k = 0; k < list->count; k++)
            add(&self->sites[p], &list->requests[k]);
        memset(list->next_request, 0, sizeof list->next_request);
        list->count = 0;
    }
}

/* ---- the end of a launch ---- */

/* Adds it to the matching tally of the launch. False if out of memory. */
static bool add_tally(struct counted_launch *launch, const struct tally *more)
{
    const size_t k = find(launch->tallies, launch->count, more);
    if (k == launch->count) {
        struct tally *tallies = realloc(launch->tallies, (k + 1) * sizeof *tallies);
        if (!tallies)
            return false;
        tallies[launch->count++] = *more;
        launch->tallies = tallies;
        return true;
    }
    struct tally *total = &launch->tallies[k];
    total->warps += more->warps;
    total->lanes += more->lanes;
    total->pieces += more->pieces;
    total->conflicts += more->conflicts;
    return true;
}

bool counter_collect(struct counter *self, struct counted_launch *launch)
{
    bool ok = !self->failed;
    for (unsigned p = 0; ok && p < self->count; p++)
        ok = add_tally(launch, &self->sites[p]);
    self->count = 0;
    self->failed = false;
    return ok;
}

/* ---- recording ---- */

static bool is_wait(enum simulator_event event)
{
    return event == SIMULATOR_SHUFFLE || event == SIMULATOR_WARP_BARRIER ||
           event == SIMULATOR_BLOCK_BARRIER || event == SIMULATOR_GRID_BARRIER ||
           event == SIMULATOR_CLUSTER_BARRIER || event == SIMULATOR_MBARRIER_WAIT;
}

/* False if there is no room, or out of memory. */
static bool record(struct counted_launch *launch, const struct recorded_access *recorded)
{
    enum { INITIAL_CAPACITY = 256 };
    struct recording *self = &launch->recording;
    if (self->count == launch->room)
        return false;
    if (self->count == self->capacity) {
        const size_t capacity = self->capacity ? 2 * self->capacity : INITIAL_CAPACITY;
        struct recorded_access *more = realloc(self->accesses, capacity * sizeof *more);
        if (!more)
            return false;
        self->accesses = more;
        self->capacity = capacity;
    }
    self->accesses[self->count++] = *recorded;
    return true;
}

bool counter_record(struct counted_launch *launch, const struct simulator_place *place,
                    unsigned *interval, const void *shared, uint64_t owner,
                    const struct simulator_access *access)
{
    const enum simulator_event event = access->event;
    const bool in_shared = event == SIMULATOR_SHARED_LOAD || event == SIMULATOR_SHARED_STORE,
               loads = event == SIMULATOR_GLOBAL_LOAD || event == SIMULATOR_SHARED_LOAD;
    *interval += is_wait(event);
    struct recorded_access recorded = {
        .block = place->block.x,
        .thread = place->thread.x,
        .interval = *interval,
        .event = event,
        .bytes = access->bytes,
        .address = (uintptr_t)access->address - (in_shared ? (uintptr_t)shared : 0),
        .source = in_shared ? (unsigned)owner : access->source,
        .file = access->file,
        .line = access->line,
    };
    if (event == SIMULATOR_BULK_COPY) {
        bool ok = true;
        recorded.bytes = SIMULATOR_BULK_ALIGNMENT;
        recorded.source = (unsigned)((uintptr_t)access->value - (uintptr_t)shared);
        for (unsigned at = 0; ok && at < access->bytes; at += recorded.bytes) {
            memcpy(recorded.value, (const void *)recorded.address, recorded.bytes);
            ok = record(launch, &recorded);
            recorded.address += recorded.bytes;
            recorded.source += recorded.bytes;
        }
        return ok;
    }
    /* Before a load, its value is still in memory. */
    const void *from = loads ? (const void *)access->address : access->value;
    const size_t bytes = access->bytes * (event == SIMULATOR_MERGE ? 2 : 1);
    if (from && bytes <= sizeof recorded.value)
        memcpy(recorded.value, from, bytes);
    return record(launch, &recorded);
}
