#include "host/windows.h"

#include <math.h>
#include <string.h>

static void add_values(const struct windows *self, const void *floats, size_t n,
                       struct windowed *found)
{
    static window_values *(*const sets[])(enum element, unsigned, bool) = {
#define SET(name) WINDOWS(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    sets[self->instructions](self->type, self->count, self->leaves_out)(floats, n, self->highest,
                                                                        found);
    found->too_small = false;
}

static void add_products(const struct windows *self, const void *a, const void *b, size_t n,
                         struct windowed *found)
{
    static window_products *(*const sets[])(enum element, unsigned) = {
#define SET(name) PRODUCT_WINDOWS(name),
        INSTRUCTION_SETS(SET)};
#undef SET
    sets[self->instructions](self->type, self->count)(a, b, n, self->highest, found);
}

static void add(const struct windows *self, const void *floats, const void *others, size_t n,
                struct windowed *found)
{
    if (self->products)
        add_products(self, floats, others, n, found);
    else
        add_values(self, floats, n, found);
}

/* Whether something is lost of products. */
static bool loses(const struct windows *self)
{
    return self->products && self->type == ELEMENT_FLOAT64;
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

/* Products of float32s have up to 48 bits. */
void windows_start_products(struct windows *self, enum instructions instructions, enum element type)
{
    windows_start(self, instructions, type, false);
    self->products = true;
    self->least = type == ELEMENT_FLOAT32 ? 2 : self->least;
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
    const int lowest = WINDOW_LOWEST + (loses(self) ? WINDOW_LOST : 0);
    int exponent;
    if (!(greatest <= ldexp(1, WINDOW_HIGHEST))) /* or it is a NaN */
        return false;
    frexp(greatest, &exponent); /* largest < 2^exponent */
    int highest = exponent + ROOM < WINDOW_HIGHEST ? exponent + ROOM : WINDOW_HIGHEST;
    highest = highest > lowest ? highest : lowest;
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

/* What the windows hold, the first for magnitudes up to 2^highest. */
static void put_sums(const struct windows *self, int64_t (*sums)[2], int highest,
                     struct exact *even, struct exact *odd)
{
    for (unsigned w = 0; w < self->count; w++) {
        const int unit = highest - WINDOW_UNIT - (int)w * WINDOW_STEP;
        put(even, sums[w][0], unit);
        put(odd, sums[w][1], unit);
    }
}

/* Moves the windows to where they hold all of it. */
static bool find(struct windows *self, const void *floats, const void *others, size_t n,
                 struct windowed *found)
{
    add(self, floats, others, n, found);
    while (!found->whole || found->greatest > ldexp(1, self->highest)) {
        if (!move(self, found->greatest))
            return false;
        add(self, floats, others, n, found);
    }
    return !found->too_small;
}

bool windows_add(struct windows *self, const void *floats, const void *others, size_t n,
                 struct exact *even, struct exact *odd, uint64_t *numbers)
{
    struct windowed found;
    if (!find(self, floats, others, n, &found))
        return false;
    put_sums(self, found.sums, self->highest, even, odd);
    if (loses(self))
        put_sums(self, found.lost, self->highest - WINDOW_LOST, even, odd);
    for (unsigned k = 0; k < found.lefts; k++)
        put_left(k % 2 ? odd : even, found.left[k]);
    *numbers = self->leaves_out ? found.numbers : n;
    return true;
}

bool windows_total(struct windows *self, const void *floats, size_t n, struct windows_total *total)
{
    enum { WINDOWS_HELD = 2 }; /* less than 2^(51 + 6 + 1 + WINDOW_STEP) units */
    struct windowed found;
    if (self->count > WINDOWS_HELD || !find(self, floats, floats, n, &found) ||
        self->count > WINDOWS_HELD)
        return false;
    for (unsigned k = 0; k < found.lefts; k++)
        if (found.left[k] != 0)
            return false;
    total->units = 0;
    for (unsigned w = 0; w < self->count; w++)
        total->units =
            total->units * ((__int128)1 << WINDOW_STEP) + found.sums[w][0] + found.sums[w][1];
    total->unit = self->highest - WINDOW_UNIT - (int)(self->count - 1) * WINDOW_STEP;
    total->numbers = self->leaves_out ? found.numbers : n;
    return true;
}
