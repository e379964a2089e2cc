/* Fibers: flows of control with stacks of their own, that hand over to each other by name. */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fiber {
    jmp_buf at; /* where it goes on; _setjmp's, which leaves the signal mask alone */

    /* What AddressSanitizer wants to be told at a switch. */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
    struct fiber *before; /* who switched to this one */
    void (*body)(void *self);
};

/* Stops `from`, which is running, and goes on with `to`; returns when somebody switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);

/* ---- the stacks of a block's threads ---- */

/* They are in one piece of memory, each at a multiple of its size, so that an address on a stack
 * tells whose it is. The lowest page of a stack may not be touched: a kernel that goes too deep
 * ends the process, and does not overwrite its neighbour. */
enum {
    STACK_BYTES = 64 << 10, /* of address space; a kernel touches one page or two */
    STACK_OWNER_BYTES = 64,
};

struct stacks {
    void *memory; /* NULL: they are not open */
    size_t bytes;
    unsigned splits; /* how many more guards of the costly kind there may be */
};

/* Room for so many stacks, of which so many may have costly guards, see fiber.c. False when memory
 * is short. */
bool stacks_open(struct stacks *, unsigned count, unsigned splits);
void stacks_close(struct stacks *);

/* Makes `self` run body(self) on that stack when it is first switched to; body must never return.
 * `maker` is any fiber that holds no state; it is used during the call. */
void fiber_make(struct fiber *self, struct fiber *maker, struct stacks *, unsigned number,
                void (*body)(void *self));

/* Where the stack around an address keeps the fiber that it belongs to: at its upper end, beside
 * the first frames. */
static inline void **stack_owner(uintptr_t address)
{
    const uintptr_t stack = address & ~(uintptr_t)(STACK_BYTES - 1);
    return (void **)(stack + STACK_BYTES - STACK_OWNER_BYTES);
}
