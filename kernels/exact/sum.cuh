/* The exact sum of a flat array, in one launch. Each warp adds stretches of it in windows that it
 * chooses anew for each from the first numbers there. A lane whose tile does not fit into those
 * used adds it once more in all of them, and if that fails, number by number to the block's words.
 * Blocks leave words, which the last one adds; no order can make a difference. */
#pragma once

#include "../ending.cuh"
#include "leading.cuh"
#include "tiles.cuh"
#include "whole_tiles.cuh"
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

/* Adds a tile that no windows hold. It is read once more, and out of line, so that nobody keeps
 * registers for what is seldom. */
template <class In>
__device__ __noinline__ void add_one_by_one(shared<exact_word> words, global<const pack<In>> at,
                                            global<const pack<In>> end, bool leaves_out)
{
#pragma unroll 1
    for (unsigned packs = tile_packs<In>; packs > 0 && at < end; packs--, at += warp_size) {
        const global<const In> elements = reinterpret_cast<const In *>(at);
#pragma unroll 1
        for (unsigned k = 0; k < pack<In>::size; k++)
            if (is_left_out(elements[k], leaves_out))
                atomicAdd(words + EXACT_NOTE_LEFT_OUT, exact_word(1));
            else
                deposit_element(words, elements[k]);
    }
}

