/* Elements of a layout, gathered in memory: the host's loops fold what is gathered here,
 * and copies to a device begin here. Positions count the elements as a normalised layout walks
 * them, masked or not; any stretch can be gathered by itself, so threads can share the work. */
#pragma once

#include "common/layout.h"
#include "common/processor.h"

/* Elements `start` to `start + length`, those that the mask lets through, converted to layout->type
 * and widened to its accumulator, at `target`. Returns how many there were. */
uint64_t gather(enum instructions, const struct layout *, uint64_t start, uint64_t length,
                void *target);

/* The same in the elements' own type, in this machine's byte order. */
uint64_t gather_unconverted(enum instructions, const struct layout *, uint64_t start,
                            uint64_t length, void *target);

/* Elements of a layout of bools, all of them, MASK_BITS a byte, the lowest bit first; the last byte
 * is filled up with zeros. */
void gather_bits(enum instructions, const struct layout *, uint64_t start, uint64_t length,
                 unsigned char *target);

/* How many elements of a stretch the mask lets through. */
uint64_t gather_count(const struct layout *, uint64_t start, uint64_t length);
