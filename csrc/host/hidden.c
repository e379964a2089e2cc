#include "host/hidden.h"

#include "common/scalar.h"
#include "common/segments.h"

#include <math.h>
#include <string.h>

static bool worst_of(enum element type, bool greatest, union scalar *worst)
{
    *worst = element_is_integer(type) ? integer_end(type, greatest)
                                      : scalar_of_double(greatest ? HUGE_VAL : -HUGE_VAL, 0, type);
    return !element_is_complex(type);
}

bool hidden_becomes(enum fold fold, enum element type, union scalar *nothing)
{
    switch (fold) {
    case FOLD_sum:
        *nothing = scalar_of_double(-0.0, -0.0, type);
        return true;
    case FOLD_nonzero:
    case FOLD_norm1:
    case FOLD_norm2:
    case FOLD_norm_inf:
        *nothing = scalar_of_double(0, 0, type);
        return true;
    case FOLD_prod:
        *nothing = scalar_of_double(1, 0, type);
        return !element_is_complex(type);
    case FOLD_min:
        return worst_of(type, true, nothing);
    case FOLD_max:
        return worst_of(type, false, nothing);
    case FOLD_nansum:
    case FOLD_nanprod:
    case FOLD_nanmin:
    case FOLD_nanmax:
        *nothing = scalar_of_double((double)NAN, 0, type);
        return true;
    default:
        return false;
    }
}

/* Without a branch, and those whose mask's bytes are neighbours several at a time. */
#define REPLACE(Bits)                                                                              \
    static void replace_##Bits(Bits *elements, uint64_t n, const unsigned char *mask,              \
                               int64_t step, Bits nothing)                                         \
    {                                                                                              \
        if (step == 1)                                                                             \
            for (uint64_t k = 0; k < n; k++)                                                       \
                elements[k] = mask[k] ? elements[k] : nothing;                                     \
        else                                                                                       \
            for (uint64_t k = 0; k < n; k++)                                                       \
                elements[k] = mask[(int64_t)k * step] ? elements[k] : nothing;                     \
    }

REPLACE(uint8_t)
REPLACE(uint16_t)
REPLACE(uint32_t)
REPLACE(uint64_t)

static void replace_pairs(uint64_t *elements, uint64_t n, const unsigned char *mask, int64_t step,
                          const uint64_t nothing[2])
{
    for (uint64_t k = 0; k < n; k++)
        if (!mask[(int64_t)k * step])
            memcpy(elements + 2 * k, nothing, 2 * sizeof *nothing);
}

void hidden_replace(void *elements, size_t size, uint64_t n, const unsigned char *mask,
                    int64_t step, const union scalar *nothing)
{
    uint64_t bits[2];
    memcpy(bits, nothing, sizeof bits);
    switch (size) {
    case sizeof(uint8_t):
        return replace_uint8_t(elements, n, mask, step, nothing->u8);
    case sizeof(uint16_t):
        return replace_uint16_t(elements, n, mask, step, nothing->u16);
    case sizeof(uint32_t):
        return replace_uint32_t(elements, n, mask, step, nothing->u32);
    case sizeof(uint64_t):
        return replace_uint64_t(elements, n, mask, step, nothing->u64);
    default:
        return replace_pairs(elements, n, mask, step, bits);
    }
}
