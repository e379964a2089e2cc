/* Elements of a known type that are loaded one by one: of small arrays, whose kernels' code takes
 * longer to fetch than they do, and of what lies as no other kernel of known types takes it. */
#include "schedule/launch_config.h"

enum {
    LANES = 32,      /* neighbouring columns of a block at least, if there are as many, */
    TOGETHER = 128,  /* or so many bytes of them, but of a small array */
    MERGED = 16,     /* states of splits that a thread merges at most */
    LOADS_SMALL = 8, /* batches of a thread that a small array takes at most */
    BYTES_ALONE = 16 /* of a thread at least, or vectorized loads are faster, even so */
};

/* A result's neighbours in memory, where they are closer than other results' elements. */
static uint64_t inner_run(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (reduced->dimensions == 0 || axes_lie_across(axes))
        return 1;
    return reduced->shape[reduced->dimensions - 1];
}

/* So many neighbours of a block at least. */
static bool launch(const struct launch_problem *problem, uint64_t lanes,
                   struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_of_result(axes), inner = inner_run(axes), rows = n / inner,
                   block = 1u << STRIDED_BLOCK;
    const unsigned dimensions = axes->reduced.dimensions - (inner > 1);
    if (!tuned->axes.strided || n == 0 || inner > block || dimensions > 2 || rows > INT32_MAX / 2)
        return false;
    const uint64_t busy = (uint64_t)problem->multiprocessors * tuned->axes.threads,
                   useful = divide_up(rows, STRIDED_LOADS),
                   enough = divide_up(busy, axes->results * inner),
                   threads = least(enough, useful); /* of a column */
    if (lanes < block / threads)
        lanes = block / threads;
    const uint64_t fit = least(lanes, block) / inner, results = least(fit ? fit : 1, axes->results),
                   shared = least(block / (results * inner), rows);
    const unsigned exponent = exponent_up(results * inner * shared);
    *config =
        (struct launch_config){.kernel = KERNEL_TYPED_STRIDED,
                               .block = exponent < WARP ? WARP : exponent,
                               .rounds = 1,
                               .groups = divide_up(axes->results, results),
                               .splits = least(divide_up(threads, shared), MERGED * shared * inner),
                               .inner = (unsigned)inner,
                               .step = 1,
                               .strided = {.results = (unsigned)results, .rows = (unsigned)shared}};
    config->shared_bytes = problem->state << config->block;
    return true;
}

bool launch_strided(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t size = element_bytes(axes), lanes = TOGETHER / size;
    return elements_of_result(axes) / inner_run(axes) * size >= BYTES_ALONE &&
           launch(problem, lanes > LANES ? lanes : LANES, config);
}

/* Whether a small array's elements are neither rows, nor copied as they lie one after the other. */
static bool are_no_rows(const struct launch_problem *problem, uint64_t n)
{
    enum { SHORT_RUN = 32 };
    const struct axes *axes = problem->axes;
    const struct layout *reduced = &axes->reduced;
    const unsigned last = reduced->dimensions - 1;
    if (n == 1)
        return !axes_lie_flat(axes, element_bytes(axes));
    return axes_inner_columns(axes, problem->indexed) > 0 || axes_lie_across(axes) ||
           reduced->strides[last] != (int64_t)element_bytes(axes) ||
           (reduced->dimensions > 1 && reduced->shape[last] <= SHORT_RUN);
}

bool launch_small(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_of_result(axes);
    return n > 0 &&
           axes->results * n * element_bytes(axes) <=
               (uint64_t)problem->multiprocessors * tuned->axes.strided &&
           are_no_rows(problem, n) && launch(problem, LANES, config) &&
           n / config->inner <= config->splits * config->strided.rows * LOADS_SMALL * STRIDED_LOADS;
}
