#include "cpu/exact/exact.h"

#include <string.h>

enum { EXPONENT_MOST = 0x7ff, SIGNIFICAND_BITS = 52, LEAST_EXPONENT = -1074 };

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

#define INLINE static inline __attribute__((always_inline))

/* False: it is not finite. */
INLINE bool add_one(struct large_sum *self, double x, struct exact *sum)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const unsigned place = (unsigned)(bits >> SIGNIFICAND_BITS);
    if (__builtin_expect((place & EXPONENT_MOST) == EXPONENT_MOST, false))
        return false;
    if (__builtin_expect(self->additions[place] == LARGE_SUM_MOST, false))
        hand_over(self, place, sum);
    self->additions[place]++;
    self->bits[place] += bits;
    return true;
}

INLINE double float_at(const char *floats, size_t k, bool single)
{
    double x;
    float narrow;
    if (single) {
        memcpy(&narrow, floats + k * sizeof narrow, sizeof narrow);
        return narrow;
    }
    memcpy(&x, floats + k * sizeof x, sizeof x);
    return x;
}

INLINE uint64_t add_typed(struct large_sum *self, const char *floats, size_t n, bool single,
                          bool leaves_out, struct exact *sum)
{
    uint64_t left_out = 0;
    for (size_t k = 0; k < n; k++) {
        const double x = float_at(floats, k, single);
        if (add_one(self, x, sum))
            continue;
        if (leaves_out && x != x) {
            left_out++;
            continue;
        }
        exact_reserve(sum, 1);
        exact_add(sum, exact_number_at(&x, ELEMENT_FLOAT64));
    }
    return n - left_out;
}

uint64_t large_sum_add(struct large_sum *self, const void *floats, size_t n, enum element type,
                       bool leaves_out, struct exact *sum)
{
    return type == ELEMENT_FLOAT32 ? add_typed(self, floats, n, true, leaves_out, sum)
                                   : add_typed(self, floats, n, false, leaves_out, sum);
}

void large_sum_hand_over(struct large_sum *self, struct exact *sum)
{
    for (unsigned place = 0; place < LARGE_SUM_PLACES; place++)
        if (self->additions[place])
            hand_over(self, place, sum);
}

/* ---- products ---- */

/* Of such magnitude that no product of two overflows, and what it loses is a float. */
INLINE bool is_moderate(double x)
{
    const double magnitude = __builtin_fabs(x);
    return magnitude > 0x1p-450 && magnitude < 0x1p500;
}

INLINE void add_products(struct large_sum *self, const char *a, const char *b, size_t n,
                         bool single, bool fuses, struct exact *sum)
{
    for (size_t k = 0; k < n; k++) {
        const double x = float_at(a, k, single), y = float_at(b, k, single), product = x * y;
        if (single && add_one(self, product, sum))
            continue;
        if (!single && fuses && is_moderate(x) && is_moderate(y)) {
            add_one(self, product, sum);
            add_one(self, __builtin_fma(x, y, -product), sum);
            continue;
        }
        exact_reserve(sum, 2);
        exact_add_product(sum, exact_number_at(&x, ELEMENT_FLOAT64),
                          exact_number_at(&y, ELEMENT_FLOAT64));
    }
}

#ifdef __x86_64__
__attribute__((target("fma")))
#endif
static void add_fused(struct large_sum *self, const void *a, const void *b, size_t n,
                      struct exact *sum)
{
    add_products(self, a, b, n, false, true, sum);
}

void large_sum_add_products(struct large_sum *self, const void *a, const void *b, size_t n,
                            enum element type, enum instructions instructions, struct exact *sum)
{
#ifdef __x86_64__
    const bool fuses = instructions > 0; /* all sets but the baseline have it */
#else
    const bool fuses = true;
    (void)instructions;
#endif
    if (type == ELEMENT_FLOAT32)
        add_products(self, a, b, n, true, false, sum);
    else if (fuses)
        add_fused(self, a, b, n, sum);
    else
        add_products(self, a, b, n, false, false, sum);
}
