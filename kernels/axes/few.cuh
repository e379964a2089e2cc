/* Reductions along axes with few elements per result, of any type, layout and mask: one thread, or
 * a few of a warp, computes a result and loads four elements at a time. */
#pragma once

#include "along.cuh"

namespace KERNELS
{

/* Whether N contiguous elements can be read by loads of up to 16 bytes. */
template <unsigned N>
__device__ __forceinline__ bool can_load_run(const kernel_stretches &rows, const char *at)
{
    constexpr unsigned most = sizeof(pack<unsigned>);
    const unsigned bytes = N << rows.bytes, load = bytes < most ? bytes : most;
    return rows.run > 0 && (reinterpret_cast<uintptr_t>(at) & (load - 1)) == 0;
}

/* Accumulate a thread's share of a short row, four elements at a time. */
template <class Fold>
__device__ __forceinline__ void accumulate_short_row(counted_state<Fold> &acc, const kernel_axes &x,
                                                     const team_member &me, const char *data,
                                                     const unsigned char *mask)
{
    constexpr unsigned N = 4;
    using word = typename slot<value_of<Fold>>::type;
    const unsigned n = unsigned(x.from.shape[0]), bytes = 1u << x.rows.bytes;
    const int64_t stride = x.from.strides[0], mask_stride = x.from.mask_strides[0];
#pragma unroll 1
    for (unsigned i = me.number * N; i < n; i += N << x.launch.team) {
        word words[N];
        value_of<Fold> values[N];
        const char *const at = data + i * stride;
        uint32_t present = low_bits(n - i < N ? n - i : N);
        if (present == low_bits(N) && can_load_run<N>(x.rows, at))
            load_words(words, bytes, all_slots{at, sizeof(pack<unsigned>), true});
        else
            load_words(words, bytes, some_slots{at, stride, present});
        if (mask) {
            const slot_positions slots = {i, 0, 0};
            present = mask_by_bytes<N>(mask + i * mask_stride, mask_stride, slots, present);
            acc.count += __popc(present);
        }
        decode(values, words, x.from.input);
        accumulate_values<Fold>(acc.state, values, consecutive_positions{i}, valid_bits{present});
    }
}

/* ---- the kernel ---- */

template <class Fold>
__global__ void fold_few(SHARED_PARAMETER(along) x, global<state_of<Fold>>, global<uint64_t>,
                         global<unsigned>)
{
    const team_member me = place_in_team(x);
    const uint64_t result = uint64_t(blockIdx.x) * me.teams + me.result;
    const layout_small &from = x.from;
    counted_state<Fold> acc = {Fold::identity(), 0};
    result_place at = {{0, 0}, 0};
    if (result < x.results) {
        at = place_of_result(x, result);
        accumulate_short_row<Fold>(acc, x, me, static_cast<const char *>(from.data) + at.base.data,
                                   from.mask ? from.mask + at.base.mask : nullptr);
    }
    acc.state = fold_in_warp<Fold>(x, me, acc.state);
    if (x.counts)
        acc.count = uint64_t(fold_in_warp<sum<int64_t>>(x, me, int64_t(acc.count)));
    if (me.number == 0 && result < x.results)
        store_result<Fold>(x.result, acc.state, x.counts ? acc.count : x.result.finish.count,
                           at.place);
}

} // namespace KERNELS
