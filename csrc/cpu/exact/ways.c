/* Exact addition of floats: plain or in windows, with vectors; in a large sum; or one by one. */
#include "common/arithmetic.h"
#include "cpu/exact/exact.h"

#include <fenv.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- windows ---- */

/* The load that a loop adds. */
enum { WINDOWS_LOAD = 4 * WINDOWS_MAX + WINDOW_REMAINDERS };

static void run_loop(const struct windows *self, const void *floats, const void *others, size_t n,
                     struct windowed *found)
{
    const struct cpu_kernels *kernels = cpu_kernels(self->instructions);
    if (self->products) {
        kernels->product_windows(self->type, self->count)(floats, others, n, self->highest, found);
        return;
    }
    kernels->windows(self->type, self->count, self->skips_nan)(floats, n, self->highest, found);
    found->too_small = false;
}

/* Whether products have rounding errors. */
static bool has_product_errors(const struct windows *self)
{
    return self->products && self->type == ELEMENT_FLOAT64;
}

void windows_reset(struct windows *self)
{
    self->count = self->least;
}

/* Moves the windows to these numbers, or adds one if they are there already. False if neither is
 * possible. There is some room above, for slightly greater numbers. */
static bool move_windows(struct windows *self, double greatest)
{
    enum { ROOM = 3 };
    const int lowest = WINDOW_LOWEST + (has_product_errors(self) ? WINDOW_ERROR : 0);
    int exponent;
    if (!(greatest <= ldexp(1, WINDOW_HIGHEST))) /* or NaN */
        return false;
    frexp(greatest, &exponent); /* greatest < 2^exponent */
    int highest = exponent + ROOM < WINDOW_HIGHEST ? exponent + ROOM : WINDOW_HIGHEST;
    highest = highest > lowest ? highest : lowest;
    if (highest == self->highest && self->count == WINDOWS_MAX)
        return false;
    self->count += highest == self->highest;
    self->highest = highest;
    return true;
}

static void deposit(struct exact *sum, int64_t units, int exponent)
{
    exact_deposit(sum, units < 0 ? -(uint64_t)units : (uint64_t)units, exponent, units < 0);
}

static void deposit_float(struct exact *sum, double value)
{
    exact_add(sum, exact_number_at(&value, ELEMENT_FLOAT64));
}

/* Adds the windows' sums; the first window is for magnitudes up to 2^highest. */
static void deposit_sums(const struct windows *self, int64_t (*sums)[2], int highest,
                         struct exact *even, struct exact *odd)
{
    for (unsigned w = 0; w < self->count; w++) {
        const int unit = highest - WINDOW_UNIT - (int)w * WINDOW_STEP;
        deposit(even, sums[w][0], unit);
        deposit(odd, sums[w][1], unit);
    }
}

/* Adds the floats, moving the windows until they hold everything. */
static bool fit_windows(struct windows *self, const void *floats, const void *others, size_t n,
                        struct windowed *found)
{
    run_loop(self, floats, others, n, found);
    while (!found->whole || found->greatest > ldexp(1, self->highest)) {
        if (!move_windows(self, found->greatest))
            return false;
        run_loop(self, floats, others, n, found);
    }
    return !found->too_small;
}

static bool windows_add(struct windows *self, const void *floats, const void *others, size_t n,
                        struct exact *even, struct exact *odd, uint64_t *numbers)
{
    struct windowed found;
    if (!fit_windows(self, floats, others, n, &found))
        return false;
    deposit_sums(self, found.sums, self->highest, even, odd);
    if (has_product_errors(self))
        deposit_sums(self, found.lost, self->highest - WINDOW_ERROR, even, odd);
    for (unsigned k = 0; k < found.lefts; k++)
        if (found.left[k] != 0)
            deposit_float(k % 2 ? odd : even, found.left[k]);
    *numbers = self->skips_nan ? found.numbers : n;
    return true;
}

