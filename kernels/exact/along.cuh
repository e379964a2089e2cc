/* Exact sums along axes, all of them in one launch. A block takes a row, or part of it, as the
 * sum of a flat array does; or it takes neighbouring results, of which each thread adds elements in
 * windows of its own. Both leave words in shared memory, which are rounded there, or by the last of
 * the blocks that share a result. */
#pragma once

#include "sum.cuh"

#include "../array.cuh"

namespace KERNELS
{

/* ---- results ---- */

/* Where a result's elements begin, and where it goes, in bytes. */
struct exact_along_at {
    int64_t element, place;
};

__device__ __forceinline__ exact_along_at exact_position(const kernel_exact_along &x,
                                                         uint64_t result)
{
    exact_along_at at = {0, x.first};
#pragma unroll 1
    for (unsigned k = x.kept; k-- > 0;) {
        const uint64_t rest = k > 0 ? divide(result, x.shape[k]) : 0;
        const int64_t index = int64_t(result - rest * x.shape[k]);
        at.element += index * x.apart[k];
        at.place += index * x.places[k];
        result = rest;
    }
    return at;
}

__device__ __forceinline__ global<const char> exact_elements(const kernel_exact_along &x,
                                                             uint64_t result)
{
    return static_cast<const char *>(x.data) + exact_position(x, result).element;
}

__device__ __forceinline__ global<unsigned char> exact_place(const kernel_exact_along &x,
                                                             uint64_t result)
{
    return static_cast<unsigned char *>(x.result.out) + exact_position(x, result).place;
}

/* By a warp. What to do is copied: read where the kernel's argument lies, it takes kernels of
 * columns 11 registers a thread more, and a block from each multiprocessor. */
template <class Layout>
static __device__ __noinline__ void round_along(shared<exact_word> words,
                                                const kernel_exact_along &x, uint64_t result)
{
    struct exact_result own = x.result;
    own.out = exact_place(x, result);
    round_words<Layout>(words, own);
}

/* Of so many results from `first` on: whether this is the last of the blocks that share them, which
 * gets the words of all. */
template <class Layout>
__device__ __forceinline__ bool gathers_along(shared<exact_word> words, const kernel_exact_along &x,
                                              uint64_t first, unsigned count)
{
    const global<exact_word> all = static_cast<exact_word *>(x.words) + first * Layout::words;
    __syncthreads();
    if (x.splits == 1)
        return true;
    return gathers_words<Layout, false>(words, count, all, x.tickets + blockIdx.x / x.splits,
                                        x.splits);
}

/* ---- rows ---- */

template <class In>
__global__ void __launch_bounds__(EXACT_ALONG_THREADS)
    exact_rows(SHARED_PARAMETER(kernel_exact_along) x)
{
    using layout = exact_layout_of<In>;
    const shared<exact_word> words = block_memory<exact_word>();
    const uint64_t row = blockIdx.x / x.splits, threads = uint64_t(x.splits) * blockDim.x,
                   rank = uint64_t(blockIdx.x % x.splits) * blockDim.x + threadIdx.x;
    const global<const In> data = seen_as<const In>(exact_elements(x, row));
    const in_packs<In> packs(data, x.n);
    const uint64_t single = packs.single(rank);
    const unsigned unseen = x.watches ? (1u << exact_element<In>::sums) - 1 : 0;
    exact_course<In> course(words, exact_tiles<In>(packs, rank, threads),
                            exact_notes{x.leaves_out, 0, unseen});
    clear_words(words, layout::words);
    __syncthreads();
    if (single < x.n)
        course.add_single(data[single]);
    course.add_all();
    course.note_left_out();
    if (gathers_along<layout>(words, x, row, 1) && threadIdx.x < warp_size)
        round_along<layout>(words, x, row);
}

/* ---- columns ---- */

/* Elements that a thread asks for at a time. */
template <class In>
constexpr unsigned exact_at_once = sizeof(In) > 8   ? 2
                                   : sizeof(In) > 4 ? 4
                                                    : 8;

/* By itself. */
template <class In>
static __device__ __noinline__ void add_element(shared<exact_word> words, In element,
                                                bool leaves_out)
{
    if (is_left_out(element, leaves_out))
        atomicAdd(words + EXACT_NOTE_LEFT_OUT, exact_word(1));
    else
        deposit_element(words, element);
}

/* A thread's own windows for numbers of one result, and the words that take what they do not. */
template <class In>
struct exact_share {
    using kind = exact_element<In>;
    using layout = exact_layout_of<In>;
    static constexpr unsigned count = kind::others ? fewest_windows<In> + 1 : kind::always,
                              N = exact_at_once<In>, sums = kind::sums, numbers = N * kind::numbers;

