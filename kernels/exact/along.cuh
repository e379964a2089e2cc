/* Exact sums along axes, in one launch. A block sums a row or a part of one, like a flat array, or
 * it sums several adjacent columns, with windows of its own in each thread. The words in shared
 * memory are rounded by the block, or by the last of the blocks that share an output element. */
#pragma once

#include "sum.cuh"

#include "../array.cuh"

namespace KERNELS
{

/* ---- results ---- */

/* The byte offset of an output element. */
__device__ __forceinline__ int64_t offset_of_result(const kernel_exact_along &x, uint64_t result,
                                                    const int64_t (&strides)[DIMENSIONS_MAX])
{
    int64_t offset = 0;
#pragma unroll 1
    for (unsigned k = x.outer; k-- > 0;) {
        const uint64_t rest = k > 0 ? result / x.shape[k] : 0;
        offset += int64_t(result - rest * x.shape[k]) * strides[k];
        result = rest;
    }
    return offset;
}

__device__ __forceinline__ global<const char> elements_per_result(const kernel_exact_along &x,
                                                                  uint64_t result)
{
    return static_cast<const char *>(x.data) + offset_of_result(x, result, x.strides);
}

__device__ __forceinline__ global<unsigned char> output_of_result(const kernel_exact_along &x,
                                                                  uint64_t result)
{
    return static_cast<unsigned char *>(x.result.out) + x.output_offset +
           offset_of_result(x, result, x.output_strides);
}

/* Called by a warp. The exact_result is copied: reading it from the kernel argument takes more
 * registers. */
static __device__ __noinline__ void round_along(shared<const exact_word> words,
                                                const kernel_exact_along &x, uint64_t result)
{
    struct exact_result own = x.result;
    own.out = output_of_result(x, result);
    round_words(words, own);
}

/* Adds the block's words of `count` output elements from `first` on to those of all blocks that
 * share them. True for the last of these blocks, which then has the totals in `words`. */
template <class Layout>
__device__ __forceinline__ bool gathers_along(shared<exact_word> words, const kernel_exact_along &x,
                                              uint64_t first, unsigned count)
{
    const global<exact_word> all = static_cast<exact_word *>(x.words) + first * Layout::words;
    return combine_words<Layout, false>(words, count, all, x.tickets + blockIdx.x / x.splits,
                                        x.splits);
}

/* ---- rows ---- */

template <class In>
__global__ void __launch_bounds__(EXACT_ALONG_THREADS)
    exact_rows(SHARED_PARAMETER(kernel_exact_along) x)
{
    using summed = element_terms<In>;
    using layout = typename summed::layout;
    const shared<exact_word> words = block_memory<exact_word>();
    const uint64_t row = blockIdx.x / x.splits, threads = uint64_t(x.splits) * blockDim.x,
                   rank = uint64_t(blockIdx.x % x.splits) * blockDim.x + threadIdx.x;
    const global<const In> data = pointer_cast<const In>(elements_per_result(x, row));
    add_share(words, summed(x.skips_nan, x.watches), data, global<const In>(nullptr), x.n, rank,
              threads);
    if (gathers_along<layout>(words, x, row, 1) && threadIdx.x < warp_size)
        round_along(words, x, row);
}

/* ---- columns ---- */

/* Elements that a thread loads at a time. */
template <class In>
constexpr unsigned exact_at_once = 32 / (sizeof(In) > 4 ? sizeof(In) : 4);

/* Rounds a part that is finite; out of line. */
static __device__ __noinline__ uint64_t rounded_alone(const struct exact_result &result,
                                                      struct exact_leading leading)
{
    const int64_t notes[EXACT_NOTES] = {};
    return exact_round_part(&result.finish, result.rounding, result.finish.count, notes, false,
                            &leading);
}

/* Adds an element that does not fit in the windows; out of line. */
template <class In>
static __device__ __noinline__ void deposit_alone(shared<exact_word> words, In element,
                                                  bool skips_nan)
{
    add_element_to_words(words, element, skips_nan);
}

/* A thread's windows for the terms of one output element, and words for what does not fit. */
template <class In>
struct exact_column {
    using term = exact_term<In>;
    using layout = typename term::layout;
    static constexpr unsigned count = term::others ? term::fewest + 1 : term::always,
                              N = exact_at_once<In>, sums = term::sums, terms = N * term::terms;
    using own_windows = exact_windows<sums, count>;

    shared<exact_word> words;
    bool skips_nan, chosen, deposits; /* windows are chosen; something was added to the words */
    unsigned taken;                   /* terms of one sum that were added to the windows */
    own_windows windows;

    __device__ __forceinline__ exact_column(shared<exact_word> words, bool skips_nan)
        : words(words), skips_nan(skips_nan), chosen(!term::others), deposits(false), taken(0),
          windows(term::always_top + WINDOW_HEAD)
    {
    }

    static __device__ __forceinline__ double term_at(const In (&x)[N], unsigned k)
    {
        return double(term::term(x[k / term::terms], k % term::terms));
    }

    __device__ __forceinline__ void flush()
    {
#pragma unroll
        for (unsigned k = 0; k < sums * count; k++) {
            const int64_t units = windows.units(k);
            if (units)
#pragma unroll
                for (unsigned piece = 0; piece < EXACT_PIECES; piece++)
                    windows.template deposit_units<layout>(words, k, units, piece);
        }
        windows = own_windows(windows.exponent);
        deposits |= taken > 0;
        taken = 0;
    }

