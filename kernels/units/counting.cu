/* Instantiates the rungs for sums once more, for the simulated device alone, with pointers that
 * count. What is counted does not depend on a block size that is known at compile time, so only the
 * one rung has it that cannot do without. */
#define GRED_COUNTING

#include "../lab/counted_fold.cuh"
#include "../reductions/sum.cuh"

#define RUNG_FOLD             counted_sum
#define EACH_BLOCK(block)     0
#define COMPILED_BLOCK(block) 0
#define RUNG_LATER

namespace KERNELS
{
template <class Acc>
using counted_sum = counted<sum<Acc>>;
} // namespace KERNELS

#include "rungs.cuh"

const void *counting_flat(struct kernel_key key)
{
    return key.fold == FOLD_sum ? KERNELS::rung_kernel<true>(key) : nullptr;
}
