/* A fiber is made once with makecontext, the portable way onto a new stack, and from then on
 * switched with _setjmp/_longjmp: swapcontext would make two system calls a switch to save a signal
 * mask that never changes. glibc's fortified longjmp takes a jump to another stack for an error,
 * hence the #undef.
 *
 * AddressSanitizer takes it for one, too, unless it is told before the jump and after it. That is
 * also where the bounds of a scheduler's stack become known, which nobody made here. Its own
 * longjmp would make a system call a switch and stop guarding the stack that is left, so that
 * the compiler's takes its place. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE

#include "simulated/fiber.h"

#include <stdint.h>
#include <ucontext.h>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#define LEAVE(from, to)                                                                            \
    __sanitizer_start_switch_fiber(&(from)->fake_stack, (to)->stack, (to)->stack_bytes)
#define ARRIVE(self)                                                                               \
    __sanitizer_finish_switch_fiber((self)->fake_stack, &(self)->before->stack,                    \
                                    &(self)->before->stack_bytes)
#define FORGET(memory, bytes) __asan_unpoison_memory_region(memory, bytes)
#define SETJMP(fiber)         __builtin_setjmp((void **)(fiber)->at)
#define LONGJMP(fiber)        jump(fiber)

/* In a function of its own, as the compiler asks; one that it does not see through, or it would
 * call the sanitizer's note of a call that never returns. */
__attribute__((noipa, no_sanitize_address)) static void jump(struct fiber *to)
{
    __builtin_longjmp((void **)to->at, 1);
}
#else
#define SETJMP(fiber)         _setjmp((fiber)->at)
#define LONGJMP(fiber)        _longjmp((fiber)->at, 1)
#define LEAVE(from, to)       ((void)0)
#define ARRIVE(self)          ((void)0)
#define FORGET(memory, bytes) ((void)(memory), (void)(bytes))
#endif

struct beginning {
    struct fiber *self, *maker;
    void (*body)(void *argument);
    void *argument;
};

/* makecontext passes only ints, so the pointer travels in two halves. */
static void begin(unsigned high, unsigned low)
{
    const struct beginning *shared = (const void *)(uintptr_t)((uint64_t)high << 32 | low);
    const struct beginning own = *shared;
    ARRIVE(own.self);
    fiber_switch(own.self, own.maker);
    own.body(own.argument);
}

void fiber_make(struct fiber *self, struct fiber *maker, void *stack, size_t stack_bytes,
                void (*body)(void *argument), void *argument)
{
    struct beginning beginning = {self, maker, body, argument};
    const uint64_t address = (uintptr_t)&beginning;
    ucontext_t there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = stack_bytes;
    there.uc_link = NULL;
    makecontext(&there, (void (*)(void))begin, 2, (unsigned)(address >> 32), (unsigned)address);
    self->stack = stack;
    self->stack_bytes = stack_bytes;
    self->fake_stack = NULL;
    self->before = maker;
    LEAVE(maker, self);
    if (!SETJMP(maker))
        setcontext(&there);
    ARRIVE(maker);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    to->before = from;
    LEAVE(from, to);
    if (!SETJMP(from))
        LONGJMP(to);
    ARRIVE(from);
}

void fiber_abandon(void *stacks, size_t bytes)
{
    FORGET(stacks, bytes);
}
