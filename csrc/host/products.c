/* Significands are multiplied as integers, so that no product overflows, underflows or is rounded.
 */
#include "host/products.h"

#include "common/arithmetic.h"
#include "run/gather.h"

enum { CHUNK = 256, WIDEST_REAL = 8 };

/* Products of a chunk, brought together first. */
static void add_chunk(enum instructions instructions, const struct layout *a,
                      const struct layout *b, uint64_t start, uint64_t n, struct exact *sum)
{
    _Alignas(WIDEST_REAL) char of_a[CHUNK * WIDEST_REAL], of_b[CHUNK * WIDEST_REAL];
    const size_t step_a = element_size(a->input), step_b = element_size(b->input);
    gather_unconverted(instructions, a, start, n, of_a);
    gather_unconverted(instructions, b, start, n, of_b);
    exact_reserve(sum, 2 * n);
    for (size_t k = 0; k < n; k++)
        exact_add_product(sum, exact_number_at(of_a + k * step_a, a->input),
                          exact_number_at(of_b + k * step_b, b->input));
    sum->counts[EXACT_COUNT] += (int64_t)n;
}

void products_add(const struct layout *a, const struct layout *b, uint64_t start, uint64_t length,
                  struct exact *sum)
{
    const enum instructions instructions = instructions_here();
    for (uint64_t at = 0; at < length; at += CHUNK)
        add_chunk(instructions, a, b, start + at, least(length - at, CHUNK), sum);
}
