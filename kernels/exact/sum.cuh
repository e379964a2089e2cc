/* The exact sum of a flat array, or of the products of two, in one launch. Each warp adds batches
 * of tiles in windows, which it chooses for each batch from the first terms. Tiles that do not fit
 * are added one by one to the block's words. Blocks add their words up in global memory, in any
 * order, and the last one takes the total.
 *
 * The terms are defined by a policy, `Policy`: element_terms (elements.cuh) or product_terms
 * (products.cuh). It provides `tiles`, `tile` (what a lane loads of one), `windows` for a batch,
 * and functions that add a tile: `try_add` in the windows in use, `try_add_in_all_windows` in all
 * windows, and `add_one_by_one`. */
#pragma once

#include "elements.cuh"
#include "rounding.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* ---- a warp's tiles ---- */

/* Tiles per batch, limited by the numbers that an accumulator can take. */
template <class Policy>
constexpr unsigned batch_tiles = WINDOW_NUMBERS * Policy::term::sums / Policy::terms;

/* Iterates over a warp's tiles and adds them; all lanes take the same steps. */
template <class Policy>
struct warp_adder {
    using term = typename Policy::term;
    shared<exact_word> words;
    Policy policy;
    typename Policy::tiles tiles;
    typename Policy::tile loaded; /* the next tile */

    __device__ __forceinline__ warp_adder(shared<exact_word> words, const Policy &policy,
                                          const typename Policy::tiles &tiles)
        : words(words), policy(policy), tiles(tiles)
    {
        tiles.load(loaded);
    }

    __device__ __forceinline__ void load_next()
    {
        tiles.advance();
        tiles.load(loaded);
    }

    template <class Windows>
    __device__ __forceinline__ void add(Windows &windows, const typename Policy::tile &tile,
                                        const typename Policy::tiles &here)
    {
        if (!policy.try_add(windows, tile) && !policy.try_add_in_all_windows(windows, here))
            Policy::add_one_by_one(words, here, policy.skips_nan);
    }

    /* Adds the next tile. The one after it is prefetched if there are enough registers; otherwise
     * other warps hide the latency of the loads. */
    template <class Windows>
    __device__ __forceinline__ void add_tile(Windows &windows)
    {
        if constexpr (Policy::prefetches) {
            const typename Policy::tiles here = tiles;
            typename Policy::tile tile;
            memcpy(&tile, &loaded, sizeof tile);
            load_next();
            add(windows, tile, here);
        } else {
            add(windows, loaded, tiles);
            load_next();
        }
    }

    /* Adds the next tile in windows that hold all finite numbers, or without windows. Used if most
     * numbers differ widely in magnitude, when loads are not the bottleneck. */
    template <class Windows>
    __device__ __forceinline__ void add_wide_tile(Windows &windows)
    {
        if (!term::full_windows || !policy.try_add_in_all_windows(windows, tiles))
            Policy::add_one_by_one(words, tiles, policy.skips_nan);
        tiles.advance();
    }

    /* Adds a batch of tiles, in the first `Used` windows if possible. */
    template <unsigned Used, bool Wide = false>
    __device__ __forceinline__ void add_batch(int exponent)
    {
        typename Policy::template windows<Used ? Used : 1> windows(exponent);
#pragma unroll 1
        for (unsigned count = batch_tiles<Policy>; count > 0 && !tiles.is_done(); count--)
            if constexpr (Wide)
                add_wide_tile(windows);
            else
                add_tile(windows);
        __syncwarp();
        if constexpr (Used > 0)
            windows.flush(words);
        if constexpr (Wide)
            tiles.load(loaded);
    }

    __device__ __forceinline__ void dispatch_batch(exact_choice choice)
    {
        if (choice.windows == term::min_windows)
            add_batch<term::min_windows>(choice.exponent);
        else if (choice.windows == term::min_windows + 1)
            add_batch<term::min_windows + 1>(choice.exponent);
        else
            add_batch<term::full_windows, true>(choice.exponent);
    }

    __device__ __forceinline__ void add_all()
    {
#pragma unroll 1
        while (!tiles.is_done()) {
            if constexpr (term::adaptive)
                dispatch_batch(choose_windows<term>(Policy::range_of(loaded)));
            else
                add_batch<term::full_windows>(term::full_top + WINDOW_HEADROOM);
        }
    }
};

/* Up to this many elements are added one by one, one per thread, without windows. */
constexpr uint64_t max_single = 128;