    shared<exact_word> words;
    bool leaves_out, chosen, apart; /* windows are; something is in the words */
    unsigned taken;                 /* numbers of a sum, that the windows have */
    int exponent;
    exact_windows<sums, count> windows;

    __device__ __forceinline__ exact_share(shared<exact_word> words, bool leaves_out)
        : words(words), leaves_out(leaves_out), chosen(!kind::others), apart(false), taken(0),
          exponent(kind::always_top + WINDOW_ROOM), windows(exponent)
    {
    }

    static __device__ __forceinline__ double number(const In (&x)[N], unsigned k)
    {
        return double(kind::number(x[k / kind::numbers], k % kind::numbers));
    }

    /* The exponent of the last window's units. */
    __device__ __forceinline__ int unit() const
    {
        return exponent - int(count - 1) * WINDOW_APART - 52;
    }

    __device__ __forceinline__ void flush()
    {
#pragma unroll
        for (unsigned k = 0; k < sums * count; k++) {
            const int64_t own = windows.units(k, exponent);
            const int at = unit() + int(count - 1 - k % count) * WINDOW_APART;
            if (own)
                deposit(words + k / count * layout::part + EXACT_NOTES,
                        own < 0 ? uint64_t(-own) : uint64_t(own), unsigned(at - layout::lowest),
                        own < 0);
        }
        windows = exact_windows<sums, count>(exponent);
        apart |= taken > 0;
        taken = 0;
    }

    /* Windows with room above and below numbers like these. */
    __device__ __forceinline__ void choose(const In (&x)[N])
    {
        constexpr uint32_t infinity = 0x7ff00000;
        constexpr int spare = WINDOW_APART * int(count) - 1 - int(kind::bits), highest = 1022,
                      least = (layout::narrow ? layout::lowest : -1074) + 52 +
                              int(count - 1) * WINDOW_APART;
        uint32_t greatest = 0;
#pragma unroll
        for (unsigned k = 0; k < numbers; k++) {
            const uint32_t magnitude = magnitude_bits(number(x, k));
            greatest = magnitude < infinity && magnitude > greatest ? magnitude : greatest;
        }
        exponent = int(greatest >> 20) - 1022 + spare / 4 + WINDOW_ROOM;
        exponent = exponent < least ? least : exponent > highest ? highest : exponent;
        windows = exact_windows<sums, count>(exponent);
        chosen = true;
    }

    __device__ __forceinline__ bool is_added(const In (&x)[N])
    {
        const exact_windows<sums, count> before = windows;
        exact_doubts doubts;
#pragma unroll
        for (unsigned k = 0; k < numbers; k++)
            windows.template add<count>(k % sums, number(x, k), doubts);
        if (doubts.any())
            windows = before;
        else
            taken += numbers / sums;
        return !doubts.any();
    }

    __device__ __forceinline__ void take(const In (&x)[N])
    {
        if (taken + numbers / sums > WINDOW_NUMBERS)
            flush();
        if (chosen && is_added(x))
            return;
        if (kind::others) {
            flush();
            choose(x);
            if (is_added(x))
                return;
        }
        apart = true;
#pragma unroll
        for (unsigned k = 0; k < N; k++)
            add_element(words, x[k], leaves_out);
    }

    /* So many elements; zeros, where there is none, change no sum. Neighbours at a boundary come by
     * whole loads. */
    static __device__ __forceinline__ void load(In (&x)[N], global<const char> at, int64_t next,
                                                uint64_t left, uint64_t step, bool whole)
    {
        using unit = pack<uint32_t>;
        constexpr unsigned units = N * sizeof(In) / sizeof(unit);
        if (whole && left >= N) {
            unit loaded[units];
#pragma unroll
            for (unsigned i = 0; i < units; i++)
                loaded[i] = seen_as<const unit>(at)[i];
            memcpy(x, loaded, sizeof x);
            return;
        }
#pragma unroll
        for (unsigned i = 0; i < N; i++)
            x[i] = i * step < left ? *seen_as<const In>(at + int64_t(i) * next) : In{};
    }

    /* Every `step`-th of n elements from number `first` on, `bytes` from each other. */
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

