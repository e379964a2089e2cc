#include "schedule/launch_problem.h"

/* ---- what axes are ---- */

static bool is_row(const struct layout *reduced)
{
    return reduced->dimensions == 0 ||
           (reduced->dimensions == 1 &&
            reduced->strides[0] == (int64_t)element_size(reduced->input));
}

bool axes_lie_flat(const struct axes *axes, uint64_t row_bytes)
{
    return is_row(&axes->reduced) && !axes->reduced.mask && axes->kept == 1 &&
           (uint64_t)axes->strides[0] == row_bytes;
}

bool axes_lie_across(const struct axes *axes)
{
    const struct layout *reduced = &axes->reduced;
    if (axes->kept == 0 || reduced->dimensions == 0)
        return false;
    const uint64_t own = layout_distance(reduced->strides[reduced->dimensions - 1]),
                   other = layout_distance(axes->strides[axes->kept - 1]);
    return other != 0 && (own == 0 || other < own);
}

unsigned axes_inner_columns(const struct axes *axes, bool indexed)
{
    enum { INNER_MAX = 64 };
    const struct layout *reduced = &axes->reduced;
    const int64_t size = (int64_t)element_bytes(axes);
    const unsigned last = reduced->dimensions - 1;
    if (axes->kept == 0 || reduced->dimensions == 0 || reduced->mask)
        return 0;
    const uint64_t inner = reduced->shape[last];
    if (axes->strides[axes->kept - 1] == size)
        return axes_lie_across(axes);
    return !indexed && axes->kept == 1 && reduced->dimensions > 1 &&
                   reduced->strides[last] == size && inner <= INNER_MAX &&
                   (inner & (inner - 1)) == 0 && axes->strides[0] == (int64_t)inner * size
               ? (unsigned)inner
               : 0;
}

uint64_t axes_row_bits(const struct axes *axes, uintptr_t data, unsigned but)
{
    uint64_t all = data;
    for (unsigned k = 0; k + but < axes->kept; k++)
        all |= (uint64_t)axes->strides[k];
    return all;
}

/* ---- what a device is asked ---- */

bool axes_are_small(const struct launch_problem *problem)
{
    const struct axes *axes = problem->axes;
    return axes->results * elements_of_result(axes) * element_bytes(axes) <
           (uint64_t)problem->multiprocessors * axes_tuning()->small;
}

struct axes_tuning axes_tuning_of_columns(const struct launch_problem *problem)
{
    enum { NARROW_ROW = 32 }; /* bytes */
    const struct axes *axes = problem->axes;
    struct axes_tuning tuning = *axes_tuning();
    const bool narrow = axes->results * element_bytes(axes) <= NARROW_ROW,
               few = elements_of_result(axes) <= AXES_SMALL_ROWS;
    if (axes_are_small(problem) && (few || narrow)) {
        tuning.block = (unsigned)least(tuning.block, tuning.small_block);
        tuning.large = (unsigned)least(tuning.large, tuning.small_large);
    }
    return tuning;
}

bool stage_rows(const struct launch_problem *problem, const struct staging *staging, uint64_t bytes,
                uint64_t loads, unsigned team, struct launch_config *config)
{
    enum { ROUNDS_MAX = 64 };
    const uint64_t results = problem->axes->results,
                   threads = (uint64_t)problem->multiprocessors * staging->threads;
    while (team < WARP && (bytes << (staging->block - team) > staging->room ||
                           (loads >> (team + 1) && results << team < threads)))
        team++;
    const uint64_t teams = (uint64_t)1 << (staging->block - team),
                   room = staging->room / (teams * bytes), busy = (results << team) / (2 * threads);
    if (room == 0)
        return false;
    config->block = staging->block;
    config->team = team;
    config->row.bytes = bytes;
    config->rounds = (unsigned)least(least(room, busy ? busy : 1), ROUNDS_MAX);
    return true;
}
