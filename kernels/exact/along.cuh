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
__device__ __forceinline__ int64_t result_offset(const kernel_exact_along &x, uint64_t result,
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

__device__ __forceinline__ global<const char> elements_of_result(const kernel_exact_along &x,
                                                                 uint64_t result)
{
    return static_cast<const char *>(x.data) + result_offset(x, result, x.strides);
}

__device__ __forceinline__ global<unsigned char> output_of_result(const kernel_exact_along &x,
                                                                  uint64_t result)
{
    return static_cast<unsigned char *>(x.result.out) + x.output_offset +
           result_offset(x, result, x.output_strides);
}

/* Called by a warp. The exact_result is copied: reading it from the kernel argument takes more
 * registers. */
static __device__ __noinline__ void round_result(shared<const exact_word> words,
                                                 const kernel_exact_along &x, uint64_t result)
{
    struct exact_result target = x.result;
    target.out = output_of_result(x, result);
    round_words(words, target);
}

/* Adds the block's words of `count` output elements from `first` on to those of all blocks that
 * share them. True for the last of these blocks, which then has the totals in `words`. */
template <class Layout>
__device__ __forceinline__ bool merge_blocks(shared<exact_word> words, const kernel_exact_along &x,
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
    using policy = element_terms<In>;
    using layout = typename policy::layout;
    const shared<exact_word> words = block_memory<exact_word>();
    const uint64_t row = blockIdx.x / x.splits, threads = uint64_t(x.splits) * blockDim.x,
                   rank = uint64_t(blockIdx.x % x.splits) * blockDim.x + threadIdx.x;
    const global<const In> data = pointer_cast<const In>(elements_of_result(x, row));
    add_share(words, policy(x.skips_nan), x.watches, data, global<const In>(nullptr), x.n, rank,
              threads);
    if (merge_blocks<layout>(words, x, row, 1) && threadIdx.x < warp_size)
        round_result(words, x, row);
}

/* ---- columns ---- */

/* Elements that a thread loads at a time. */
template <class In>
constexpr unsigned exact_load_size = 32 / (sizeof(In) > 4 ? sizeof(In) : 4);

/* Rounds a part that is finite; out of line. */
static __device__ __noinline__ uint64_t round_finite(const struct exact_result &result,
                                                     struct exact_leading leading)
{
    const int64_t notes[EXACT_HEADER] = {};
    return exact_round_part(&result.finish, result.rounding, result.finish.count, notes, false,
                            &leading);
}

/* Adds an element that does not fit in the windows; out of line. */
template <class In>
static __device__ __noinline__ void deposit_element(shared<exact_word> words, In element,
                                                    bool skips_nan)
{
    add_element_to_words(words, element, skips_nan);
}

/* A thread's windows for the terms of one output element, and words for what does not fit. */
template <class In>
struct exact_column {
    using term = exact_term<In>;
    using layout = typename term::layout;
    static constexpr unsigned count = term::adaptive ? term::min_windows + 1 : term::full_windows,
                              N = exact_load_size<In>, sums = term::sums, terms = N * term::terms;
    using column_windows = exact_windows<sums, count>;

    shared<exact_word> words;
    bool skips_nan, has_windows, has_words; /* windows are chosen; something was added to words */
    unsigned added;                         /* terms of one sum that were added to the windows */
    column_windows windows;

    __device__ __forceinline__ exact_column(shared<exact_word> words, bool skips_nan)
        : words(words), skips_nan(skips_nan), has_windows(!term::adaptive), has_words(false),
          added(0), windows(term::full_top + WINDOW_HEADROOM)
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
        windows = column_windows(windows.exponent);
        has_words |= added > 0;
        added = 0;
    }

    /* Chooses windows with room above and below the given terms. */
    __device__ __forceinline__ void choose(const In (&x)[N])
    {
        constexpr int spare = WINDOW_STEP * int(count) - 1 - int(term::bits), highest = 1022,
                      lowest = term::lowest + 52 + int(count - 1) * WINDOW_STEP;
        exact_range range;
#pragma unroll
        for (unsigned k = 0; k < terms; k++)
            range.add(term_at(x, k));
        int exponent = int(range.greatest >> 20) - 1022 + spare / 4 + WINDOW_HEADROOM;
        exponent = exponent < lowest ? lowest : exponent > highest ? highest : exponent;
        windows = column_windows(exponent);
        has_windows = true;
    }

    __device__ __forceinline__ bool try_add(const In (&x)[N])
    {
        const bool held =
            windows.template try_add_all<count, terms>([&](unsigned k) { return term_at(x, k); });
        added += held ? terms / sums : 0;
        return held;
    }

    __device__ __forceinline__ void add(const In (&x)[N])
    {
        if (added + terms / sums > WINDOW_NUMBERS)
            flush();
        if (has_windows && try_add(x))
            return;
        if (term::adaptive) {
            flush();
            choose(x);
            if (try_add(x))
                return;
        }
        has_words = true;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            deposit_element(words, x[k], skips_nan);
    }

    /* Loads N elements, with zeros in place of missing ones. Uses 16-byte loads if `contiguous`,
     * for contiguous and aligned elements. */
    static __device__ __forceinline__ void load(In (&x)[N], global<const char> at, int64_t stride,
                                                uint64_t left, uint64_t step, bool contiguous)
    {
        using unit = pack<uint32_t>;
        constexpr unsigned units = N * sizeof(In) / sizeof(unit);
        if (contiguous && left >= N) {
            unit loaded[units];
#pragma unroll
            for (unsigned i = 0; i < units; i++)
                loaded[i] = pointer_cast<const unit>(at)[i];
            memcpy(x, loaded, sizeof x);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            x[i] = i * step < left ? *pointer_cast<const In>(at + int64_t(i) * stride) : In{};
    }

    /* Adds every `step`-th of n elements from number `first` on; they are `bytes` apart. */
    __device__ __forceinline__ void add_all(global<const char> at, uint64_t first, uint64_t n,
                                            uint64_t step, int64_t bytes)
    {
        const int64_t stride = int64_t(step) * bytes;
        at += int64_t(first) * bytes;
        const bool contiguous =
            stride == int64_t(sizeof(In)) && address_of(at) % sizeof(pack<uint32_t>) == 0;
#pragma unroll 1
        for (uint64_t k = first; k < n; k += N * step, at += int64_t(N) * stride) {
            In x[N];
            load(x, at, stride, n - k, step, contiguous);
            add(x);
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
            bits[s] = round_finite(of, leading(s));
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
        column.add_all(elements_of_result(x, first + lane), rank, x.n, uint64_t(x.splits) * threads,
                       x.step);
    unsigned stored = 0;
    if (lanes == blockDim.x && x.splits == 1) {
        const bool in_windows = lane < count && !column.has_words;
        stored = __ballot_sync(whole_warp, in_windows);
        if (in_windows)
            column.store(x, first + lane);
    }
    if (lane < count && !(stored >> lane & 1))
        column.flush();
    if (!merge_blocks<layout>(words, x, first, count))
        return;
#pragma unroll 1
    for (unsigned k = threadIdx.x / warp_size; k < count; k += blockDim.x / warp_size)
        if (!(stored >> k & 1))
            round_result(words + k * layout::words, x, first + k);
}

} // namespace KERNELS
