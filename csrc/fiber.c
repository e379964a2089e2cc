/* A fiber is made once with makecontext, the portable way onto a new stack, and from then on
 * switched with _setjmp/_longjmp: swapcontext would make two system calls a switch to save a signal
 * mask that never changes. glibc's fortified longjmp takes a jump to another stack for an error,
 * hence the #undef. */
#undef _FORTIFY_SOURCE
#define _GNU_SOURCE

#include "fiber.h"

#include <stdint.h>
#include <ucontext.h>

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
    fiber_switch(own.self, own.maker);
    own.body(own.argument);
}

void fiber_make(struct fiber *self, struct fiber *maker, void *stack, size_t stack_bytes,
                void (*body)(void *argument), void *argument)
{
    struct beginning beginning = {self, maker, body, argument};
    const uint64_t address = (uintptr_t)&beginning;
    ucontext_t here, there;
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = stack_bytes;
    there.uc_link = NULL;
    makecontext(&there, (void (*)(void))begin, 2, (unsigned)(address >> 32), (unsigned)address);
    if (!_setjmp(maker->at))
        swapcontext(&here, &there);
}

void fiber_switch(struct fiber *from, struct fiber *to)
{
    if (!_setjmp(from->at))
        _longjmp(to->at, 1);
}
