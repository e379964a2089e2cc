/* The reductions. */
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
