#include "cpu/large_sum.h"

#include <stdlib.h>
#include <string.h>

enum { EXPONENT_MOST = 0x7ff, SIGNIFICAND_BITS = 52, LEAST_EXPONENT = -1074 };

struct large_sum *large_sum_new(void)
{
    return calloc(1, sizeof(struct large_sum));
}

/* What is left of the bits without their exponents is a sum of less than 2^12 significands of 52
 * bits; of normal numbers as many leading ones belong to it. */
static void hand_over(struct large_sum *self, unsigned place, struct exact *sum)
{
    const uint64_t count = self->additions[place],
                   significands = self->bits[place] - count * ((uint64_t)place << SIGNIFICAND_BITS);
    const unsigned exponent = place & EXPONENT_MOST;
    const bool negative = place > EXPONENT_MOST;
    const int last = LEAST_EXPONENT + (int)(exponent ? exponent - 1 : 0);
    exact_reserve(sum, 2);
    exact_put(sum, significands, last, negative);
    if (exponent)
        exact_put(sum, count, last + SIGNIFICAND_BITS, negative);
    self->bits[place] = 0;
    self->additions[place] = 0;
}

static inline __attribute__((always_inline)) uint64_t add_typed(struct large_sum *self,
                                                                const char *floats, size_t n,
                                                                bool single, bool leaves_out,
                                                                struct exact *sum)
{
    uint64_t left_out = 0;
    for (size_t k = 0; k < n; k++) {
        double x;
        float narrow;
        uint64_t bits;
        if (single) {
            memcpy(&narrow, floats + k * sizeof narrow, sizeof narrow);
            x = narrow;
        } else {
            memcpy(&x, floats + k * sizeof x, sizeof x);
        }
        memcpy(&bits, &x, sizeof bits);
        const unsigned place = (unsigned)(bits >> SIGNIFICAND_BITS);
        if (__builtin_expect((place & EXPONENT_MOST) == EXPONENT_MOST, false)) {
            if (leaves_out && x != x) {
                left_out++;
                continue;
            }
            exact_reserve(sum, 1);
            exact_add(sum, exact_number_at(&x, ELEMENT_FLOAT64));
            continue;
        }
        if (__builtin_expect(self->additions[place] == LARGE_SUM_MOST, false))
            hand_over(self, place, sum);
        self->additions[place]++;
        self->bits[place] += bits;
    }
    return n - left_out;
}

uint64_t large_sum_add(struct large_sum *self, const void *floats, size_t n, enum element type,
                       bool leaves_out, struct exact *sum)
{
    return type == ELEMENT_FLOAT32 ? add_typed(self, floats, n, true, leaves_out, sum)
                                   : add_typed(self, floats, n, false, leaves_out, sum);
}

void large_sum_end(struct large_sum *self, struct exact *sum)
{
    for (unsigned place = 0; self && place < LARGE_SUM_PLACES; place++)
        if (self->additions[place])
            hand_over(self, place, sum);
    free(self);
}
