/* The exact sum of a flat array, in one launch. Each warp adds stretches of it in windows that it
 * chooses anew for each from the first numbers there; what does not fit goes to the block's words
 * one by one. Blocks leave words, which the last one adds; no order can make a difference. */
#pragma once

#include "stream.cuh"
#include "windows.cuh"

#include "common/kernels.h"

namespace KERNELS
{

/* What is asked of a thread beside the sum, and what it has found. */
struct exact_notes {
    bool leaves_out;   /* NaNs are left out: */
    unsigned left_out; /* so many */
    unsigned unseen;   /* sums of which nothing but -0 has been seen, where anybody wants to know */
};

template <class In>
using exact_layout_of = exact_layout<exact_element<In>::accumulator>;

/* ---- one by one ---- */

template <class In>
__device__ __forceinline__ bool is_left_out(In element, bool leaves_out)
{
    using kind = exact_element<In>;
    return leaves_out &&
           (is_nan(kind::number(element, 0)) || is_nan(kind::number(element, kind::numbers - 1)));
}

template <class In>
__device__ __forceinline__ void deposit_element(shared<exact_word> words, In element)
{
    using kind = exact_element<In>;
    using layout = exact_layout_of<In>;
#pragma unroll
    for (unsigned k = 0; k < kind::numbers; k++)
        deposit_number<layout, kind::bits>(words + k % kind::sums * layout::part,
                                           kind::number(element, k));
}

/* Notes the sums in which the element is something else than -0; returns those left unseen. */
template <class In>
__device__ __forceinline__ unsigned watch_element(shared<exact_word> words, In element,
                                                  unsigned unseen)
{
    using kind = exact_element<In>;
#pragma unroll
    for (unsigned k = 0; k < kind::sums; k++)
        if ((unseen >> k & 1) && bits_of(kind::number(element, k)) != uint64_t(1) << 63) {
            atomicAdd(words + k * exact_layout_of<In>::part + EXACT_NOTE_OTHERS, exact_word(1));
            unseen &= ~(1u << k);
        }
    return unseen;
}

/* Adds so many packs that no windows hold. They are read once more, and out of line, so that nobody
 * keeps registers for what is seldom. */
template <class In>
__device__ __noinline__ void add_one_by_one(shared<exact_word> words, global<const pack<In>> at,
                                            global<const pack<In>> end, unsigned apart,
                                            unsigned packs, bool leaves_out)
{
#pragma unroll 1
    for (; packs > 0 && at < end; packs--, at += apart) {
        const global<const In> elements = reinterpret_cast<const In *>(at);
#pragma unroll 1
        for (unsigned k = 0; k < pack<In>::size; k++)
            if (!is_left_out(elements[k], leaves_out))
                deposit_element(words, elements[k]);
    }
}

template <class In>
__device__ __noinline__ unsigned watch_tile(shared<exact_word> words, global<const pack<In>> at,
                                            global<const pack<In>> end, unsigned apart,
                                            bool leaves_out, unsigned unseen)
{
#pragma unroll 1
    for (unsigned packs = EXACT_SLOTS; packs > 0 && at < end; packs--, at += apart) {
        const global<const In> elements = reinterpret_cast<const In *>(at);
#pragma unroll 1
        for (unsigned k = 0; k < pack<In>::size; k++)
            if (!is_left_out(elements[k], leaves_out))
                unseen = watch_element(words, elements[k], unseen);
    }
    return unseen;
}

/* Makes zeros of NaNs, and says of how many. */
template <class In>
__device__ __forceinline__ unsigned leave_out(pack<In> &loaded)
{
    unsigned count = 0;
#pragma unroll
    for (unsigned k = 0; k < pack<In>::size; k++)
        if (is_left_out(loaded.at[k], true)) {
            loaded.at[k] = In{};
            count++;
        }
    return count;
}

/* ---- stretches ---- */

/* Tiles of a stretch: so many that no accumulator takes more numbers than it can. */
template <class In>
constexpr unsigned tiles_of_stretch =
    WINDOW_NUMBERS * exact_element<In>::sums / (EXACT_SLOTS * numbers_of_pack<In>);

/* Adds a tile in windows, while the next one's packs are sent for. Where it does not fit, all is as
 * it was, and it is added one by one. Windows that hold all there is take any pack whose numbers
 * are finite, and need not be looked at. */
template <class In, unsigned Sums, unsigned Windows>
__device__ __forceinline__ void add_tile(shared<exact_word> words,
                                         exact_windows<Sums, Windows> &sums,
                                         const exact_stream<In> &stream, exact_notes &notes)
{
    constexpr bool always = Windows == exact_element<In>::always;
    const global<const pack<In>> next = stream.next();
    const bool whole = stream.is_whole(next);
    const exact_windows<Sums, Windows> before = sums;
    uint32_t moved = 0;
    bool left = false;
#pragma unroll
    for (unsigned p = 0; p < EXACT_SLOTS; p++) {
        pack<In> loaded = stream.await(p);
        if (notes.leaves_out)
            notes.left_out += leave_out(loaded);
        bool fits = true;
        if constexpr (always)
            fits = all_finite(loaded);
        if (fits) {
#pragma unroll
            for (unsigned k = 0; k < numbers_of_pack<In>; k++)
                left |= sums.add(k % Sums, number_of(loaded, k), moved);
        } else {
            add_one_by_one(words, stream.at + p * stream.apart, stream.end, 0, 1, notes.leaves_out);
        }
        stream.send(p, next + p * stream.apart, whole);
    }
    if (!always && (left || (moved & 0xfff00000))) {
        sums = before;
        add_one_by_one(words, stream.at, stream.end, stream.apart, EXACT_SLOTS, notes.leaves_out);
    }
}

/* The same without windows. */
template <class In>
__device__ __forceinline__ void add_tile(shared<exact_word> words, const exact_stream<In> &stream,
                                         exact_notes &notes)
{
    const global<const pack<In>> next = stream.next();
#pragma unroll 1
    for (unsigned p = 0; p < EXACT_SLOTS; p++) {
        pack<In> loaded = stream.await(p);
        if (notes.leaves_out)
            notes.left_out += leave_out(loaded);
        stream.send(p, next + p * stream.apart, false);
    }
    add_one_by_one(words, stream.at, stream.end, stream.apart, EXACT_SLOTS, notes.leaves_out);
}

/* A warp adds a stretch. Without windows all numbers are added one by one. */
template <unsigned Windows, class In>
__device__ __forceinline__ void add_stretch(shared<exact_word> words, exact_stream<In> &stream,
                                            int exponent, exact_notes &notes)
{
    exact_windows<exact_element<In>::sums, Windows ? Windows : 1> sums(exponent);
#pragma unroll 1
    for (unsigned tiles = tiles_of_stretch<In>; tiles > 0 && !stream.is_over(); tiles--) {
        if (notes.unseen)
            notes.unseen = watch_tile(words, stream.at, stream.end, stream.apart, notes.leaves_out,
                                      notes.unseen);
        if constexpr (Windows > 0)
            add_tile(words, sums, stream, notes);
        else
            add_tile(words, stream, notes);
        stream.at = stream.next();
    }
    __syncwarp();
    if constexpr (Windows > 0)
        flush_windows<exact_layout_of<In>>(words, sums, exponent);
}

/* A thread's packs; all threads of a warp take the same steps. */
template <class In>
__device__ __forceinline__ void add_stretches(shared<exact_word> words, shared<void> slots,
                                              const in_packs<In> &x, exact_notes &notes)
{
    using kind = exact_element<In>;
    exact_stream<In> stream(slots, x);
#pragma unroll 1
    while (!stream.is_over()) {
        if constexpr (!kind::others) {
            add_stretch<kind::always>(words, stream, kind::always_top + WINDOW_ROOM, notes);
        } else {
            constexpr unsigned few = fewest_windows<In>;
            const pack<In> loaded = stream.await(0);
            const exact_choice choice = choose_windows<In>(range_of(loaded));
            if (choice.windows == few)
                add_stretch<few>(words, stream, choice.exponent, notes);
            else if (choice.windows == few + 1)
                add_stretch<few + 1>(words, stream, choice.exponent, notes);
            else
                add_stretch<kind::always>(words, stream, choice.exponent, notes);
        }
    }
}

/* ---- the whole array ---- */

template <class In>
__device__ __forceinline__ void add_array(shared<exact_word> words, shared<void> slots,
                                          global<const In> data, uint64_t n, exact_notes notes)
{
    const in_packs<In> x(data, n);
    const uint64_t single = x.single(rank_in_grid());
    if (single < n) {
        const In element = data[single];
        if (is_left_out(element, notes.leaves_out)) {
            notes.left_out = 1;
        } else {
            notes.unseen = watch_element(words, element, notes.unseen);
            deposit_element(words, element);
        }
    }
    add_stretches(words, slots, x, notes);
    if (notes.left_out)
        atomicAdd(words + EXACT_NOTE_LEFT_OUT, exact_word(notes.left_out));
}

/* Word k of the sum of `count` states, of which thread groups take some each. */
template <class Layout>
__device__ __forceinline__ void add_states(shared<exact_word> words,
                                           global<const exact_word> states, uint64_t count)
{
    const unsigned groups = blockDim.x / Layout::words ? blockDim.x / Layout::words : 1;
    for (unsigned t = threadIdx.x; t < groups * Layout::words; t += blockDim.x) {
        const unsigned k = t % Layout::words;
        exact_word total = 0;
#pragma unroll 4
        for (uint64_t s = t / Layout::words; s < count; s += groups)
            total += __ldcg(states + s * Layout::words + k);
        if (total)
            atomicAdd(words + k, total);
    }
}

/* Stores the words as a state and, where a host waits, posts them. */
template <class Layout>
__device__ __forceinline__ void leave_words(shared<const exact_word> words,
                                            global<exact_word> state, const struct ending &ending)
{
    for (unsigned k = threadIdx.x; k < Layout::words; k += blockDim.x) {
        const exact_word word = carried<Layout>(words, k);
        state[k] = word;
        if (ending.mailbox) {
            const uint64_t tag = uint64_t(ending.tag) << 32;
            store_for_host(ending.mailbox + 2 * k, tag | uint32_t(word));
            store_for_host(ending.mailbox + 2 * k + 1, tag | word >> 32);
        }
    }
}

/* Blocks add their words to those that `together` has, which are 0 before the launch; the last one
 * to draw a ticket takes them, and leaves zeros. A block that is alone keeps its own. */
template <class Layout>
__device__ __forceinline__ void end_with_words(shared<exact_word> words, global<exact_word> state,
                                               global<struct exact_together> together,
                                               const struct ending &ending)
{
    __syncthreads();
    if (gridDim.x > 1) {
        bool last = false;
        for (unsigned k = threadIdx.x; k < Layout::words; k += blockDim.x) {
            const exact_word word = carried<Layout>(words, k);
            if (word)
                atomicAdd(&together->words[k], word);
        }
        __threadfence();
        __syncthreads();
        if (threadIdx.x == 0)
            last = atomicInc(&together->tickets, gridDim.x - 1) == gridDim.x - 1;
        if (!__syncthreads_or(last))
            return;
        __threadfence();
        for (unsigned k = threadIdx.x; k < Layout::words; k += blockDim.x) {
            words[k] = __ldcg(&together->words[k]);
            together->words[k] = 0;
        }
        __syncthreads();
    }
    leave_words<Layout>(words, state, ending);
}

template <class In>
__global__ void exact_sum(global<const In> data, uint64_t n, global<exact_word> state,
                          global<struct exact_together> together, struct ending ending,
                          enum fold fold, enum element, unsigned watches)
{
    using layout = exact_layout_of<In>;
    const shared<exact_word> words = block_memory<exact_word>();
    clear_words(words, layout::words);
    __syncthreads();
    const unsigned unseen = watches ? (1u << exact_element<In>::sums) - 1 : 0;
    const shared<void> slots =
        block_memory<unsigned char>() + exact_words_bytes(exact_element<In>::accumulator);
    add_array(words, slots, data, n, exact_notes{fold == FOLD_nansum, 0, unseen});
    end_with_words<layout>(words, state, together, ending);
}

/* One block adds the states that pieces have left. */
template <enum element Accumulator>
__global__ void exact_merge(global<const exact_word> states, uint64_t n, global<exact_word> merged,
                            global<struct exact_together>, struct ending ending)
{
    using layout = exact_layout<Accumulator>;
    const shared<exact_word> words = block_memory<exact_word>();
    clear_words(words, layout::words);
    __syncthreads();
    add_states<layout>(words, states, n);
    __syncthreads();
    leave_words<layout>(words, merged, ending);
}

} // namespace KERNELS