    /* What the windows have of a sum: their numbers side by side, in two's complement. */
    __device__ __forceinline__ struct exact_leading leading(unsigned s) const
    {
        constexpr unsigned digits = EXACT_SHOWN, over = WINDOW_APART - EXACT_DIGIT_BITS;
        uint32_t at[digits] = {};
#pragma unroll
        for (unsigned w = 0; w < count; w++) {
            const uint64_t own = uint64_t(windows.units(s * count + w, exponent));
            const uint32_t sign = uint32_t(int64_t(own) >> 63);
            uint64_t carry = 0;
#pragma unroll
            for (unsigned k = digits; k-- > 1;)
                at[k] = at[k - 1] << over | (k > 1 ? at[k - 2] >> (32 - over) : 0);
            at[0] = 0;
#pragma unroll
            for (unsigned k = 0; k < digits; k++) {
                carry += uint64_t(at[k]) + (k == 0   ? uint32_t(own)
                                            : k == 1 ? uint32_t(own >> 32)
                                                     : sign);
                at[k] = uint32_t(carry);
                carry >>= 32;
            }
        }
        return leading_of_complement(at);
    }

    /* No digit before the first that is not 0 is left. */
    __device__ __forceinline__ struct exact_leading
    leading_of_complement(uint32_t (&at)[EXACT_SHOWN]) const
    {
        constexpr unsigned digits = EXACT_SHOWN;
        struct exact_leading leading;
        leading.place = unit();
        leading.rest = false;
        leading.negative = at[digits - 1] >> 31;
        uint32_t carry = leading.negative;
#pragma unroll
        for (unsigned k = 0; k < digits; k++) {
            at[k] = (leading.negative ? ~at[k] : at[k]) + carry;
            carry &= at[k] == 0;
        }
#pragma unroll
        for (unsigned turn = 1; turn < digits; turn++) {
            const bool moves = at[digits - 1] == 0;
#pragma unroll
            for (unsigned k = digits; k-- > 0;)
                at[k] = !moves ? at[k] : k > 0 ? at[k - 1] : 0;
            leading.place -= moves ? EXACT_DIGIT_BITS : 0;
        }
#pragma unroll
        for (unsigned k = 0; k < digits; k++)
            leading.digits[k] = at[k];
        return leading;
    }

    /* Of a thread that has all of a result in its windows. */
    __device__ __forceinline__ void store(const kernel_exact_along &x, uint64_t result) const
    {
        const struct exact_result &of = x.result;
        const int64_t notes[EXACT_NOTES] = {};
        uint64_t bits[EXACT_PARTS] = {};
#pragma unroll
        for (unsigned s = 0; s < sums; s++) {
            const struct exact_leading own = leading(s);
            bits[s] = exact_finish_part(&of.finish, of.mean, of.finish.count, notes, false, &own);
        }
        store_rounded(of, exact_place(x, result), bits[EXACT_REAL], bits[EXACT_IMAGINARY]);
    }
};

/* A block has 2^lanes neighbouring results, and as many threads for one as that leaves. */
template <class In>
__global__ void __launch_bounds__(EXACT_ALONG_THREADS)
    exact_columns(SHARED_PARAMETER(kernel_exact_along) x)
{
    using layout = exact_layout_of<In>;
    const shared<exact_word> words = block_memory<exact_word>();
    const unsigned lanes = 1u << x.lanes, lane = threadIdx.x % lanes,
                   threads = blockDim.x >> x.lanes;
    const uint64_t first = uint64_t(blockIdx.x / x.splits) << x.lanes, left = x.results - first,
                   rank = uint64_t(blockIdx.x % x.splits) * threads + (threadIdx.x >> x.lanes);
    const unsigned count = left < lanes ? unsigned(left) : lanes;
    clear_words(words, lanes * layout::words);
    __syncthreads();
    exact_share<In> share(words + lane * layout::words, x.leaves_out);
    if (lane < count)
        share.take_all(exact_elements(x, first + lane), rank, x.n, uint64_t(x.splits) * threads,
                       x.step);
    unsigned stored = 0;
    if (lanes == blockDim.x && x.splits == 1) {
        const bool alone = lane < count && !share.apart;
        stored = __ballot_sync(whole_warp, alone);
        if (alone)
            share.store(x, first + lane);
    }
    if (lane < count && !(stored >> lane & 1))
        share.flush();
    if (!gathers_along<layout>(words, x, first, count))
        return;
#pragma unroll 1
    for (unsigned k = threadIdx.x / warp_size; k < count; k += blockDim.x / warp_size)
        if (!(stored >> k & 1))
            round_along<layout>(words + k * layout::words, x, first + k);
}

} // namespace KERNELS
