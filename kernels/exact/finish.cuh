/* What becomes of states that launches before have left: they are merged, or rounded. */
#pragma once

#include "sum.cuh"

namespace KERNELS
{

/* Adds `count` states of so many words, of which thread groups take some each. */
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

/* One block adds the states that pieces have left. */
__global__ void exact_merge(global<const exact_word> states, uint64_t n, global<exact_word> merged,
                            global<struct exact_together>, struct epilogue epilogue, enum fold,
                            enum element, unsigned, SHARED_PARAMETER(struct exact_result) result)
{
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned size = unsigned(exact_words_of(result.span));
    clear_words(words, size);
    __syncthreads();
    add_states(words, states, n, size);
    __syncthreads();
    leave_words(words, result.span, merged, epilogue, result);
}

/* By a warp: a part's words with what the sum begins with, among all digits that there are. */
__device__ __forceinline__ void spread_part(shared<exact_word> words,
                                            global<const exact_word> state, struct exact_span span,
                                            const struct finish &how, int part)
{
    const int lane = int(threadIdx.x);
    for (int k = lane; k < EXACT_NOTES + EXACT_DIGITS; k += int(warp_size)) {
        const int digit = k - EXACT_NOTES - span.first;
        const bool reached = digit >= 0 && digit < span.digits;
        words[k] = k < EXACT_NOTES ? state[k] : reached ? state[EXACT_NOTES + digit] : 0;
    }
    __syncwarp();
    if (lane == 0 && how.has_initial)
        exact_words_begin(&how, part, seen_as<int64_t>(words));
    __syncwarp();
}

/* One warp: where the launch that made the words does not make the result, too, as it begins with
 * something, or is of products, or nothing was added. `counted` is the device's own count of what
 * took part, null where the host knows. */
__global__ void exact_finish(global<const exact_word> state,
                             SHARED_PARAMETER(struct exact_result) result,
                             global<const uint64_t> counted, struct epilogue epilogue)
{
    const shared<exact_word> words = block_memory<exact_word>();
    const struct finish &how = result.finish;
    const struct exact_span span = result.span, all = {0, EXACT_DIGITS, 1};
    const uint64_t count = (counted ? *counted : how.count) - state[EXACT_NOTE_LEFT_OUT];
    store_parts(result, [&](int part) {
        spread_part(words, state + part * exact_words_of_part(span), span, how, part);
        return rounded_part(words, all, result, count, exact_begins_negative(&how, part));
    });
    if (threadIdx.x == 0)
        post(epilogue, uint32_t(0));
}

} // namespace KERNELS
