#include "plan/fastest.h"

static const uint64_t KiB = 1 << 10, MiB = 1 << 20, ANY = UINT64_MAX;

/* What is fastest, by what was measured on an H200: the first row that fits. Whole calls of sums in
 * microseconds, by benchmarks/block_sizes.py; in brackets rung 21's own shape of 512 threads with
 * 32 elements each, or what several blocks take at best where one block is the fastest.
 *
 *     bytes of    1                2               4               8               16 each
 *     16 KiB      10.4 (10.9)      10.2 (11.5)     10.2            10.3            10.1
 *     64 KiB      11.6 (12.0)      10.7 (11.5)     10.5 (11.2)     10.6 (11.4)     10.7 (11.0)
 *     128 KiB     11.8 (12.2)      11.4 (12.0)     10.9 (11.4)     10.9 (11.2)     11.2 (11.7)
 *     256 KiB     12.0 (12.3)      11.4 (11.5)     11.5 (12.2)     11.1 (11.3)     11.6 (12.0)
 *     512 KiB     11.9 (12.1)      11.2 (11.6)     11.5 (12.0)     12.2 (13.0)     11.7 (12.8)
 *     1 MiB       12.6 (13.0)      11.8 (12.0)     11.7 (12.2)     12.8 (13.0)     12.1 (12.4)
 *     2 MiB       12.8 (13.0)      11.8 (11.9)     12.0 (12.2)     11.9 (12.0)     12.2 (12.3)
 *     16 MiB      16.0 (16.1)      14.2 (14.2)     13.9 (13.9)     13.8 (13.9)     13.7 (14.3)
 *
 * One block draws no ticket, which is why it wins wherever its own loads do not take longer than
 * that: on every GPU, so these rows ask for none in particular. How many loads are in flight, a
 * kernel's types say (kernels/vector.cuh); as many blocks as are resident are launched at most.
 *
 * From 1 GiB on bulk copies: by the device's own time with cold caches 0.99 of rung 21's for 4 GiB,
 * 0.992 to 0.998 for 1 GiB, the same from 64 MiB to 512 MiB, and up to 1.08 for 16 MiB. Clusters
 * are missing: a call by one of 8 blocks takes 11.3 us for 256 KiB, and rung 21 is as quick. */
static const struct {
    int capability;       /* of a GPU, at least */
    unsigned least, most; /* bytes of an element */
    uint64_t bytes;       /* of the array, at most */
    enum method_index method;
    unsigned block;        /* threads */
    unsigned thread_bytes; /* that a thread should get at least */
} rows[] = {
    {0, 1, 16, 16 * KiB, METHOD_last_block, 256, 64},
    {0, 2, 2, 64 * KiB, METHOD_last_block, 1024, 64},
    {0, 4, 16, 64 * KiB, METHOD_last_block, 512, 128},
    {0, 4, 16, 128 * KiB, METHOD_last_block, 1024, 128},
    {0, 8, 8, 256 * KiB, METHOD_last_block, 1024, 256},
    {90, 1, 1, 128 * KiB, METHOD_last_block, 128, 16},
    {90, 1, 1, 1 * MiB, METHOD_last_block, 256, 16},
    {90, 1, 1, 2 * MiB, METHOD_last_block, 512, 16},
    {90, 2, 2, 256 * KiB, METHOD_last_block, 256, 16},
    {90, 2, 16, 1 * MiB, METHOD_last_block, 256, 64},
    {90, 4, 16, 2 * MiB, METHOD_last_block, 512, 64},
    {90, 1, 1, 1024 * MiB - 1, METHOD_last_block, 512, 32},
    {90, 2, 2, 1024 * MiB - 1, METHOD_last_block, 512, 64},
    {90, 4, 16, 1024 * MiB - 1, METHOD_last_block, 512, 128},
    {90, 1, 16, ANY, METHOD_bulk, 256, 128},
};

static struct shape forced;

void fastest_force(struct shape shape)
{
    forced = shape;
}

/* It may read nothing but plain runs of some types, and older GPUs may not have it. */
static bool takes(const struct facts *facts, const struct plan *plan, enum method_index method)
{
    return method_at(method) == plan->method ||
           (!plan->exact && !plan->factors &&
            facts->capability >= method_capability(method_at(method)) && plan->on_device &&
            plan->flat && plan->direct && fold_is_on_ladder(plan->fold) &&
            facts->kernels->flat(plan->fold, method, plan->layout->input, plan->accumulator,
                                 method_at(method)->block_size));
}

static void give_shape(struct plan *plan, struct shape shape)
{
    plan->block = shape.block;
    plan->data_blocks = shape.data_blocks;
}

void fastest_choose(const struct facts *facts, struct plan *plan)
{
    if (!plan->automatic || plan->n == 0)
        return;
    if (forced.block) {
        give_shape(plan, forced);
        return;
    }
    const unsigned width = (unsigned)element_size(plan->layout->input);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (facts->capability >= rows[k].capability && width >= rows[k].least &&
            width <= rows[k].most && plan->n <= rows[k].bytes / width &&
            takes(facts, plan, rows[k].method)) {
            plan->method = method_at(rows[k].method);
            give_shape(plan, (struct shape){rows[k].block, rows[k].thread_bytes / width});
            return;
        }
}