/* Adds a thread's share of n elements to its block's words, which need not be cleared before. The
 * thread is number `rank` of `threads`. If it `watches`, elements other than -0 are noted. */
template <class Policy, class In = typename Policy::element>
__device__ __forceinline__ void
add_share(shared<exact_word> words, const Policy &policy, bool watches, global<const In> data,
          global<const In> factors, uint64_t n, uint64_t rank, uint64_t threads)
{
    const aligned_packs<In> x(data, n);
    const bool few = n <= max_single && n <= threads;
    const uint64_t single = few ? rank : x.single(rank);
    warp_adder<Policy> adder(words, policy, typename Policy::tiles(x, factors, rank, threads));
    clear_words(words, Policy::layout::words);
    __syncthreads();
    if (watches)
        Policy::watch(words, data, n, rank, threads, policy.skips_nan);
    if (single < n)
        adder.policy.add_single(words, data, factors, single);
    if (!few)
        adder.add_all();
    adder.policy.finish(words);
}

/* ---- the whole array ---- */

/* Rounds the words, stores the result and posts completion, if a result is wanted; else stores the
 * words as a state, which is also posted if a host waits for it. */
__device__ __forceinline__ void store_words(shared<exact_word> words, struct exact_span span,
                                            global<exact_word> state,
                                            const struct epilogue &epilogue,
                                            const struct exact_result &result)
{
    if (result.out) {
        if (threadIdx.x < warp_size)
            round_words(words, result);
        if (threadIdx.x == 0)
            post(epilogue, uint32_t(0));
        return;
    }
    for (unsigned k = threadIdx.x; k < unsigned(exact_words_of(span)); k += blockDim.x) {
        const exact_word word = carried(words, span, k);
        state[k] = word;
        if (epilogue.mailbox) {
            const uint64_t tag = uint64_t(epilogue.tag) << 32;
            store_for_host(epilogue.mailbox + 2 * k, tag | uint32_t(word));
            store_for_host(epilogue.mailbox + 2 * k + 1, tag | word >> 32);
        }
    }
}

/* Adds a block's words of several results, one after the other, to `totals`, zeros at first,
 * which `count` blocks share. True for the last block, which then has the totals in `words`, and
 * which clears `totals` if Clears. A single block keeps its own words. */
template <class Layout, bool Clears>
__device__ __forceinline__ bool combine_words(shared<exact_word> words, unsigned results,
                                              global<exact_word> totals, global<unsigned> tickets,
                                              unsigned count)
{
    __syncthreads();
    if (count == 1)
        return true;
    for (unsigned k = threadIdx.x; k < results * Layout::words; k += blockDim.x) {
        const unsigned index = k % Layout::words;
        const exact_word word = carried(words + (k - index), Layout::span, index);
        if (word)
            atomicAdd(totals + k, word);
    }
    if (!is_last_block(tickets, count))
        return false;
    for (unsigned k = threadIdx.x; k < results * Layout::words; k += blockDim.x) {
        words[k] = __ldcg(totals + k);
        if (Clears)
            totals[k] = 0;
    }
    __syncthreads();
    return true;
}

/* The last block to draw a ticket takes the words of all blocks and clears them for the next
 * launch. */
template <class Layout>
__device__ __forceinline__ void finish_words(shared<exact_word> words, global<exact_word> state,
                                             global<struct exact_shared_words> together,
                                             const struct epilogue &epilogue,
                                             const struct exact_result &result)
{
    if (combine_words<Layout, true>(words, 1, together->words, &together->tickets, gridDim.x))
        store_words(words, Layout::span, state, epilogue, result);
}

/* Blocks may have up to 1024 threads, and the grid assumes that many per multiprocessor. */
template <class Policy, class In = typename Policy::element>
__global__ void __launch_bounds__(1024)
    exact_sum(global<const In> data, uint64_t n, global<exact_word> state,
              global<struct exact_shared_words> together, struct epilogue epilogue, enum fold fold,
              enum element, unsigned watches, SHARED_PARAMETER(struct exact_result) result,
              global<const In> factors)
{
    const shared<exact_word> words = block_memory<exact_word>();
    add_share(words, Policy(fold == FOLD_nansum), watches, data, factors, n, rank_in_grid(),
              threads_in_grid());
    finish_words<typename Policy::layout>(words, state, together, epilogue, result);
}

} // namespace KERNELS
