/* Reductions along axes, for any layout and element type. A team of 2^team threads of a block
 * computes one result. If a result's elements are contiguous (rows), the team's threads are
 * neighbors; if adjacent elements belong to different results (columns), neighboring threads are in
 * different teams. Elements are read as in the default method's kernel for arrays that are not flat
 * (strided.cuh), so one kernel per fold covers every layout and type.
 *
 * If results are few and long, several blocks (splits) share each; the last of them to finish
 * merges their partial results, always in the same order, and stores the results. */
#pragma once

#include "../epilogue/results.cuh"
#include "../load/strided.cuh"

namespace KERNELS
{

/* Counterparts of struct kernel_axes and struct kernel_axes_any. */
struct along : kernel_axes {};
struct along_any : kernel_axes_any {};

static_assert(sizeof(along_any) + 3 * sizeof(void *) <= 4096, "older GPUs take no more arguments");

/* The kernel arguments as memory loads read them, if states are small enough to leave a register
 * for that. Instruction operands go through another constant cache, which misses each line once
 * more, and a warp waits for each of these misses; loads wait together. */
template <class Fold>
__device__ __forceinline__ const kernel_axes &loaded(const along &arguments)
{
#ifdef __CUDA_ARCH__
    if constexpr (sizeof(state_of<Fold>) <= sizeof(uint64_t))
        return (&arguments)[arguments.launch.block >> 16]; /* 0 at run time */
#endif
    return arguments;
}

/* A thread's place in its block. */
struct team_member {
    unsigned result; /* in the block */
    unsigned number; /* in the team */
    unsigned pitch;  /* log2 of the threads between two teammates */
    unsigned teams;  /* in the block; one result each */
};

/* Teammates are neighboring threads. */
__device__ __forceinline__ team_member place_in_row(const kernel_axes &x, unsigned thread)
{
    const unsigned team = x.launch.team;
    return {thread >> team, thread & ((1u << team) - 1), 0, blockDim.x >> team};
}

__device__ __forceinline__ team_member place_in_team(const kernel_axes &x, unsigned thread)
{
    const unsigned teams = blockDim.x >> x.launch.team, pitch = x.launch.block - x.launch.team;
    return x.launch.across ? team_member{thread & (teams - 1), thread >> pitch, pitch, teams}
                           : place_in_row(x, thread);
}

__device__ __forceinline__ team_member place_in_team(const kernel_axes &x)
{
    return place_in_team(x, threadIdx.x);
}

/* ---- folding a team ---- */

/* log2 of the number of teammates in one warp. */
__device__ __forceinline__ unsigned members_in_warp(const kernel_axes &x, const team_member &me)
{
    const unsigned in_warp = me.pitch < warp_bits ? warp_bits - me.pitch : 0;
    return x.launch.team < in_warp ? x.launch.team : in_warp;
}

/* Fold the values of the teammates in a warp; the result is in the first of them. */
template <class Fold, class T>
__device__ __forceinline__ T fold_in_warp(const kernel_axes &x, const team_member &me, T value)
{
#pragma unroll 1
    for (unsigned offset = 1u << members_in_warp(x, me) >> 1; offset > 0; offset /= 2)
        value = Fold::merge(value, shuffle_down(value, offset << me.pitch));
    return value;
}

/* Fold the values of the whole team. Called by all threads of a block; a second call requires a
 * barrier in between. */
template <class Fold, class T>
__device__ __forceinline__ T team_fold(const kernel_axes &x, const team_member &me, T value)
{
    const unsigned together = members_in_warp(x, me), warps = 1u << (x.launch.team - together);
    value = fold_in_warp<Fold>(x, me, value);
    if (warps == 1)
        return value;
    const shared<T> parts = block_memory<T>() + me.result;
    if ((me.number & ((1u << together) - 1)) == 0)
        parts[(me.number >> together) * me.teams] = value;
    __syncthreads();
    if (me.number == 0)
#pragma unroll 1
        for (unsigned part = 1; part < warps; part++)
            value = Fold::merge(value, parts[part * me.teams]);
    return value;
}

/* A state, and the number of unmasked elements in it. */
template <class Fold>
struct counted_state {
    state_of<Fold> state;
    uint64_t count;
};

template <class Fold>
__device__ __forceinline__ void team_fold_counted(const kernel_axes &x, const team_member &me,
                                                  counted_state<Fold> &acc)
{
    acc.state = team_fold<Fold>(x, me, acc.state);
    if (x.counts) {
        __syncthreads();
        acc.count = uint64_t(team_fold<sum<int64_t>>(x, me, int64_t(acc.count)));
    }
}

/* ---- where results and their elements are ---- */

struct result_place {
    offsets base;
    int64_t place; /* index among the results */
};

/* An outer dimension: results differ in it. */
struct outer_dimension {
    uint64_t length;
    int64_t stride, mask_stride, place;
};

__device__ __forceinline__ outer_dimension outer_at(const kernel_axes &x, unsigned k)
{
    return {x.outer.shape[k], x.outer.strides[k], x.outer.mask_strides[k],
            x.outer.output_strides[k]};
}

__device__ __forceinline__ outer_dimension outer_at(const kernel_axes_any &x, unsigned k)
{
    const unsigned at = x.from.dimensions + k;
    return {x.from.shape[at], x.from.strides[at], x.from.mask_strides[at], x.output_strides[k]};
}

/* The place of result number `result`, from its indices in the `outer` outer dimensions of x. */
template <class Axes>
__device__ __forceinline__ result_place place_of_index(const Axes &x, unsigned outer, int64_t first,
                                                       uint64_t result)
{
    result_place at = {{0, 0}, first};
    if (outer == 1) {
        const outer_dimension only = outer_at(x, 0);
        const int64_t index = int64_t(result);
        return {{index * only.stride, index * only.mask_stride}, first + index * only.place};
    }
#pragma unroll 1
    for (unsigned k = outer; k-- > 0;) {
        const outer_dimension dimension = outer_at(x, k);
        const uint64_t rest = k > 0 ? result / dimension.length : 0;
        const int64_t index = int64_t(result - rest * dimension.length);
        at.base.data += index * dimension.stride;
        at.base.mask += index * dimension.mask_stride;
        at.place += index * dimension.place;
        result = rest;
    }
    return at;
}

__device__ __forceinline__ result_place place_of_result(const kernel_axes &x, uint64_t result)
{
    return place_of_index(x, x.outer.count, x.outer.first, result);
}

__device__ __forceinline__ result_place place_of_result(const kernel_axes_any &x, uint64_t result)
{
    return place_of_index(x, x.of_few.outer.count, x.of_few.outer.first, result);
}

/* ---- elements ---- */

/* Accumulate full windows by vectorized loads; returns where the next window would begin. */
template <class Fold>
__device__ __forceinline__ int64_t accumulate_windows(state_of<Fold> &state, enum element input,
                                                      const kernel_stretches &rows,
                                                      const stretch &row, int64_t begin,
                                                      int64_t end, unsigned lane)
{
    constexpr unsigned N = slots_per_thread<value_of<Fold>>;
    const unsigned packing = loads_packed<Fold> ? rows.packing : 0,
                   run = loads_packed<Fold> ? 4 - rows.bytes : rows.run, pitch = run + rows.lanes;
    const int64_t window = int64_t(N) << (rows.lanes + packing), step = int64_t(1)
                                                                        << (pitch + rows.bytes);
    const char *at = row.data + ((begin + int64_t(lane << run)) << rows.bytes);
    slot_positions slots = {row.position + uint64_t(begin) + (lane << run), run, pitch};
#pragma unroll 1
    for (; end - begin >= window; begin += window) {
        typename slot<value_of<Fold>>::type words[N];
        load_words(words, 1u << (rows.bytes + packing), all_slots{at, step, true});
        for (unsigned part = 0;;) {
            value_of<Fold> values[N];
            decode(values, words, input);
            accumulate_values<Fold>(state, values, slots, all_valid());
            if (++part >> packing)
                break;
            shift_words(words, 1u << rows.bytes);
        }
        at += window << rows.bytes;
        slots.first += uint64_t(window);
    }
    return begin;
}

/* Accumulate, by vectorized loads where possible, a window in which the row begins or ends. Returns
 * where the next window would begin. */
template <class Fold>
__device__ __forceinline__ int64_t accumulate_edge(state_of<Fold> &state, enum element input,
                                                   const kernel_stretches &rows, const stretch &row,
                                                   int64_t begin, int64_t end, unsigned lane)
{
    constexpr unsigned N = slots_per_thread<value_of<Fold>>;
    const unsigned pitch = rows.run + rows.lanes, offset = lane << rows.run;
    const int window = int(N << rows.lanes), from = begin < 0 ? int(-begin) : 0,
              to = end - begin < window ? int(end - begin) : window;
    const slot_positions slots = {row.position + uint64_t(begin + offset), rows.run, pitch};
    const uint32_t present = slots.clipped_before(to - int(offset)) &
                             ~slots.clipped_before(from - int(offset)) & low_bits(N);
    typename slot<value_of<Fold>>::type words[N];
    value_of<Fold> values[N];
    load_words(words, 1u << rows.bytes,
               clipped_runs{row.data + (begin + int64_t(offset)) * (int64_t(1) << rows.bytes),
                            int64_t(1) << (pitch + rows.bytes), present, low_bits(1u << rows.run)});
    decode(values, words, input);
    accumulate_values<Fold>(state, values, slots, valid_bits{present});
    return begin + window;
}

/* Accumulate this thread's share of a result's elements, `base` from those of the first result. */
template <class Fold>
__device__ __forceinline__ void accumulate_share(counted_state<Fold> &acc,
                                                 const kernel_axes_any &all, const team_member &me,
                                                 const offsets &base, uint64_t split)
{
    const layout &from = all.from;
    const kernel_axes &x = all.of_few;
    const kernel_stretches &rows = x.rows;
    const unsigned groups = 1u << (x.launch.team - rows.lanes),
                   lane = me.number & ((1u << rows.lanes) - 1);
    const int64_t window = int64_t(slots_per_thread<value_of<Fold>>)
                           << (rows.lanes + (loads_packed<Fold> ? rows.packing : 0));
#pragma unroll 1
    for (uint64_t item = split * groups + (me.number >> rows.lanes); item < rows.items;
         item += x.launch.splits * groups) {
        const stretch row = stretch_of(from, rows, item, base);
        const int64_t end = end_of(from, rows, row);
        unsigned valid = 0;
#pragma unroll 1
        for (int64_t i = row.begin; i < end;) {
            if (!row.in_runs || row.mask)
                i += accumulate_window<Fold, true, false>(acc.state, valid, from, rows, row, i, end,
                                                          lane);
            else if (i < 0 || end - i < window)
                i = accumulate_edge<Fold>(acc.state, from.input, rows, row, i, end, lane);
            else
                i = accumulate_windows<Fold>(acc.state, from.input, rows, row, i, end, lane);
        }
        acc.count += valid;
    }
}

/* ---- splits ---- */

/* Store this block's partial results, split by split. The last of the splits then loads this
 * thread's share of all of them and returns true; the others return false. */
template <class Fold>
__device__ __forceinline__ bool
exchange_splits(const kernel_axes &x, const team_member &me, uint64_t result, uint64_t group,
                uint64_t split, counted_state<Fold> &acc, global<state_of<Fold>> partials,
                global<uint64_t> counts, global<unsigned> tickets)
{
    const bool exists = result < x.results;
    if (me.number == 0 && exists) {
        partials[split * x.results + result] = acc.state;
        if (x.counts)
            counts[split * x.results + result] = acc.count;
    }
    if (!is_last_block(tickets + group, unsigned(x.launch.splits)))
        return false;
    acc = {Fold::identity(), 0};
#pragma unroll 1
    for (uint64_t s = me.number; exists && s < x.launch.splits; s += 1u << x.launch.team) {
        const uint64_t at = s * x.results + result;
        acc.state = Fold::merge(acc.state, load_from_l2(partials + at));
        if (x.counts)
            acc.count += load_from_l2(counts + at);
    }
    return true;
}

/* ---- the kernel ---- */

template <class Fold>
__global__ void fold_along(SHARED_PARAMETER(along_any) all, global<state_of<Fold>> partials,
                           global<uint64_t> counts, global<unsigned> tickets)
{
    const kernel_axes &x = all.of_few;
    const team_member me = place_in_team(x);
    const uint64_t group = blockIdx.x / x.launch.splits,
                   split = blockIdx.x - group * x.launch.splits,
                   result = group * me.teams + me.result;
    counted_state<Fold> acc = {Fold::identity(), 0};
    if (result < x.results)
        accumulate_share<Fold>(acc, all, me, place_of_result(all, result).base, split);
#pragma unroll 1
    for (bool split_up = x.launch.splits > 1;; split_up = false) {
        team_fold_counted<Fold>(x, me, acc);
        if (!split_up)
            break;
        if (!exchange_splits<Fold>(x, me, result, group, split, acc, partials, counts, tickets))
            return;
    }
    if (me.number == 0 && result < x.results)
        store_result<Fold>(x.result, acc.state, x.counts ? acc.count : x.result.finish.count,
                           place_of_result(all, result).place);
}

} // namespace KERNELS
