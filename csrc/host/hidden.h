/* What a mask hides, as elements that change nothing. */
#pragma once

#include "common/reduction.h"

/* The element that a fold makes nothing of; false: there is none of this type. */
bool hidden_becomes(enum fold, enum element, union scalar *nothing);

/* Puts that in the place of those of n elements of `size` bytes whose mask's bytes, which lie
 * `step` apart, are 0. */
void hidden_replace(void *elements, size_t size, uint64_t n, const unsigned char *mask,
                    int64_t step, const union scalar *nothing);
