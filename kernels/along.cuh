/* Reductions along axes. A team of threads, 2^team of a block, folds what becomes one result; what
 * lies in memory decides which threads are a team. Where a result's own elements are neighbours,
 * neighbouring threads are: rows. Where neighbours belong to different results, neighbouring
 * threads work `abreast`: columns. A team reads as the default method reads what is not flat
 * (strided.cuh), so one kernel of a fold serves every layout and type.
 *
 * Short rows that lie one after the other are brought to shared memory first, all of a block's by
 * loads of 16 bytes. Where results are few and long, several blocks split each; the last of them to
 * end folds what they left, always in the same order, and makes the results. */
#pragma once

#include "results.cuh"
#include "strided.cuh"

namespace KERNELS
{

/* A struct kernel_axes, under a name of this namespace. */
struct along : kernel_axes {};

/* A thread's place among those of its block. */
struct teammate {
    unsigned result; /* among the block's own */
    unsigned number; /* in the team */
    unsigned apart;  /* threads between two teammates */
    unsigned teams;  /* in the block, as many as results */
};

__device__ __forceinline__ teammate place_in_team(const kernel_axes &x)
{
    const unsigned thread = threadIdx.x, teams = blockDim.x >> x.team;
    if (x.abreast)
        return {thread & (teams - 1), thread / teams, teams, teams};
    return {thread >> x.team, thread & ((1u << x.team) - 1), 1, teams};
}

/* ---- what a team has ---- */

/* The team's first thread gets the fold of all its threads' values. By all threads of a block;
 * whoever calls it twice puts a barrier in between. */
template <class Fold, class T>
__device__ __forceinline__ T team_fold(const kernel_axes &x, const teammate &me, T value)
{
    const unsigned in_warp = me.apart < warp_size ? warp_size / me.apart : 1, size = 1u << x.team,
                   together = size < in_warp ? size : in_warp;
#pragma unroll 1
    for (unsigned offset = together / 2; offset > 0; offset /= 2)
        value = Fold::merge(value, shuffle_down(value, offset * me.apart));
    if (together == size)
        return value;
    const shared<T> parts = block_memory<T>();
    if (me.number % together == 0)
        parts[me.number / together * me.teams + me.result] = value;
    __syncthreads();
    if (me.number == 0)
#pragma unroll 1
        for (unsigned part = 1; part < size / together; part++)
            value = Fold::merge(value, parts[part * me.teams + me.result]);
    return value;
}

/* A state, and how many elements a mask has let through to it. */
template <class Fold>
struct counted_state {
    state_of<Fold> state;
    uint64_t count;
};

template <class Fold>
__device__ __forceinline__ void team_fold_counted(const kernel_axes &x, const teammate &me,
                                                  counted_state<Fold> &own)
{
    own.state = team_fold<Fold>(x, me, own.state);
    if (x.counts) {
        __syncthreads();
        own.count = uint64_t(team_fold<sum<int64_t>>(x, me, int64_t(own.count)));
    }
}

/* ---- where results and their elements are ---- */

struct result_place {
    offsets base;
    int64_t place; /* among the results */
};

__device__ __forceinline__ result_place place_of_result(const kernel_axes &x, uint64_t result)
{
    result_place at = {{0, 0}, x.first};
#pragma unroll 1
    for (unsigned k = x.kept; k-- > 0;) {
        const uint64_t rest = k > 0 ? divide(result, x.shape[k]) : 0;
        const int64_t index = int64_t(result - rest * x.shape[k]);
        at.base.data += index * x.strides[k];
        at.base.mask += index * x.mask_strides[k];
        at.place += index * x.places[k];
        result = rest;
    }
    return at;
}

/* ---- elements ---- */

/* This thread's share of the elements that lie `base` further on than the first result's. */
template <class Fold>
__device__ __forceinline__ void take_share(counted_state<Fold> &own, const kernel_axes &x,
                                           const teammate &me, const offsets &base, uint64_t split)
{
    const kernel_rows &rows = x.rows;
    const unsigned groups = 1u << (x.team - rows.lanes),
                   lane = me.number & ((1u << rows.lanes) - 1);
#pragma unroll 1
    for (uint64_t item = split * groups + (me.number >> rows.lanes); item < rows.items;
         item += x.splits * groups) {
        const stretch row = stretch_of(rows, item, base);
        const int64_t end = end_of(rows, row);
        unsigned shown = 0;
#pragma unroll 1
        for (int64_t i = row.begin; i < end;)
            i += take_window<Fold, true>(own.state, shown, rows, row, i, end, lane);
        own.count += shown;
    }
}

/* The same of a short row, by fours. */
template <class Fold>
__device__ __forceinline__ void take_few(counted_state<Fold> &own, const kernel_axes &x,
                                         const teammate &me, const char *data,
                                         const unsigned char *mask)
{
    constexpr unsigned N = 4;
    using word = typename slot<value_of<Fold>>::type;
    const unsigned n = unsigned(x.rows.from.shape[0]), bytes = 1u << x.rows.bytes;
    const int64_t stride = x.rows.from.strides[0], mask_stride = x.rows.from.mask_strides[0];
#pragma unroll 1
    for (unsigned i = me.number * N; i < n; i += N << x.team) {
        word words[N];
        value_of<Fold> values[N];
        uint32_t there = low_bits(n - i < N ? n - i : N);
        load_words(words, bytes, some_slots{data + i * stride, stride, there});
        if (mask) {
            const placing places = {i, 0, 0};
            there = shown_by_bytes<N>(mask + i * mask_stride, mask_stride, places, there);
            own.count += __popc(there);
        }
        decode(values, words, x.rows.from.input);
        take_values<Fold>(own.state, values, in_a_row{i}, shown_bits{there});
    }
}

/* ---- rows in shared memory ---- */

/* Brings bytes to shared memory; they lie there as far from a boundary as they do where they are.
 */
__device__ __forceinline__ const char *brought(const char *from, unsigned bytes)
{
    constexpr unsigned size = sizeof(pack<unsigned>);
    char *const room = block_memory<char>() + reinterpret_cast<uintptr_t>(from) % size;
    const unsigned before = elements_to_boundary(from, bytes), packs = (bytes - before) / size;
    const pack<unsigned> *const source = reinterpret_cast<const pack<unsigned> *>(from + before);
    pack<unsigned> *const target = reinterpret_cast<pack<unsigned> *>(room + before);
#pragma unroll 4
    for (unsigned k = threadIdx.x; k < packs; k += blockDim.x)
        target[k] = source[k];
    const unsigned after = before + packs * size, single = threadIdx.x;
    if (single < before)
        room[single] = from[single];
    else if (single - before < bytes - after)
        room[after + single - before] = from[after + single - before];
    __syncthreads();
    return room;
}

/* All rows of a block, whose first result that is. */
__device__ __forceinline__ const char *staged_rows(const kernel_axes &x, uint64_t first,
                                                   unsigned results)
{
    const uint64_t left = x.results - first, rows = left < results ? left : results;
    const char *const data = static_cast<const char *>(x.rows.from.data);
    return brought(data + first * x.staged, unsigned(rows * x.staged));
}

/* ---- splits ---- */

/* What the splits of these results have left, once the last of them is there: false for all others.
 * Their states lie result by result, so that a team's neighbours read neighbours. */
template <class Fold>
__device__ __forceinline__ bool
fold_splits(const kernel_axes &x, const teammate &me, uint64_t result, uint64_t group,
            uint64_t split, counted_state<Fold> &own, global<state_of<Fold>> partials,
            global<uint64_t> counts, global<unsigned> tickets)
{
    const bool there = result < x.results;
    if (me.number == 0 && there) {
        partials[split * x.results + result] = own.state;
        if (x.counts)
            counts[split * x.results + result] = own.count;
    }
    if (!is_last_block(tickets + group, unsigned(x.splits)))
        return false;
    own = {Fold::identity(), 0};
#pragma unroll 1
    for (uint64_t s = me.number; there && s < x.splits; s += 1u << x.team) {
        const uint64_t at = s * x.results + result;
        own.state = Fold::merge(own.state, load_shared_by_all(partials + at));
        if (x.counts)
            own.count += load_shared_by_all(counts + at);
    }
    team_fold_counted<Fold>(x, me, own);
    return true;
}

/* ---- the kernel ---- */

template <class Fold>
__global__ void fold_along(SHARED_PARAMETER(along) x, global<state_of<Fold>> partials,
                           global<uint64_t> counts, global<unsigned> tickets)
{
    const teammate me = place_in_team(x);
    const uint64_t group = divide(blockIdx.x, x.splits), split = blockIdx.x - group * x.splits,
                   first = group * me.teams * x.rounds;
    const char *const staged = x.staged ? staged_rows(x, first, me.teams * x.rounds) : nullptr;
#pragma unroll 1
    for (unsigned round = 0; round < x.rounds; round++) {
        const unsigned own_result = round * me.teams + me.result;
        const uint64_t result = first + own_result;
        counted_state<Fold> own = {Fold::identity(), 0};
        if (result < x.results && staged) {
            take_few<Fold>(own, x, me, staged + own_result * unsigned(x.staged), nullptr);
        } else if (result < x.results) {
            const offsets base = place_of_result(x, result).base;
            const layout &from = x.rows.from;
            if (x.few)
                take_few<Fold>(own, x, me, static_cast<const char *>(from.data) + base.data,
                               from.mask ? from.mask + base.mask : nullptr);
            else
                take_share<Fold>(own, x, me, base, split);
        }
        team_fold_counted<Fold>(x, me, own);
        if (x.splits > 1 &&
            !fold_splits<Fold>(x, me, result, group, split, own, partials, counts, tickets))
            return;
        if (me.number == 0 && result < x.results)
            store_result<Fold>(x.result, own.state, x.counts ? own.count : x.result.finish.count,
                               place_of_result(x, result).place);
    }
}

} // namespace KERNELS
