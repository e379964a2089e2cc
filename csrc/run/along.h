/* Carries out reductions along axes on a machine. */
#pragma once

#include "plan/axes_schedule.h"
#include "run/passes.h"

enum { COPY_BLOCK = 512 }; /* threads */

/* Makes all results of a plan with axes. In along_parts.c. */
bool axes_run(struct machine *, const struct plan *, struct run *);

/* One value of all results. */
size_t along_bytes(const struct plan *);

/* Brings all results to the host, where the device has their values one after the other, and what
 * is to be said of them. */
bool along_fetch(struct machine *, const struct plan *, const char *values,
                 const unsigned *findings, struct run *);

/* Makes zeros of a part of an arena's memory, if there is one. */
bool along_clear(struct machine *, const struct arena *, char *memory, enum part);

/* The blocks that copy so many elements. */
uint64_t along_copy_grid(const struct machine *, uint64_t n);

/* Copies elements that are on the device, converted, to one after the other. */
bool along_copy(struct machine *, const struct layout *, enum element type, void *target);

/* What is to be done with the state of a plan's results: of a kernel that accumulates in another
 * type, and leaves what it has to say on the device. */
struct kernel_results along_results(const struct plan *, enum element accumulator, void *out,
                                    unsigned *findings);

/* Makes those of a schedule's plan. What is to be said of them is added to `findings` on the
 * device, or, if that is NULL and they go to the host, to the run's. */
bool along_carry_out(struct machine *, struct axes_schedule *, unsigned *findings, struct run *);
