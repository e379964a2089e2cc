/* Fibers: flows of control with stacks of their own, that hand over to each other by name. */
#pragma once

#include <setjmp.h>
#include <stddef.h>

struct fiber {
    jmp_buf at; /* where it goes on; _setjmp's, which leaves the signal mask alone */
};

/* Makes `self` run body(argument) on the given stack when it is first switched to. body must never
 * return. `maker` is any fiber struct that holds no state; it is used during the call. */
void fiber_make(struct fiber *self, struct fiber *maker, void *stack, size_t stack_bytes,
                void (*body)(void *argument), void *argument);

/* Stops `from`, which is running, and goes on with `to`; returns when somebody switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);
