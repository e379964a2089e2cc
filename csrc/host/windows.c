#include "host/windows.h"

#include <math.h>
#include <string.h>

static window_values *loop_of(const struct windows *self)
{
    static window_values *(*const sets[])(enum element, unsigned, bool) = {
#define SET(name) WINDOWS(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    return sets[self->instructions](self->type, self->count, self->leaves_out);
}

void windows_start(struct windows *self, enum instructions instructions, enum element type,
                   bool leaves_out)
{
    *self = (struct windows){.instructions = instructions,
                             .type = type,
                             .leaves_out = leaves_out,
                             .least = type == ELEMENT_FLOAT64 ? 2 : 1};
    windows_forget(self);
}

void windows_forget(struct windows *self)
{
    self->count = self->least;
}

/* Whether the windows are moved to where these numbers are, or, if they are there, whether there is
 * one more of them: with some room above, so that the next numbers may be somewhat greater. */
static bool move(struct windows *self, double greatest)
{
    enum { ROOM = 3 };
    int exponent;
    frexp(greatest, &exponent); /* greatest < 2^exponent */
    if (greatest > ldexp(1, WINDOW_HIGHEST))
        return false;
    int highest = exponent + ROOM < WINDOW_HIGHEST ? exponent + ROOM : WINDOW_HIGHEST;
    highest = highest > WINDOW_LOWEST ? highest : WINDOW_LOWEST;
    if (highest == self->highest && self->count == WINDOWS_MOST)
        return false;
    self->count += highest == self->highest;
    self->highest = highest;
    return true;
}

static void put(struct exact *sum, int64_t units, int exponent)
{
    exact_put(sum, units < 0 ? -(uint64_t)units : (uint64_t)units, exponent, units < 0);
}

static void put_left(struct exact *sum, double left)
{
    uint64_t bits;
    memcpy(&bits, &left, sizeof bits);
    if (left != 0)
        exact_add(sum, exact_decode(bits, exact_format_of(ELEMENT_FLOAT64)));
}

bool windows_add(struct windows *self, const void *floats, size_t n, struct exact *even,
                 struct exact *odd, uint64_t *numbers)
{
    struct windowed found;
    loop_of(self)(floats, n, self->highest, &found);
    while (!found.whole || found.greatest > ldexp(1, self->highest)) {
        if (!move(self, found.greatest))
            return false;
        loop_of(self)(floats, n, self->highest, &found);
    }
    for (unsigned w = 0; w < self->count; w++) {
        const int unit = self->highest - WINDOW_UNIT - (int)w * WINDOW_STEP;
        put(even, found.sums[w][0], unit);
        put(odd, found.sums[w][1], unit);
    }
    for (unsigned k = 0; k < found.lefts; k++)
        put_left(k % 2 ? odd : even, found.left[k]);
    *numbers = self->leaves_out ? found.numbers : n;
    return true;
}
