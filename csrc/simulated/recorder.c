#include "simulated/counter.h"

#include <stdlib.h>
#include <string.h>

struct recorder {
    size_t room;
    unsigned intervals[SIMULATOR_BLOCK_MAX]; /* of the block's threads */
    struct recording recording;
};

struct recorder *recorder_open(size_t room)
{
    struct recorder *self = calloc(1, sizeof *self);
    if (self)
        self->room = room;
    return self;
}

void recorder_close(struct recorder *self)
{
    if (!self)
        return;
    free(self->recording.accesses);
    free(self);
}

void recorder_begin_block(struct recorder *self)
{
    memset(self->intervals, 0, sizeof self->intervals);
}

/* False when memory is short. */
static bool append(struct recording *self, const struct recorded_access *accesses, size_t count)
{
    enum { AT_FIRST = 256 };
    if (self->count + count > self->capacity) {
        const size_t twice = self->capacity ? 2 * self->capacity : AT_FIRST;
        const size_t capacity = self->count + count > twice ? self->count + count : twice;
        struct recorded_access *more = realloc(self->accesses, capacity * sizeof *more);
        if (!more)
            return false;
        self->accesses = more;
        self->capacity = capacity;
    }
    if (count)
        memcpy(self->accesses + self->count, accesses, count * sizeof *accesses);
    self->count += count;
    return true;
}

/* ---- one access ---- */

static bool waits(enum simulator_event event)
{
    return event == SIMULATOR_SHUFFLE || event == SIMULATOR_WARP_BARRIER ||
           event == SIMULATOR_BLOCK_BARRIER || event == SIMULATOR_GRID_BARRIER ||
           event == SIMULATOR_CLUSTER_BARRIER || event == SIMULATOR_MBARRIER_WAIT;
}

static bool is_in_shared_memory(const struct simulator_access *access)
{
    return access->event == SIMULATOR_SHARED_LOAD || access->event == SIMULATOR_SHARED_STORE;
}

static uintptr_t address_of(const struct simulator_access *access, const void *shared)
{
    return (uintptr_t)access->address - (is_in_shared_memory(access) ? (uintptr_t)shared : 0);
}

/* What is loaded is still where it is loaded from. */
static void copy_value(const struct simulator_access *access, struct recorded_access *recorded)
{
    const bool loads =
        access->event == SIMULATOR_GLOBAL_LOAD || access->event == SIMULATOR_SHARED_LOAD;
    const void *from = loads ? (const void *)access->address : access->value;
    const size_t bytes = access->bytes * (access->event == SIMULATOR_MERGE ? 2 : 1);
    if (from && bytes <= sizeof recorded->value)
        memcpy(recorded->value, from, bytes);
}

static bool note(struct recorder *self, const struct recorded_access *recorded)
{
    return self->recording.count < self->room && append(&self->recording, recorded, 1);
}

/* `recorded` is the first part. */
static bool note_bulk_copy(struct recorder *self, struct recorded_access recorded, unsigned bytes)
{
    bool noted = true;
    for (unsigned at = 0; noted && at < bytes; at += recorded.bytes) {
        memcpy(recorded.value, (const void *)recorded.address, recorded.bytes);
        noted = note(self, &recorded);
        recorded.address += recorded.bytes;
        recorded.source += recorded.bytes;
    }
    return noted;
}

bool recorder_note(struct recorder *self, const struct simulator_place *place, const void *shared,
                   uint64_t owner, const struct simulator_access *access)
{
    unsigned *interval = &self->intervals[place->thread.x];
    *interval += waits(access->event);
    struct recorded_access recorded = {
        .block = place->block.x,
        .thread = place->thread.x,
        .interval = *interval,
        .event = access->event,
        .bytes = access->bytes,
        .address = address_of(access, shared),
        .source = is_in_shared_memory(access) ? (unsigned)owner : access->source,
        .file = access->file,
        .line = access->line,
    };
    if (access->event == SIMULATOR_BULK_COPY) {
        recorded.bytes = SIMULATOR_BULK_ALIGNMENT;
        recorded.source = (unsigned)((uintptr_t)access->value - (uintptr_t)shared);
        return note_bulk_copy(self, recorded, access->bytes);
    }
    copy_value(access, &recorded);
    return note(self, &recorded);
}

bool recorder_take(struct recorder *self, struct recording *recording)
{
    const bool taken = append(recording, self->recording.accesses, self->recording.count);
    self->recording.count = 0;
    return taken;
}
