/* Which kernels take a plan's array, and in which form: decided from the plan and the table of
 * kernels that there are, and from nothing else. */
#pragma once

#include "common/kernels.h"
#include "plan/plan.h"

/* How an array comes to the first kernel. */
enum form {
    FORM_FLAT,     /* its elements, one after the other */
    FORM_STRIDED,  /* rows of elements that a kernel reads as they lie */
    FORM_GATHERED, /* a layout of elements of any type, copied one by one */
};

struct choice {
    enum form form;
    enum element accumulator; /* the plan's, or one that holds more, where elements are gathered */
    bool uploads;        /* the array lies on the host, and has to be brought, piece by piece */
    bool uploads_mask;   /* a host's mask is brought, too, rather than applied on the way */
    const void *copy;    /* makes the working copy; NULL: there is none */
    enum element factor; /* what it has of the plan's factors, where there are some */
    bool copies_mask;    /* a mask goes with it; else what is hidden is the fold's identity there */
    const void *first;   /* reads the array, or the working copy if there is one */
    const void *again;   /* reads states that lie one after the other */
    library_reduce *reducer, *reducer_again; /* the same, where a library's function does it */
};

/* Whether kernels that read rows may take the elements as they lie: in a wider accumulator than the
 * plan's only what that one holds, too. */
bool choice_takes_rows(const struct plan *);

/* Whether elements stay real, or complex, numbers. */
bool choice_keeps_parts(const struct plan *);

/* False where no kernel was compiled for this. */
bool choice_make(const struct plan *, const struct kernels *, struct choice *);

/* Whether the first kernel takes rows: what is not flat, or has a mask. */
bool choice_reads_rows(const struct choice *);
