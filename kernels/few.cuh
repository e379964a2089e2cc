/* Reductions along axes of few elements each: a thread, or a few of a warp, makes one result after
 * the other, and reads by fours. Short rows that lie one after the other are brought to shared
 * memory first, all of a block's by loads of 16 bytes. */
#pragma once

#include "along.cuh"

namespace KERNELS
{

/* Whether so many neighbours can be read by loads of up to 16 bytes. */
template <unsigned N>
__device__ __forceinline__ bool is_run(const kernel_rows &rows, const char *at)
{
    constexpr unsigned most = sizeof(pack<unsigned>);
    const unsigned bytes = N << rows.bytes, load = bytes < most ? bytes : most;
    return rows.run > 0 && (reinterpret_cast<uintptr_t>(at) & (load - 1)) == 0;
}

/* A team's thread's share of a short row, by fours. */
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
        const char *const at = data + i * stride;
        uint32_t there = low_bits(n - i < N ? n - i : N);
        if (there == low_bits(N) && is_run<N>(x.rows, at))
            load_words(words, bytes, all_slots{at, sizeof(pack<unsigned>), true});
        else
            load_words(words, bytes, some_slots{at, stride, there});
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

/* ---- the kernel ---- */

template <class Fold>
__global__ void fold_few(SHARED_PARAMETER(along) x, global<state_of<Fold>>, global<uint64_t>,
                         global<unsigned>)
{
    const teammate me = place_in_team(x);
    const unsigned results = me.teams * x.rounds;
    const uint64_t first = uint64_t(blockIdx.x) * results;
    const layout &from = x.rows.from;
    const char *const staged = x.staged ? staged_rows(x, first, results) : nullptr;
#pragma unroll 1
    for (unsigned own_result = me.result; own_result < results; own_result += me.teams) {
        const uint64_t result = first + own_result;
        const bool there = result < x.results;
        counted_state<Fold> own = {Fold::identity(), 0};
        result_place at = {{0, 0}, 0};
        if (there) {
            at = place_of_result(x, result);
            take_few<Fold>(own, x, me,
                           staged ? staged + own_result * unsigned(x.staged)
                                  : static_cast<const char *>(from.data) + at.base.data,
                           from.mask ? from.mask + at.base.mask : nullptr);
        }
        own.state = fold_in_warp<Fold>(x, me, own.state);
        if (x.counts)
            own.count = uint64_t(fold_in_warp<sum<int64_t>>(x, me, int64_t(own.count)));
        if (me.number == 0 && there)
            store_result<Fold>(x.result, own.state, x.counts ? own.count : x.result.finish.count,
                               at.place);
    }
}

} // namespace KERNELS
