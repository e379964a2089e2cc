#include "host/unrounded.h"

#include "common/arithmetic.h"

#include <fenv.h>
#include <string.h>

static unrounded_values *loop_of(enum instructions instructions, enum element type, bool leaves_out)
{
    static unrounded_values *(*const sets[])(enum element, bool) = {
#define SET(name) UNROUNDED(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    return sets[instructions](type, leaves_out);
}

bool unrounded_is_told(enum instructions instructions)
{
    enum { MANY = 256 /* that every lane takes several of */ };
    double floats[MANY];
    struct unrounded unwanted;
    fenv_t before;
    for (unsigned k = 0; k < MANY; k++)
        floats[k] = k < MANY / 2 ? 1 : 0x1p-60;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    const bool rounded = !loop_of(instructions, ELEMENT_FLOAT64, false)(floats, MANY, &unwanted);
    fesetenv(&before);
    return rounded;
}

void unrounded_start(struct unrounded_floats *self, enum instructions instructions,
                     enum element type, bool leaves_out)
{
    static unrounded_columns *(*const column_sets[])(enum element) = {
#define SET(name) UNROUNDED_COLUMNS_LOOP(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    *self = (struct unrounded_floats){.loop = loop_of(instructions, type, leaves_out),
                                      .columns = column_sets[instructions](type),
                                      .parts = type == ELEMENT_FLOAT64 ? 2 : 1,
                                      .leaves_out = leaves_out};
}

bool unrounded_is_due(struct unrounded_floats *self)
{
    if (self->waits == 0)
        return self->loop != NULL;
    self->waits--;
    return false;
}

/* A failure costs what four successes gain, so that what fails now and then is tried seldom, and
 * what always does hardly ever. */
static bool note(struct unrounded_floats *self, bool added)
{
    enum { SHORTEST = 8, LONGEST = 4 };
    self->waits = added ? 0 : SHORTEST << self->failures;
    self->failures = added ? 0 : least(self->failures + 1, LONGEST);
    return added;
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
    if (!unrounded_is_due(self) || !note(self, self->loop(floats, n, &found)))
        return false;
    for (unsigned part = 0; part < self->parts; part++) {
        put(even, found.sums[part][0]);
        put(odd, found.sums[part][1]);
    }
    *numbers = self->leaves_out ? found.numbers : n;
    return true;
}

bool unrounded_add_columns(struct unrounded_floats *self, const void *floats, size_t n,
                           int64_t stride, size_t columns, double (*sums)[2])
{
    return note(self, self->columns(floats, n, stride, columns, sums));
}
