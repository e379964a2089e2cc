#include "host/unrounded.h"

#include "common/arithmetic.h"

#include <string.h>

void unrounded_start(struct unrounded_floats *self, enum instructions instructions,
                     enum element type, bool leaves_out)
{
    static unrounded_values *(*const sets[])(enum element, bool) = {
#define SET(name) UNROUNDED(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    *self = (struct unrounded_floats){.loop = sets[instructions](type, leaves_out),
                                      .parts = type == ELEMENT_FLOAT64 ? 2 : 1,
                                      .leaves_out = leaves_out};
}

/* A failure costs what four successes gain, so that what fails now and then is tried seldom, and
 * what always does hardly ever. */
static void wait_a_while(struct unrounded_floats *self)
{
    enum { SHORTEST = 8, LONGEST = 4 };
    self->waits = SHORTEST << self->failures;
    self->failures = least(self->failures + 1, LONGEST);
}

static void put(struct exact *sum, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    exact_add(sum, exact_decode(bits, exact_format_of(ELEMENT_FLOAT64)));
}

bool unrounded_add(struct unrounded_floats *self, const void *floats, size_t n, struct exact *even,
                   struct exact *odd, uint64_t *numbers)
{
    struct unrounded found;
    if (self->waits) {
        self->waits--;
        return false;
    }
    if (!self->loop(floats, n, &found)) {
        wait_a_while(self);
        return false;
    }
    self->failures = 0;
    for (unsigned part = 0; part < self->parts; part++) {
        put(even, found.sums[part][0]);
        put(odd, found.sums[part][1]);
    }
    *numbers = self->leaves_out ? found.numbers : n;
    return true;
}
