#include "host/one_by_one.h"

/* n of them, `step` bytes apart. */
struct elements {
    const char *at;
    size_t n, step;
    bool leaves_out;
};

/* With a constant type and number of parts, little is left to be decided in the loop. */
static inline __attribute__((always_inline)) uint64_t add(const struct elements *x,
                                                          enum element type, unsigned parts,
                                                          struct exact_sums *sums)
{
    uint64_t added = 0;
    for (size_t k = 0; k < x->n; k++) {
        const char *const at = x->at + k * x->step;
        const struct exact_number first = exact_number_at(at, type);
        const struct exact_number second =
            parts > 1 ? exact_number_at(at + element_size(type), type) : first;
        if (x->leaves_out && (first.kind == EXACT_NAN || second.kind == EXACT_NAN))
            continue;
        exact_add(&sums->parts[EXACT_REAL], first);
        if (parts > 1)
            exact_add(&sums->parts[EXACT_IMAGINARY], second);
        added++;
    }
    return added;
}

uint64_t one_by_one_add(const void *elements, size_t n, enum element type, unsigned parts,
                        bool leaves_out, struct exact_sums *sums)
{
    const struct elements x = {elements, n, element_size(type), leaves_out};
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums->parts[part], n);
    switch (type) {
    case ELEMENT_FLOAT16:
        return add(&x, ELEMENT_FLOAT16, 1, sums);
    case ELEMENT_BFLOAT16:
        return add(&x, ELEMENT_BFLOAT16, 1, sums);
    case ELEMENT_FLOAT32:
        return add(&x, ELEMENT_FLOAT32, 1, sums);
    case ELEMENT_FLOAT64:
        return add(&x, ELEMENT_FLOAT64, 1, sums);
    case ELEMENT_COMPLEX64:
        return add(&x, ELEMENT_FLOAT32, parts, sums);
    case ELEMENT_COMPLEX128:
        return add(&x, ELEMENT_FLOAT64, parts, sums);
    default:
        return add(&x, type, 1, sums);
    }
}
