#include "plan/fastest.h"

/* On an H200, by the device's own time with cold caches, as a share of rung 21's for sums of
 * float32, float64, int32 and int64: 0.99 of it for 4 GiB, 0.992 for 2 GiB, 0.992 to 0.998 for 1
 * GiB, the same from 64 MiB to 512 MiB, and up to 1.08 for 16 MiB. Clusters are missing: a call by
 * one of 8 blocks takes 11.3 us for 256 KiB, and so does one by rung 21 with 8 elements a thread;
 * for 64 KiB and from 512 KiB on rung 21 is ahead. */
static const struct {
    enum method_index method;
    uint64_t least; /* bytes of the array */
} rows[] = {
    {METHOD_bulk, 1 << 30},
};

/* It may read nothing but plain runs of some types, and older GPUs may not have it. */
static bool takes(const struct facts *facts, const struct plan *plan, enum method_index method)
{
    return !plan->exact && facts->capability >= method_capability(method_at(method)) &&
           plan->on_device && plan->flat && plan->direct && fold_is_on_ladder(plan->fold) &&
           facts->kernels->flat(plan->fold, method, plan->layout->input, plan->accumulator,
                                method_at(method)->block_size);
}

void fastest_choose(const struct facts *facts, struct plan *plan)
{
    if (!plan->automatic || plan->n == 0)
        return;
    const uint64_t bytes = plan->n * element_size(plan->layout->input);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (bytes >= rows[k].least && takes(facts, plan, rows[k].method)) {
            plan->method = method_at(rows[k].method);
            plan->block = plan->method->block_size;
            plan->data_blocks = plan->method->data_blocks;
        }
}
