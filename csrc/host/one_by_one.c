#include "host/one_by_one.h"

#include <string.h>

/* n of them, `step` bytes apart. */
struct elements {
    const char *at;
    size_t n, step;
    bool leaves_out;
};

#define LOADED(type, at)                                                                           \
    ({                                                                                             \
        type loaded;                                                                               \
        memcpy(&loaded, at, sizeof loaded);                                                        \
        loaded;                                                                                    \
    })

/* One function for floats of each type, whose format is constant in it. */
#define DEFINE_ADD_FLOATS(NAME, bits)                                                              \
    static uint64_t add_##NAME(const struct elements *x, unsigned parts, struct exact_sums *sums)  \
    {                                                                                              \
        const struct exact_format format = exact_format_of(ELEMENT_##NAME);                        \
        uint64_t count = 0;                                                                        \
        for (size_t k = 0; k < x->n; k++) {                                                        \
            const char *at = x->at + k * x->step;                                                  \
            const struct exact_number first = exact_decode(LOADED(bits, at), format),              \
                                      second = exact_decode(                                       \
                                          LOADED(bits, at + (parts - 1) * sizeof(bits)), format);  \
            if (x->leaves_out && (first.kind == EXACT_NAN || second.kind == EXACT_NAN))            \
                continue;                                                                          \
            exact_add(&sums->parts[EXACT_REAL], first);                                            \
            if (parts > 1)                                                                         \
                exact_add(&sums->parts[EXACT_IMAGINARY], second);                                  \
            count++;                                                                               \
        }                                                                                          \
        return count;                                                                              \
    }

DEFINE_ADD_FLOATS(FLOAT16, uint16_t)
DEFINE_ADD_FLOATS(BFLOAT16, uint16_t)
DEFINE_ADD_FLOATS(FLOAT32, uint32_t)
DEFINE_ADD_FLOATS(FLOAT64, uint64_t)

static uint64_t add_integers(const struct elements *x, enum element type, struct exact_sums *sums)
{
    for (size_t k = 0; k < x->n; k++)
        exact_add(&sums->parts[EXACT_REAL], exact_number_at(x->at + k * x->step, type));
    return x->n;
}

/* Floats, or complex numbers' parts, of that type. */
static uint64_t add_floats(const struct elements *x, enum element type, unsigned parts,
                           struct exact_sums *sums)
{
    switch (type) {
    case ELEMENT_FLOAT16:
        return add_FLOAT16(x, parts, sums);
    case ELEMENT_BFLOAT16:
        return add_BFLOAT16(x, parts, sums);
    case ELEMENT_FLOAT32:
        return add_FLOAT32(x, parts, sums);
    default:
        return add_FLOAT64(x, parts, sums);
    }
}

uint64_t one_by_one_add(const void *elements, size_t n, enum element type, unsigned parts,
                        bool leaves_out, struct exact_sums *sums)
{
    const struct elements x = {elements, n, element_size(type), leaves_out};
    for (int part = 0; part < EXACT_PARTS; part++)
        exact_reserve(&sums->parts[part], n);
    return element_is_integer(type) ? add_integers(&x, type, sums)
                                    : add_floats(&x, element_real_part(type), parts, sums);
}
