/* A fiber is created once with makecontext, the portable way to get onto a new stack, and then
 * switched with _setjmp/_longjmp: swapcontext would make two system calls per switch to save a
 * signal mask that never changes. glibc's fortified longjmp rejects jumps to another stack, hence
 * the #undef.
 *
 * So does AddressSanitizer, unless it is notified before and after the jump; afterwards it reports
 * the bounds of the stack that was left, which is how those of a scheduler's stack become known.
 * Its own longjmp would make a system call and remove the guards of the stack that is left, so the
 * compiler's builtin is used instead. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE

#include "simulated/fiber.h"

#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define SWITCH_START(from, to)                                                                     \
    __sanitizer_start_switch_fiber(&(from)->fake_stack, (to)->stack, (to)->stack_bytes)
#define SWITCH_FINISH(self)                                                                        \
    __sanitizer_finish_switch_fiber((self)->fake_stack, &(self)->previous->stack,                  \
                                    &(self)->previous->stack_bytes)
/* Unpoisons memory before it is unmapped; otherwise its next owner would get false reports. */
#define UNPOISON(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#define SETJMP(fiber)           __builtin_setjmp((void **)(fiber)->resume)
#define LONGJMP(fiber)          jump(fiber)

/* In a function of its own, as the compiler requires, and opaque to it, because otherwise it would
 * call the sanitizer's hook for calls that do not return. */
__attribute__((noipa, no_sanitize_address)) static void jump(struct fiber *to)
{
    __builtin_longjmp((void **)to->resume, 1);
}
#else
#define SETJMP(fiber)           _setjmp((fiber)->resume)
#define LONGJMP(fiber)          _longjmp((fiber)->resume, 1)
#define SWITCH_START(from, to)  ((void)0)
#define SWITCH_FINISH(self)     ((void)0)
#define UNPOISON(memory, bytes) ((void)(memory), (void)(bytes))
#endif

void fiber_switch(struct fiber *from, struct fiber *to)
{
    to->previous = from;
    SWITCH_START(from, to);
    if (!SETJMP(from))
        LONGJMP(to);
    SWITCH_FINISH(from);
}

/* ---- stacks ---- */

#ifndef MADV_GUARD_INSTALL /* Linux 6.13 */
#define MADV_GUARD_INSTALL 102
#endif

bool stacks_open(struct stacks *self, unsigned count, unsigned splits)
{
    const size_t bytes = ((size_t)count + 1) * STACK_BYTES; /* one more, to align */
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED)
        return false;
    *self = (struct stacks){memory, bytes, splits};
    return true;
}

void stacks_close(struct stacks *self)
{
    if (!self->memory)
        return;
    UNPOISON(self->memory, self->bytes); /* fibers that never ended have frames there */
    munmap(self->memory, self->bytes);
}

/* Newer kernels guard a page in the page table only. Older ones split the mapping, and a process
 * may have 65,530 mappings (vm.max_map_count). There only a block's first threads get a guard; they
 * run the same code as the others, so they detect deep kernels. Returns the guarded bytes. */
static size_t guard(struct stacks *self, void *stack)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE);
    if (page > STACK_BYTES / 8) /* too little would be left */
        return 0;
    if (madvise(stack, page, MADV_GUARD_INSTALL) == 0)
        return page;
    if (self->splits == 0 || mprotect(stack, page, PROT_NONE) != 0)
        return 0;
    self->splits--;
    return page;
}

/* ---- starting a fiber ---- */

static void fiber_entry(void)
{
    struct fiber *self = *stack_owner((uintptr_t)__builtin_frame_address(0));
    SWITCH_FINISH(self);
    fiber_switch(self, self->previous);
    self->body(self);
}

void fiber_create(struct fiber *self, struct fiber *creator, struct stacks *stacks, unsigned number,
                  void (*body)(void *self))
{
    const uintptr_t align_mask = STACK_BYTES - 1,
                    first = ((uintptr_t)stacks->memory + align_mask) & ~align_mask;
    char *const stack = (char *)(first + (uintptr_t)number * STACK_BYTES);
    const size_t guarded = guard(stacks, stack);
    ucontext_t context;
    getcontext(&context);
    context.uc_stack.ss_sp = stack + guarded;
    context.uc_stack.ss_size = STACK_BYTES - STACK_OWNER_BYTES - guarded;
    context.uc_link = NULL;
    makecontext(&context, fiber_entry, 0);
    *stack_owner((uintptr_t)stack) = self;
    self->stack = context.uc_stack.ss_sp;
    self->stack_bytes = context.uc_stack.ss_size;
    self->fake_stack = NULL;
    self->previous = creator;
    self->body = body;
    SWITCH_START(creator, self);
    if (!SETJMP(creator))
        setcontext(&context);
    SWITCH_FINISH(creator);
}
