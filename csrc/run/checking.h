/* What is wrong with what a kernel accesses, as far as somebody has looked: the first fault of a
 * run, and where it is. */
#pragma once

#include <stdint.h>

enum fault_kind {
    FAULT_NONE,
    FAULT_RACE,      /* two threads at one word, one of them stores, and nothing orders them */
    FAULT_BARRIER,   /* not all threads come to a barrier that waits for all */
    FAULT_BOUNDS,    /* an access outside what a kernel was given */
    FAULT_UNWRITTEN, /* a load of what nobody has stored */
    FAULT_MISSING,   /* a block has left no partial */
    FAULT_ALIGNMENT, /* an address that is no multiple of the access's size */
    FAULT_ENDLESS,   /* far more accesses than the work needs */
    FAULT_KINDS
};

enum { FRAMES_MAX = 16 };

struct fault {
    enum fault_kind kind;
    const char *file; /* NULL: it has no line */
    unsigned line;
    char text[256];
    uintptr_t frames[FRAMES_MAX]; /* where its thread was: in the kernels' code, innermost first */
    unsigned depth;
};
