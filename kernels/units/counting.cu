/* Instantiates the rungs for sums once more, for the simulated device only, with pointers that
 * count accesses. */
#define GRED_COUNTING

#include "../lab/counted_fold.cuh"
#include "../reductions/sum.cuh"

#define RUNG_FOLD counted_sum
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
