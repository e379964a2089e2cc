#include "plan/fastest.h"

static const uint64_t KiB = 1 << 10, MiB = 1 << 20, ANY = UINT64_MAX;

/* What is fastest: the first row that fits, as benchmarks/tuning/whole_arrays.json has it. One
 * block draws no ticket, which is why it wins wherever its own loads do not take longer than that:
 * on every GPU, so these rows ask for none in particular. How many loads are in flight, a kernel's
 * types say (kernels/vector.cuh); as many blocks as are resident are launched at most. Very large
 * arrays are brought by bulk copies; clusters are never faster. */
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
            kernel_find(facts->kernels,
                        (struct kernel_key){KERNEL_FLAT, plan->fold, plan->layout->input,
                                            plan->accumulator, method,
                                            method_at(method)->block_size}));
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