/* Watches a lane's share of so many of its warp's tiles, while anything is unseen. */
template <class In>
__device__ __noinline__ unsigned watch_tiles(shared<exact_word> words, exact_tiles<In> tiles,
                                             unsigned count, bool leaves_out, unsigned unseen)
{
#pragma unroll 1
    for (unsigned packs = 0; packs < count * tile_packs<In> && unseen; packs++) {
        const global<const pack<In>> at =
            tiles.at + packs / tile_packs<In> * tiles.apart + packs % tile_packs<In> * warp_size;
        const global<const In> elements = reinterpret_cast<const In *>(at);
#pragma unroll 1
        for (unsigned k = 0; k < pack<In>::size && at < tiles.end; k++)
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

/* ---- tiles in windows ---- */

/* Adds a lane's packs in the first so many windows of each sum. Where these do not hold them, all
 * is as it was. */
template <unsigned Used, class In, unsigned Sums, unsigned Windows>
__device__ __forceinline__ bool add_packs(exact_windows<Sums, Windows> &sums,
                                          const exact_tile<In> &loaded)
{
    constexpr unsigned numbers = numbers_of_pack<In>;
    const exact_windows<Sums, Windows> before = sums;
    exact_doubts doubts;
#pragma unroll
    for (unsigned k = 0; k < tile_packs<In> * numbers; k++)
        sums.template add<Used>(k % Sums, number_of(pack_of<In>(loaded[k / numbers]), k % numbers),
                                doubts);
    if (doubts.any())
        sums = before;
    return !doubts.any();
}

/* The same in windows that hold whatever is finite. */
template <class In, unsigned Sums, unsigned Windows>
__device__ __forceinline__ bool add_finite_packs(exact_windows<Sums, Windows> &sums,
                                                 const exact_tile<In> &loaded)
{
    constexpr unsigned numbers = numbers_of_pack<In>;
    exact_doubts ignored;
    bool finite = true;
#pragma unroll
    for (unsigned p = 0; p < tile_packs<In>; p++)
        finite &= all_finite<In>(loaded[p]);
    if (finite)
#pragma unroll
        for (unsigned k = 0; k < tile_packs<In> * numbers; k++)
            sums.template add<Windows>(
                k % Sums, number_of(pack_of<In>(loaded[k / numbers]), k % numbers), ignored);
    return finite;
}

/* Whether all of a tile is finite, but for what is to be left out. */
template <class In>
__device__ __forceinline__ bool tile_is_finite(global<const pack<In>> at,
                                               global<const pack<In>> end, bool leaves_out)
{
    bool finite = true;
#pragma unroll 1
    for (unsigned packs = tile_packs<In>; packs > 0 && at < end; packs--, at += warp_size) {
        pack<In> loaded = *at;
        if (leaves_out)
            leave_out(loaded);
        finite &= all_finite<In>(pack_of<uint32_t>(loaded));
    }
    return finite;
}

/* Adds a tile in all windows: reads it once more, pack by pack, and leaves out what is to be. Where
 * they always hold what is finite, it is known beforehand whether they do, and nothing is kept. */
template <class In, unsigned Sums, unsigned Windows>
__device__ __forceinline__ bool add_again(exact_windows<Sums, Windows> &sums,
                                          global<const pack<In>> at, global<const pack<In>> end,
                                          exact_notes &notes)
{
    constexpr unsigned numbers = numbers_of_pack<In>;
    constexpr bool always = Windows == exact_element<In>::always;
    const exact_windows<Sums, Windows> before = sums;
    exact_doubts doubts;
    unsigned left_out = 0;
    if constexpr (always)
        if (!tile_is_finite<In>(at, end, notes.leaves_out))
            return false;
#pragma unroll 1
    for (unsigned packs = tile_packs<In>; packs > 0 && at < end; packs--, at += warp_size) {
        pack<In> loaded = *at;
        if (notes.leaves_out)
            left_out += leave_out(loaded);
#pragma unroll
        for (unsigned k = 0; k < numbers; k++)
            sums.template add<Windows>(k % Sums, number_of(loaded, k), doubts);
    }
    const bool held = always || !doubts.any();
    if (held)
        notes.left_out += left_out;
    else
        sums = before;
    return held;
}

/* ---- stretches ---- */

/* Tiles of a stretch: so many that no accumulator takes more numbers than it can. */
template <class In>
constexpr unsigned tiles_of_stretch =
    WINDOW_NUMBERS * exact_element<In>::sums / (tile_packs<In> * numbers_of_pack<In>);

/* A warp's way through its tiles; all lanes take the same steps. */
template <class In>
struct exact_course {
    shared<exact_word> words;
    exact_tiles<In> tiles;
    exact_notes notes;
    exact_tile<In> loaded; /* the tile that comes next */

    __device__ __forceinline__ exact_course(shared<exact_word> words, const exact_tiles<In> &tiles,
                                            const exact_notes &notes)
        : words(words), tiles(tiles), notes(notes)
    {
        tiles.load(loaded);
    }

    /* Adds one of the elements that are in no pack. */
    __device__ __forceinline__ void add_single(In element)
    {
        if (is_left_out(element, notes.leaves_out)) {
            notes.left_out++;
            return;
        }
        notes.unseen = watch_element(words, element, notes.unseen);
        deposit_element(words, element);
    }

    __device__ __forceinline__ void load_next()
    {
        tiles.at += tiles.apart;
        tiles.load(loaded);
    }

    /* Adds the next tile, first of all in so many of the windows, while the one after it is on its
     * way: but for types for which registers do not suffice. What other warps do hides their loads.
     */
    template <unsigned Used, unsigned Sums, unsigned Windows>
    __device__ __forceinline__ void add_tile(exact_windows<Sums, Windows> &sums,
                                             const tile_bounds<In> &bounds)
    {
        constexpr bool ahead = !may_be_whole<In>;
        const global<const pack<In>> here = tiles.at;
        exact_tile<In> tile;
        memcpy(&tile, &loaded, sizeof tile);
        if (ahead)
            load_next();
        if (!is_added_whole(sums, tile, bounds) && !is_added<Used>(sums, tile) &&
            !add_again<In>(sums, here, tiles.end, notes))
            add_one_by_one(words, here, tiles.end, notes.leaves_out);
        if (!ahead)
            load_next();
    }

    template <unsigned Sums, unsigned Windows>
    __device__ __forceinline__ bool is_added_whole(exact_windows<Sums, Windows> &sums,
                                                   const exact_tile<In> &tile,
                                                   const tile_bounds<In> &bounds)
    {
        if constexpr (may_be_whole<In>)
            if (sums.have_room() && (bounds.have_all(tile) || bounds.have_all_but_zeros(tile))) {
                add_whole<In>(sums, tile);
                return true;
            }
        return false;
    }

    template <unsigned Used, unsigned Sums, unsigned Windows>
    __device__ __forceinline__ bool is_added(exact_windows<Sums, Windows> &sums,
                                             const exact_tile<In> &tile)
    {
        if constexpr (Windows == exact_element<In>::always)
            return add_finite_packs<In>(sums, tile);
        else
            return add_packs<Used, In>(sums, tile);
    }

    /* Adds a stretch's tiles. */
    template <unsigned Used, unsigned Windows>
    __device__ __forceinline__ void add_stretch(int exponent)
    {
        exact_windows<exact_element<In>::sums, Windows> sums(exponent);
        const tile_bounds<In> bounds(exponent);
#pragma unroll 1
        for (unsigned count = tiles_of_stretch<In>; count > 0 && !tiles.is_over(); count--)
            add_tile<Used>(sums, bounds);
        __syncwarp();
        flush_windows<exact_layout_of<In>>(words, sums, exponent);
    }

    /* Adds them in windows that hold whatever is finite, or without windows: where most numbers
     * are far from one another, and time goes elsewhere than to loads. */
    __device__ __forceinline__ void add_far_stretch(int exponent)
    {
        using kind = exact_element<In>;
        exact_windows<kind::sums, kind::always ? kind::always : 1> sums(exponent);
#pragma unroll 1
        for (unsigned count = tiles_of_stretch<In>; count > 0 && !tiles.is_over(); count--) {
            bool held = false;
            if constexpr (kind::always > 0)
                held = add_again<In>(sums, tiles.at, tiles.end, notes);
            if (!held)
                add_one_by_one(words, tiles.at, tiles.end, notes.leaves_out);
            tiles.at += tiles.apart;
        }
        __syncwarp();
        if constexpr (kind::always > 0)
            flush_windows<exact_layout_of<In>>(words, sums, exponent);
        tiles.load(loaded);
    }

    __device__ __forceinline__ void add_stretch_as(exact_choice choice)
    {
        constexpr unsigned few = fewest_windows<In>;
        if (choice.windows == few)
            add_stretch<few, few + 1>(choice.exponent);
        else if (choice.windows == few + 1)
            add_stretch<few + 1, few + 1>(choice.exponent);
        else
            add_far_stretch(choice.exponent);
    }

    __device__ __forceinline__ void add_all()
    {
        using kind = exact_element<In>;
#pragma unroll 1
        while (!tiles.is_over()) {
            if (notes.unseen)
                notes.unseen =
                    watch_tiles(words, tiles, tiles_of_stretch<In>, notes.leaves_out, notes.unseen);
            if constexpr (kind::others)
                add_stretch_as(choose_windows<In>(range_of(pack_of<In>(loaded[0]))));
            else
                add_stretch<kind::always, kind::always>(kind::always_top + WINDOW_ROOM);
        }
    }

    /* Notes what has been left out, at the end. */
    __device__ __forceinline__ void note_left_out()
    {
        if (notes.left_out)
            atomicAdd(words + EXACT_NOTE_LEFT_OUT, exact_word(notes.left_out));
    }
};

/* ---- the whole array ---- */

/* So many elements are added one by one, a thread each, sooner than windows are made for them. */
constexpr uint64_t exact_few = 128;

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

/* Stores the result of the words, if that is asked for, and posts that it has; else the words, as a
 * state, which is posted where a host waits. */
template <class Layout>
__device__ __forceinline__ void leave_words(shared<exact_word> words, global<exact_word> state,
                                            const struct ending &ending,
                                            const struct exact_result &result)
{
    if (result.out) {
        if (threadIdx.x < warp_size)
            round_words<Layout>(words, result);
        if (threadIdx.x == 0)
            post(ending, uint32_t(0));
        return;
    }
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

/* Words of so many results, one result's after the other's: those of a block, and those that
 * `count` blocks have together, which are 0 before. Adds the one to the other; whether this block
 * is the last of them, which gets the sums and may leave zeros. */
template <class Layout, bool LeavesZeros>
__device__ __forceinline__ bool gathers_words(shared<exact_word> words, unsigned results,
                                              global<exact_word> together, global<unsigned> tickets,
                                              unsigned count)
{
    for (unsigned k = threadIdx.x; k < results * Layout::words; k += blockDim.x) {
        const unsigned of_result = k % Layout::words;
        const exact_word word = carried<Layout>(words + (k - of_result), of_result);
        if (word)
            atomicAdd(together + k, word);
    }
    if (!is_last_block(tickets, count))
        return false;
    for (unsigned k = threadIdx.x; k < results * Layout::words; k += blockDim.x) {
        words[k] = __ldcg(together + k);
        if (LeavesZeros)
            together[k] = 0;
    }
    __syncthreads();
    return true;
}

/* The last block to draw a ticket takes the words of all, which are zeros again for the next
 * launch. A block that is alone keeps its own. */
template <class Layout>
__device__ __forceinline__ void end_with_words(shared<exact_word> words, global<exact_word> state,
                                               global<struct exact_together> together,
                                               const struct ending &ending,
                                               const struct exact_result &result)
{
    __syncthreads();
    if (gridDim.x == 1 ||
        gathers_words<Layout, true>(words, 1, together->words, &together->tickets, gridDim.x))
        leave_words<Layout>(words, state, ending, result);
}

/* Blocks may have 1024 threads, and grids are made for as many on a multiprocessor. */
template <class In>
__global__ void __launch_bounds__(1024)
    exact_sum(global<const In> data, uint64_t n, global<exact_word> state,
              global<struct exact_together> together, struct ending ending, enum fold fold,
              enum element, unsigned watches, SHARED_PARAMETER(struct exact_result) result)
{
    using layout = exact_layout_of<In>;
    const shared<exact_word> words = block_memory<exact_word>();
    const in_packs<In> x(data, n);
    const bool few = n <= exact_few && n <= threads_in_grid();
    const uint64_t single = few ? rank_in_grid() : x.single(rank_in_grid());
    const unsigned unseen = watches ? (1u << exact_element<In>::sums) - 1 : 0;
    exact_course<In> course(words, exact_tiles<In>(x, rank_in_grid(), threads_in_grid()),
                            exact_notes{fold == FOLD_nansum, 0, unseen});
    clear_words(words, layout::words);
    __syncthreads();
    if (single < n)
        course.add_single(data[single]);
    if (!few)
        course.add_all();
    course.note_left_out();
    end_with_words<layout>(words, state, together, ending, result);
}

/* One block adds the states that pieces have left. */
template <class Layout>
__global__ void exact_merge(global<const exact_word> states, uint64_t n, global<exact_word> merged,
                            global<struct exact_together>, struct ending ending, enum fold,
                            enum element, unsigned, SHARED_PARAMETER(struct exact_result) result)
{
    const shared<exact_word> words = block_memory<exact_word>();
    clear_words(words, Layout::words);
    __syncthreads();
    add_states<Layout>(words, states, n);
    __syncthreads();
    leave_words<Layout>(words, merged, ending, result);
}

} // namespace KERNELS
