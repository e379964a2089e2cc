/* Rows that a load of 16 bytes takes one or several of are folded where they are loaded to. Others
 * are staged in shared memory, where one thread reads a row, as long as so much of it fits, one
 * after the other however they lie elsewhere. */
#include "plan/launch_problem.h"

/* How often a number can be halved. */
static unsigned twos_of(uint64_t n)
{
    return (unsigned)__builtin_ctzll(n);
}

/* A power of two of elements, which begin where a load can. */
static bool pack_rows(uint64_t n, uint64_t bytes, uintptr_t data, struct launch_config *config)
{
    const unsigned block = short_rows_tuning()->several;
    if (!block || n < 2 || bytes > PACK_BYTES || bytes & (bytes - 1) || data % PACK_BYTES)
        return false;
    config->row.packed = (unsigned)n;
    config->block = block;
    config->rounds = (unsigned)least(ROWS_IN_REGISTERS, BYTES_IN_REGISTERS / bytes);
    return true;
}

/* Rows are a multiple of 2^even packs: so far apart is what threads of several rows read at a time,
 * and with an even number in few banks. The number of a pack's place in all banks is mixed with
 * what counts rows, but for its bits that tell packs of a team's threads apart. */
static void swizzle(unsigned even, struct launch_config *config)
{
    enum { BANKS = 3 }; /* packs that fill them once, as an exponent */
    const unsigned own = (1u << config->team) - 1;
    config->row.swizzle_mask = ((1u << least(even, BANKS)) - 1) & ~own;
    config->row.swizzle_shift =
        config->row.swizzle_mask ? (even > BANKS ? even : BANKS) - config->team : 0;
}

/* As many threads a row as share what there is room for, and more where rows are few. Loads are as
 * long as all rows are multiples of: neighbouring threads, an odd number of loads apart, then read
 * from different banks. The first row is to be so far after a boundary. Behind the rows is room for
 * what lies before a boundary, the last of eight packs that are swizzled, and a word. */
static bool stage(const struct launch_problem *problem, uint64_t n, uint64_t bytes, uint64_t behind,
                  struct launch_config *config)
{
    enum { TOGETHER = 3, AROUND = 8 * PACK_BYTES };
    const struct short_rows_tuning *tuning = short_rows_tuning();
    const struct staging staging = {tuning->staging, tuning->staged, tuning->threads};
    const unsigned boundary = twos_of(bytes | behind | PACK_BYTES),
                   load = boundary - twos_of(bytes / n);
    const uint64_t loads = n >> load;
    const bool swizzles = tuning->turns && boundary == twos_of(PACK_BYTES);
    const unsigned team = swizzles ? 0 : (unsigned)least(twos_of(loads), TOGETHER);
    if (!stage_rows(problem, &staging, bytes, loads, team, config))
        return false;
    config->load = load;
    config->shared_bytes =
        (size_t)(bytes * config->rounds << (config->block - config->team)) + AROUND;
    if (swizzles)
        swizzle(twos_of(loads), config);
    return true;
}

/* ---- rows that lie apart ---- */

/* Whether every second element is one of a row's, up to the last row's last. */
static bool goes_on_by_twos(const struct axes *axes, uint64_t n, uint64_t size)
{
    const struct layout *reduced = &axes->reduced;
    return reduced->dimensions == 1 && reduced->strides[0] == (int64_t)(2 * size) &&
           axes->strides[0] == (int64_t)(2 * n * size);
}

/* Bytes that lie together wherever a row or, if its elements lie apart, one of these begins. */
static unsigned unit_of(const struct axes *axes, uint64_t bytes, uint64_t size, uintptr_t data)
{
    const struct layout *reduced = &axes->reduced;
    if (reduced->dimensions == 1 && reduced->strides[0] != (int64_t)size)
        return (unsigned)size;
    const uint64_t all = data | bytes | PACK_BYTES | (uint64_t)axes->strides[0];
    return (unsigned)(all & -all);
}

/* Rows and their elements at one distance each, and neither among other rows' elements: where the
 * first row is to be after a boundary, in bytes. False: they are not of those. */
static bool lie_apart(const struct launch_problem *problem, uint64_t n, uint64_t bytes,
                      struct launch_config *config, uint64_t *behind)
{
    const struct axes *axes = problem->axes;
    const uint64_t size = bytes / n;
    if (axes->reduced.dimensions > 1 || axes->reduced.mask || axes->kept != 1 ||
        size > PACK_BYTES / 2 || axes_lie_across(axes))
        return false;
    config->step = goes_on_by_twos(axes, n, size) ? 2 : 1;
    config->row.unit =
        config->step == 2 ? (unsigned)size : unit_of(axes, bytes, size, problem->data);
    *behind = config->step == 2 ? problem->data % PACK_BYTES / (2 * size) * size : 0;
    return true;
}

bool launch_short_rows(const struct launch_problem *problem, struct launch_config *config)
{
    const struct axes *axes = problem->axes;
    const uint64_t n = elements_of_result(axes), bytes = n * element_bytes(axes);
    uint64_t behind = problem->data;
    *config = (struct launch_config){
        .kernel = KERNEL_TYPED_SHORT_ROWS, .splits = 1, .inner = 1, .step = 1};
    if (n == 0 || bytes > short_rows_tuning()->longest)
        return false;
    const bool flat = axes_lie_flat(axes, bytes);
    if (!flat && !lie_apart(problem, n, bytes, config, &behind))
        return false;
    if (!(flat && pack_rows(n, bytes, problem->data, config)) &&
        !stage(problem, n, bytes, behind, config))
        return false;
    config->groups =
        divide_up(axes->results, (uint64_t)config->rounds << (config->block - config->team));
    return true;
}
