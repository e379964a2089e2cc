#define _GNU_SOURCE

#include "simulated/stacks.h"

#include "simulated/fiber.h"

#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_GUARD_INSTALL /* Linux 6.13 */
#define MADV_GUARD_INSTALL 102
#endif

/* A guard by mprotect makes two mappings of one, and all of a process together may have 65,530
 * (vm.max_map_count). The stacks of all cores of a simulator take no more than this, since several
 * simulators may be at work. */
enum { SPLITS_MAX = 1024 };

static size_t reserved_bytes(const struct stacks *self)
{
    return ((size_t)self->count + 1) * STACK_BYTES; /* one more, to find a multiple of the size */
}

bool stacks_open(struct stacks *self, unsigned count, unsigned sharers)
{
    self->count = count;
    void *memory = mmap(NULL, reserved_bytes(self), PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    const uintptr_t all_but_one = STACK_BYTES - 1;
    self->memory = memory;
    self->first = ((uintptr_t)memory + all_but_one) & ~all_but_one;
    self->splits = sharers ? SPLITS_MAX / sharers : 0;
    return true;
}

void stacks_close(struct stacks *self)
{
    if (!self->memory)
        return;
    fiber_abandon(self->memory, reserved_bytes(self));
    munmap(self->memory, reserved_bytes(self));
}

/* Newer kernels guard a page in the page table alone. Older ones split the mapping, so that there
 * only a block's first threads get a guard: what makes a kernel go too deep is its code, which they
 * run as well as the others. */
static size_t guard(struct stacks *self, void *stack)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (page > STACK_BYTES / 8) /* nothing would be left */
        return 0;
    if (madvise(stack, page, MADV_GUARD_INSTALL) == 0)
        return page;
    if (self->splits == 0 || mprotect(stack, page, PROT_NONE) != 0)
        return 0;
    self->splits--;
    return page;
}

struct stack stacks_take(struct stacks *self, unsigned number)
{
    char *memory = (char *)(self->first + (uintptr_t)number * STACK_BYTES);
    const size_t guarded = guard(self, memory);
    return (struct stack){memory + guarded, STACK_BYTES - STACK_OWNER_BYTES - guarded};
}