bool windows_total(struct windows *self, const void *floats, size_t n, struct windows_total *total)
{
    enum { WINDOWS_HELD = 2 }; /* less than 2^(51 + 6 + 1 + WINDOW_STEP) units */
    struct windowed found;
    if (self->count > WINDOWS_HELD || !fit_windows(self, floats, floats, n, &found) ||
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
    total->numbers = self->skips_nan ? found.numbers : n;
    return true;
}

/* ---- plain sums ---- */

bool inexact_flag_works(enum instructions instructions)
{
    enum { MANY = 256 /* several per lane */ };
    double floats[MANY];
    struct unrounded unwanted;
    fenv_t before;
    for (unsigned k = 0; k < MANY; k++)
        floats[k] = k < MANY / 2 ? 1 : 0x1p-60;
    fegetenv(&before);
    fesetenv(FE_DFL_ENV);
    const bool rounded =
        !cpu_kernels(instructions)->unrounded_sums(ELEMENT_FLOAT64, false)(floats, MANY, &unwanted);
    fesetenv(&before);
    return rounded;
}

bool unrounded_is_due(struct unrounded_floats *self)
{
    if (self->skips == 0)
        return self->loop != NULL;
    self->skips--;
    return false;
}

/* A failure costs as much as four successes gain, so occasional failures make attempts rare, and
 * constant ones very rare. */
static bool record_attempt(struct unrounded_floats *self, bool added)
{
    enum { SHORTEST = 8, LONGEST = 4 };
    self->skips = added ? 0 : SHORTEST << self->failures;
    self->failures = added ? 0 : min_u64(self->failures + 1, LONGEST);
    return added;
}

static bool add_unrounded(struct unrounded_floats *self, const void *floats, size_t n,
                          struct exact *even, struct exact *odd, uint64_t *numbers)
{
    struct unrounded found;
    if (!unrounded_is_due(self) || !record_attempt(self, self->loop(floats, n, &found)))
        return false;
    for (unsigned part = 0; part < self->parts; part++) {
        deposit_float(even, found.sums[part][0]);
        deposit_float(odd, found.sums[part][1]);
    }
    *numbers = self->skips_nan ? found.numbers : n;
    return true;
}

/* Whether `sum` is exactly a + b. */
static bool is_exact(double sum, double a, double b)
{
    return sum - a == b && sum - b == a;
}

bool unrounded_add_row(struct unrounded_floats *self, const void *floats, size_t n, double *head,
                       double *tail)
{
    struct unrounded found = {.sums = {{0}}};
    if (!unrounded_is_due(self) || !record_attempt(self, self->loop(floats, n, &found)))
        return false;
    *head = found.sums[0][0] + found.sums[0][1];
    *tail = found.sums[1][0] + found.sums[1][1];
    return is_exact(*head, found.sums[0][0], found.sums[0][1]) &&
           is_exact(*tail, found.sums[1][0], found.sums[1][1]);
}

bool unrounded_add_columns(struct unrounded_floats *self, const void *floats, size_t n,
                           int64_t stride, size_t columns, struct unrounded_sums *sums)
{
    return record_attempt(self, self->columns(floats, n, stride, columns, sums));
}

/* ---- a large superaccumulator ---- */

/* A sum of significands for each sign and exponent, so that adding a float takes a single addition
 * (R. M. Neal, "Fast exact summation using small and large superaccumulators", 2015). For floats
 * too far apart for windows. All functions make room in `sum` for what they add to it. */
enum { LARGE_SUM_BINS = 1 << 12, LARGE_SUM_BIN_MAX = 1 << 12 };

struct large_sum {
    uint64_t bits[LARGE_SUM_BINS];      /* sums of floats' bits, including exponents */
    uint16_t additions[LARGE_SUM_BINS]; /* at most LARGE_SUM_BIN_MAX */
};

enum { EXPONENT_MOST = 0x7ff, SIGNIFICAND_BITS = 52, LEAST_EXPONENT = -1074 };

/* Adds a bin to `sum` and clears it. Without the exponents, the bits are the sum of less than
 * 2^12 significands of 52 bits; for normal numbers, the implicit leading ones are added. */
static void flush_bin(struct large_sum *self, unsigned bin, struct exact *sum)
{
    const uint64_t count = self->additions[bin],
                   significands = self->bits[bin] - count * ((uint64_t)bin << SIGNIFICAND_BITS);
    const unsigned exponent = bin & EXPONENT_MOST;
    const bool negative = bin > EXPONENT_MOST;
    const int last = LEAST_EXPONENT + (int)(exponent ? exponent - 1 : 0);
    exact_reserve(sum, 2);
    exact_deposit(sum, significands, last, negative);
    if (exponent)
        exact_deposit(sum, count, last + SIGNIFICAND_BITS, negative);
    self->bits[bin] = 0;
    self->additions[bin] = 0;
}

#define INLINE static inline __attribute__((always_inline))

/* False if x is not finite. */
INLINE bool add_finite(struct large_sum *self, double x, struct exact *sum)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    const unsigned bin = (unsigned)(bits >> SIGNIFICAND_BITS);
    if (__builtin_expect((bin & EXPONENT_MOST) == EXPONENT_MOST, false))
        return false;
    if (__builtin_expect(self->additions[bin] == LARGE_SUM_BIN_MAX, false))
        flush_bin(self, bin, sum);
    self->additions[bin]++;
    self->bits[bin] += bits;
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

/* Adds contiguous floats. Non-finite ones go to `sum`, or are skipped. Returns the number added. */
INLINE uint64_t add_floats(struct large_sum *self, const char *floats, size_t n, bool single,
                           bool skips_nan, struct exact *sum)
{
    uint64_t skipped = 0;
    for (size_t k = 0; k < n; k++) {
        const double x = float_at(floats, k, single);
        if (add_finite(self, x, sum))
            continue;
        if (skips_nan && x != x) {
            skipped++;
            continue;
        }
        exact_reserve(sum, 1);
        exact_add(sum, exact_number_at(&x, ELEMENT_FLOAT64));
    }
    return n - skipped;
}

/* Products of two such numbers do not overflow, and their rounding errors are floats. */
INLINE bool is_moderate(double x)
{
    const double magnitude = __builtin_fabs(x);
    return magnitude > 0x1p-450 && magnitude < 0x1p500;
}

INLINE void add_products(struct large_sum *self, const char *a, const char *b, size_t n,
                         bool single, bool has_fma, struct exact *sum)
{
    for (size_t k = 0; k < n; k++) {
        const double x = float_at(a, k, single), y = float_at(b, k, single), product = x * y;
        if (single && add_finite(self, product, sum))
            continue;
        if (!single && has_fma && is_moderate(x) && is_moderate(y)) {
            add_finite(self, product, sum);
            add_finite(self, __builtin_fma(x, y, -product), sum);
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

/* Adds products of floats. The rounding error of a product is a float and is added, too (T. J.
 * Dekker, "A floating-point technique for extending the available precision", 1971), on processors
 * with fused multiply-add. All others, also of too large or small floats, go to `sum`. */
static void add_typed_products(struct large_sum *self, const void *a, const void *b, size_t n,
                               enum element type, enum instructions instructions, struct exact *sum)
{
#ifdef __x86_64__
    const bool has_fma = instructions > 0; /* all instruction sets but the baseline have FMA */
#else
    const bool has_fma = true;
    (void)instructions;
#endif
    if (type == ELEMENT_FLOAT32)
        add_products(self, a, b, n, true, false, sum);
    else if (has_fma)
        add_fused(self, a, b, n, sum);
    else
        add_products(self, a, b, n, false, false, sum);
}

/* ---- one by one ---- */

static uint64_t add_one_by_one(const struct windows *self, const void *floats, const void *others,
                               size_t n, struct exact *even, struct exact *odd)
{
    const unsigned parts = even != odd ? 2 : 1;
    if (!self->products)
        return parts * numbers_add(floats, parts * element_size(self->type), n / parts, self->type,
                                   parts, self->skips_nan, even, odd);
    products_add(floats, self->type, others, self->type, n, even, odd);
    return n;
}

/* ---- all together ---- */

/* Products of float32s have up to 48 bits, so they need two windows. */
void float_adder_start(struct float_adder *self, enum instructions instructions, enum element type,
                       bool skips_nan, bool products, bool reports_rounding)
{
    const struct cpu_kernels *kernels = cpu_kernels(instructions);
    const bool wide = type == ELEMENT_FLOAT64 || (products && type == ELEMENT_FLOAT32);
    *self = (struct float_adder){.windows = {.instructions = instructions,
                                             .type = type,
                                             .skips_nan = skips_nan,
                                             .products = products,
                                             .least = wide ? 2 : 1}};
    windows_reset(&self->windows);
    if (reports_rounding)
        self->unrounded =
            (struct unrounded_floats){.loop = kernels->unrounded_sums(type, skips_nan),
                                      .columns = kernels->unrounded_column_sums(type),
                                      .parts = type == ELEMENT_FLOAT64 ? 2 : 1,
                                      .skips_nan = skips_nan};
}

/* Whether to try windows for the next load. Next to a large superaccumulator, each failure doubles
 * the number of loads that skip them. */
static bool windows_are_due(struct float_adder *self)
{
    enum { MOST = 6 };
    if (self->skips > 0) {
        self->skips--;
        return false;
    }
    if (self->large) {
        self->skips = (1u << self->failures) - 1;
        self->failures += self->failures < MOST;
    }
    return true;
}

uint64_t float_adder_add(struct float_adder *self, const void *floats, const void *others, size_t n,
                         struct exact *even, struct exact *odd)
{
    struct windows *const windows = &self->windows;
    uint64_t added;
    exact_reserve(even, WINDOWS_LOAD);
    exact_reserve(odd, WINDOWS_LOAD);
    if (windows_are_due(self) && (add_unrounded(&self->unrounded, floats, n, even, odd, &added) ||
                                  windows_add(windows, floats, others, n, even, odd, &added))) {
        self->failures = self->skips = 0;
        return added;
    }
    if (self->long_enough && !self->large)
        self->large = calloc(1, sizeof *self->large);
    if (!self->large)
        return add_one_by_one(windows, floats, others, n, even, odd);
    if (!windows->products)
        return windows->type == ELEMENT_FLOAT32
                   ? add_floats(self->large, floats, n, true, windows->skips_nan, even)
                   : add_floats(self->large, floats, n, false, windows->skips_nan, even);
    add_typed_products(self->large, floats, others, n, windows->type, windows->instructions, even);
    return n;
}

void float_adder_end(struct float_adder *self, struct exact *sum)
{
    for (unsigned bin = 0; self->large && bin < LARGE_SUM_BINS; bin++)
        if (self->large->additions[bin])
            flush_bin(self->large, bin, sum);
    free(self->large);
    self->large = NULL;
}
