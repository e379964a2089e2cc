/* All reductions. */
#pragma once

#include "reductions/extremes.cuh"
#include "reductions/logsumexp.cuh"
#include "reductions/nan.cuh"
#include "reductions/nonzero.cuh"
#include "reductions/norm.cuh"
#include "reductions/prod.cuh"
#include "reductions/sum.cuh"
#include "reductions/summary.cuh"
#include "reductions/variance.cuh"

namespace KERNELS
{

/* Whether a fold reduces integers in 64 bits. */
template <template <class> class Fold>
constexpr bool widens =
    std::is_same_v<Fold<int64_t>, sum<int64_t>> || std::is_same_v<Fold<int64_t>, prod<int64_t>>;

} // namespace KERNELS
