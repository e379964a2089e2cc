/* Fibers: flows of control with stacks of their own, that hand over to each other by name. */
#pragma once

#include <setjmp.h>
#include <stddef.h>

struct fiber {
    jmp_buf at; /* where it goes on; _setjmp's, which leaves the signal mask alone */

    /* What AddressSanitizer wants to be told at a switch. */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
    struct fiber *before; /* who switched to this one */
};

/* Makes `self` run body(argument) on the given stack when it is first switched to. body must never
 * return. `maker` is any fiber struct that holds no state; it is used during the call. */
void fiber_make(struct fiber *self, struct fiber *maker, void *stack, size_t stack_bytes,
                void (*body)(void *argument), void *argument);

/* Stops `from`, which is running, and goes on with `to`; returns when somebody switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);

/* To be called before the memory that stacks lay in is given back: fibers that never ended have
 * frames there still, which AddressSanitizer would guard against the memory's next owner. */
void fiber_abandon(void *stacks, size_t bytes);
