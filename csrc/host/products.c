/* Significands are multiplied as integers, so that no product overflows, underflows or is rounded.
 */
#include "host/products.h"

/* With constant types, little is left to be decided in the loop. */
static inline __attribute__((always_inline)) void add(const char *a, enum element type_a,
                                                      const char *b, enum element type_b, size_t n,
                                                      struct exact *even, struct exact *odd)
{
    const size_t step_a = element_size(type_a), step_b = element_size(type_b);
    for (size_t k = 0; k < n; k++)
        exact_add_product(k % 2 ? odd : even, exact_number_at(a + k * step_a, type_a),
                          exact_number_at(b + k * step_b, type_b));
}

void products_add(const void *a, enum element type_a, const void *b, enum element type_b, size_t n,
                  struct exact *even, struct exact *odd)
{
    exact_reserve(even, 2 * n);
    exact_reserve(odd, 2 * n);
    if (type_a == ELEMENT_FLOAT64 && type_b == ELEMENT_FLOAT64)
        add(a, ELEMENT_FLOAT64, b, ELEMENT_FLOAT64, n, even, odd);
    else
        add(a, type_a, b, type_b, n, even, odd);
}
