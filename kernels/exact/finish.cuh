/* Kernels that merge or round the superaccumulator states of earlier launches. */
#pragma once

#include "sum.cuh"

namespace KERNELS
{

/* Adds `count` states of `size` words each; groups of `size` threads take turns. */
__device__ __forceinline__ void
add_states(shared<exact_word> words, global<const exact_word> states, uint64_t count, unsigned size)
{
    const unsigned groups = blockDim.x / size ? blockDim.x / size : 1;
    for (unsigned t = threadIdx.x; t < groups * size; t += blockDim.x) {
        const unsigned k = t % size;
        exact_word total = 0;
#pragma unroll 4
        for (uint64_t s = t / size; s < count; s += groups)
            total += __ldcg(states + s * size + k);
        if (total)
            atomicAdd(words + k, total);
    }
}

/* Adds the states of an array's pieces, in one block. */
__global__ void exact_merge(global<const exact_word> states, uint64_t n, global<exact_word> merged,
                            global<struct exact_shared_words>, struct epilogue epilogue, enum fold,
                            enum element, unsigned, SHARED_PARAMETER(struct exact_result) result)
{
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned size = unsigned(exact_words_of(result.span));
    clear_words(words, size);
    __syncthreads();
    add_states(words, states, n, size);
    __syncthreads();
    store_words(words, result.span, merged, epilogue, result);
}

/* Called by a warp. Expands a part's words to all digits and adds the initial value. */
__device__ __forceinline__ void expand_part(shared<exact_word> words,
                                            global<const exact_word> state, struct exact_span span,
                                            const struct finish &how, int part)
{
    const int lane = int(threadIdx.x);
    for (int k = lane; k < EXACT_HEADER + EXACT_DIGITS; k += int(warp_size)) {
        const int digit = k - EXACT_HEADER - span.first;
        const bool stored = digit >= 0 && digit < span.digits;
        words[k] = k < EXACT_HEADER ? state[k] : stored ? state[EXACT_HEADER + digit] : 0;
    }
    __syncwarp();
    if (lane == 0 && how.has_initial)
        exact_words_add_initial(&how, part, pointer_cast<int64_t>(words));
    __syncwarp();
}

/* Rounds a state, in one warp. Used if the launch that summed does not store the result itself: if
 * there is an initial value, or products are summed, or nothing was added. `counted` is the number
 * of elements if the device counted them, else null. */
__global__ void exact_finish(global<const exact_word> state,
                             SHARED_PARAMETER(struct exact_result) result,
                             global<const uint64_t> counted, struct epilogue epilogue)
{
    const shared<exact_word> words = block_memory<exact_word>();
    const struct finish &how = result.finish;
    const struct exact_span span = result.span, all = {0, EXACT_DIGITS, 1};
    const uint64_t count = (counted ? *counted : how.count) - state[EXACT_SKIPPED];
    store_parts(result, [&](int part) {
        expand_part(words, state + part * exact_words_of_part(span), span, how, part);
        return round_part(words, all, result, count, exact_allows_negative_zero(&how, part));
    });
    if (threadIdx.x == 0)
        post(epilogue, uint32_t(0));
}

} // namespace KERNELS
