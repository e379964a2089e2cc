/* Fibers: contexts with stacks of their own, which switch to each other explicitly. */
#pragma once

#include <setjmp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct fiber {
    jmp_buf resume; /* where it resumes; _setjmp does not save the signal mask */

    /* What AddressSanitizer needs at a switch. */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
    struct fiber *previous; /* the fiber that switched to this one */
    void (*body)(void *self);
};

/* Suspends `from`, which is running, and resumes `to`. Returns when another fiber switches back. */
void fiber_switch(struct fiber *from, struct fiber *to);

/* ---- the stacks of a block's threads ---- */

/* All stacks are in one mapping, each aligned to its size, so that an address on a stack identifies
 * the fiber. The lowest page of a stack is a guard: a stack overflow ends the process instead of
 * overwriting the next stack. */
enum {
    STACK_BYTES = 64 << 10, /* of address space; a kernel uses one or two pages */
    STACK_OWNER_BYTES = 64,
};

struct stacks {
    void *memory; /* NULL: not open */
    size_t bytes;
    unsigned splits; /* guards left that split the mapping; see fiber.c */
};

/* Reserves `count` stacks, up to `splits` of which may have guards that split the mapping, see
 * fiber.c. False if out of memory. */
bool stacks_open(struct stacks *, unsigned count, unsigned splits);
void stacks_close(struct stacks *);

/* Makes `self` run body(self) on the stack of that number at the first switch; body must never
 * return. `creator` is any fiber that is not in use; it is used during the call. */
void fiber_create(struct fiber *self, struct fiber *creator, struct stacks *, unsigned number,
                  void (*body)(void *self));

/* The place on the stack around an address that stores the owning fiber: at its upper end. */
static inline void **stack_owner(uintptr_t address)
{
    const uintptr_t stack = address & ~(uintptr_t)(STACK_BYTES - 1);
    return (void **)(stack + STACK_BYTES - STACK_OWNER_BYTES);
}