    /* Chooses windows with room above and below the given terms. */
    __device__ __forceinline__ void choose(const In (&x)[N])
    {
        constexpr int spare = WINDOW_STEP * int(count) - 1 - int(term::bits), highest = 1022,
                      lowest = term::lowest + 52 + int(count - 1) * WINDOW_STEP;
        exact_range seen;
#pragma unroll
        for (unsigned k = 0; k < terms; k++)
            seen.see(term_at(x, k));
        int exponent = int(seen.greatest >> 20) - 1022 + spare / 4 + WINDOW_HEAD;
        exponent = exponent < lowest ? lowest : exponent > highest ? highest : exponent;
        windows = own_windows(exponent);
        chosen = true;
    }

    __device__ __forceinline__ bool try_add(const In (&x)[N])
    {
        const bool held =
            windows.template add_if_held<count, terms>([&](unsigned k) { return term_at(x, k); });
        taken += held ? terms / sums : 0;
        return held;
    }

    __device__ __forceinline__ void take(const In (&x)[N])
    {
        if (taken + terms / sums > WINDOW_NUMBERS)
            flush();
        if (chosen && try_add(x))
            return;
        if (term::others) {
            flush();
            choose(x);
            if (try_add(x))
                return;
        }
        deposits = true;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            deposit_alone(words, x[k], skips_nan);
    }

    /* Loads N elements, with zeros in place of missing ones. Uses 16-byte loads if `whole`, for
     * contiguous and aligned elements. */
    static __device__ __forceinline__ void load(In (&x)[N], global<const char> at, int64_t next,
                                                uint64_t left, uint64_t step, bool whole)
    {
        using unit = pack<uint32_t>;
        constexpr unsigned units = N * sizeof(In) / sizeof(unit);
        if (whole && left >= N) {
            unit loaded[units];
#pragma unroll
            for (unsigned i = 0; i < units; i++)
                loaded[i] = pointer_cast<const unit>(at)[i];
            memcpy(x, loaded, sizeof x);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            x[i] = i * step < left ? *pointer_cast<const In>(at + int64_t(i) * next) : In{};
    }

    /* Adds every `step`-th of n elements from number `first` on; they are `bytes` apart. */
    __device__ __forceinline__ void take_all(global<const char> at, uint64_t first, uint64_t n,
                                             uint64_t step, int64_t bytes)
    {
        const int64_t next = int64_t(step) * bytes;
        at += int64_t(first) * bytes;
        const bool whole =
            next == int64_t(sizeof(In)) && address_of(at) % sizeof(pack<uint32_t>) == 0;
#pragma unroll 1
        for (uint64_t k = first; k < n; k += N * step, at += int64_t(N) * next) {
            In x[N];
            load(x, at, next, n - k, step, whole);
            take(x);
        }
    }

    /* The leading bits of sum s in the windows. */
    __device__ __forceinline__ struct exact_leading leading(unsigned s) const
    {
        constexpr __int128 one = 1;
        constexpr unsigned last = count - 1;
        __int128 above = 0;
#pragma unroll
        for (unsigned w = 0; w + 1 < count; w++)
            above = above * (one << WINDOW_STEP) + windows.units(s * count + w);
        const int64_t units = windows.units(s * count + last);
        above = above * (one << (WINDOW_STEP - EXACT_DIGIT_BITS)) + (units >> EXACT_DIGIT_BITS);
        return exact_leading_of(above, uint32_t(units), windows.exponent_of(last) - 52);
    }

    /* Stores an output element all of whose terms are in this thread's windows. */
    __device__ __forceinline__ void store(const kernel_exact_along &x, uint64_t result) const
    {
        const struct exact_result &of = x.result;
        uint64_t bits[EXACT_PARTS] = {};
#pragma unroll
        for (unsigned s = 0; s < sums; s++)
            bits[s] = rounded_alone(of, leading(s));
        store_rounded(of, output_of_result(x, result), bits[EXACT_REAL], bits[EXACT_IMAGINARY]);
    }
};

/* A block sums 2^lanes adjacent columns, with blockDim.x >> lanes threads each. */
template <class In>
__global__ void __launch_bounds__(EXACT_ALONG_THREADS)
    exact_columns(SHARED_PARAMETER(kernel_exact_along) x)
{
    using layout = typename exact_term<In>::layout;
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned lanes = 1u << x.lanes, lane = threadIdx.x % lanes,
                   threads = blockDim.x >> x.lanes;
    const uint64_t first = uint64_t(blockIdx.x / x.splits) << x.lanes, left = x.results - first,
                   rank = uint64_t(blockIdx.x % x.splits) * threads + (threadIdx.x >> x.lanes);
    const unsigned count = left < lanes ? unsigned(left) : lanes;
    clear_words(words, lanes * layout::words);
    __syncthreads();
    exact_column<In> column(words + lane * layout::words, x.skips_nan);
    if (lane < count)
        column.take_all(elements_per_result(x, first + lane), rank, x.n,
                        uint64_t(x.splits) * threads, x.step);
    unsigned stored = 0;
    if (lanes == blockDim.x && x.splits == 1) {
        const bool alone = lane < count && !column.deposits;
        stored = __ballot_sync(whole_warp, alone);
        if (alone)
            column.store(x, first + lane);
    }
    if (lane < count && !(stored >> lane & 1))
        column.flush();
    if (!gathers_along<layout>(words, x, first, count))
        return;
#pragma unroll 1
    for (unsigned k = threadIdx.x / warp_size; k < count; k += blockDim.x / warp_size)
        if (!(stored >> k & 1))
            round_along(words + k * layout::words, x, first + k);
}

} // namespace KERNELS
