/* Short rows, of elements of a known type.
 *
 * Rows that 16 bytes hold several of are loaded so and folded in registers. All others a block
 * brings to shared memory, one after the other: by copies of 16 bytes whatever a row's length if
 * they lie like that, and by narrower ones if need be (gathered.cuh). A team, one thread or a few
 * of a warp, reads each of them from there: by loads of up to 16 bytes, or, where rows of bytes
 * begin anywhere, by words that are moved into place. */
#pragma once

#include "gathered.cuh"
#include "row_folds.cuh"
#include "short_row.cuh"
#include "staged.cuh"

namespace KERNELS
{

/* ---- several rows a load ---- */

template <class Fold, class In>
using result_of_row = typename row_fold<Fold, In>::result;

template <class Fold, class In>
__device__ __forceinline__ global<result_of_row<Fold, In>> results_of(const kernel_axes &x)
{
    return static_cast<result_of_row<Fold, In> *>(x.result.at[0]) + x.outer.first;
}

template <class Fold, class In, class Row>
__device__ __forceinline__ result_of_row<Fold, In> result_of(const Row &row,
                                                             const row_numbers &numbers)
{
    return row_fold<Fold, In>::result_of(row_fold<Fold, In>::of(row, numbers), numbers);
}

/* How many rows of so many bytes a thread makes; csrc/schedule/launch_typed_rows.c asks, too. */
__host__ __device__ constexpr unsigned rows_in_registers(unsigned row)
{
    constexpr unsigned most = ROWS_IN_REGISTERS;
    return BYTES_IN_REGISTERS / row < most ? BYTES_IN_REGISTERS / row : most;
}

/* Rows that lie in registers one after the other, and their results. */
template <class Fold, class In, unsigned N, unsigned Count>
struct rows_together {
    using load = load_of<unit_of<In>, Count * N * sizeof(In)>;
    using store = load_of<result_of_row<Fold, In>, Count * sizeof(result_of_row<Fold, In>)>;

    static __device__ __forceinline__ store fold(const unit_of<In> *loaded,
                                                 const row_numbers &numbers)
    {
        store made;
#pragma unroll
        for (unsigned r = 0; r < Count; r++)
            made.at[r] = result_of<Fold, In>(row_in_registers<In, N>(loaded, r), numbers);
        return made;
    }
};

/* As many rows as one load takes, and as their results make one store. */
template <class Fold, class In, unsigned N>
struct rows_of_load {
    using result = result_of_row<Fold, In>;
    static constexpr unsigned row = N * sizeof(In),
                              count = 16 / (row > sizeof(result) ? row : sizeof(result)),
                              loads = rows_in_registers(row) / count;
    using together = rows_together<Fold, In, N, count>;
};

/* The last block's, one by one. */
template <class Fold, class In, unsigned N>
__device__ __forceinline__ void fold_last_in_registers(const kernel_axes &x,
                                                       const row_numbers &numbers, uint64_t first)
{
    const global<result_of_row<Fold, In>> results = results_of<Fold, In>(x);
    const global<const In> from = static_cast<const In *>(x.from.data);
#pragma unroll 1
    for (uint64_t row = first + threadIdx.x; row < x.results; row += blockDim.x) {
        unit_of<In> own[(N * sizeof(In) + sizeof(unit_of<In>) - 1) / sizeof(unit_of<In>)] = {};
        memcpy(own, from + row * N, N * sizeof(In));
        results[int64_t(row) * x.outer.output_strides[0]] =
            result_of<Fold, In>(row_in_registers<In, N>(own, 0), numbers);
    }
}

template <class Fold, class In, unsigned N>
__device__ __forceinline__ void fold_in_registers(const kernel_axes &x)
{
    using rows = rows_of_load<Fold, In, N>;
    const row_numbers numbers(x.result);
    const unsigned most = blockDim.x * rows::count * rows::loads;
    const uint64_t first = uint64_t(blockIdx.x) * most;
    if (x.outer.output_strides[0] != 1 || x.results - first < most ||
        address_of(results_of<Fold, In>(x)) % sizeof(typename rows::together::store))
        return fold_last_in_registers<Fold, In, N>(x, numbers, first);
    const auto from = static_cast<const typename rows::together::load *>(x.from.data) +
                      first / rows::count + threadIdx.x;
    const auto to = seen_as<typename rows::together::store>(results_of<Fold, In>(x)) +
                    first / rows::count + threadIdx.x;
    typename rows::together::load loaded[rows::loads];
#pragma unroll
    for (unsigned k = 0; k < rows::loads; k++)
        loaded[k] = from[k * blockDim.x];
#pragma unroll
    for (unsigned k = 0; k < rows::loads; k++)
        to[k * blockDim.x] = rows::together::fold(loaded[k].at, numbers);
}

/* ---- rows in shared memory ---- */

/* Copies vectors to the beginning of shared memory, swizzled. */
__device__ __forceinline__ shared<const char> brought_swizzled(global<const char> from,
                                                               unsigned packs, swizzle swizzled)
{
    constexpr unsigned size = sizeof(pack<unsigned>);
    const shared<char> room = block_memory<char>();
#pragma unroll 8
    for (unsigned k = threadIdx.x; k < packs; k += blockDim.x)
        start_copy(room + swizzled(k) * size, from + k * size);
    await_copies();
    __syncthreads();
    return room;
}

/* Rows of an odd number of packs together, and as many of them as their results make a store: by
 * one thread. How many rows there are such of. */
template <class Fold, class In, unsigned N>
__device__ __forceinline__ unsigned
fold_rows_together(const kernel_axes &x, shared<const char> staged, unsigned rows, uint64_t result)
{
    constexpr unsigned odd = N % 2 ? N : N / 2, count = 16 / sizeof(In) / (N / odd);
    using together = rows_together<Fold, In, N, count>;
    using load = load_of<unit_of<In>, 16>;
    const row_numbers numbers(x.result);
    const auto from = seen_as<const load>(staged);
    const auto to = seen_as<typename together::store>(results_of<Fold, In>(x) + result);
    if (x.outer.output_strides[0] != 1 || address_of(staged) % 16 || address_of(to) % sizeof *to)
        return 0;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < rows / count; k += blockDim.x) {
        load loaded[odd];
        unit_of<In> units[odd * 16 / sizeof(unit_of<In>)];
#pragma unroll
        for (unsigned p = 0; p < odd; p++)
            loaded[p] = from[k * odd + p];
        memcpy(units, loaded, sizeof units);
        to[k] = together::fold(units, numbers);
    }
    return rows / count * count;
}

/* The same for some lengths; of results that are larger than elements none. */
template <class Fold, class In>
__device__ __forceinline__ unsigned
fold_some_together(const kernel_axes &x, shared<const char> staged, unsigned rows, uint64_t result)
{
    if constexpr (sizeof(In) <= 2 && sizeof(result_of_row<Fold, In>) == sizeof(In)) {
        switch (x.from.shape[0]) {
        case 3:
            return fold_rows_together<Fold, In, 3>(x, staged, rows, result);
        case 6:
            return fold_rows_together<Fold, In, 6>(x, staged, rows, result);
        default:
            return 0;
        }
    }
    return 0;
}

/* Rows from the first on, each by a team. */
template <class Fold, class In, class Row>
__device__ __forceinline__ void fold_rows_of_team(const kernel_axes &x, const team_share &share,
                                                  shared<const char> staged, unsigned first,
                                                  unsigned rows, uint64_t result)
{
    const unsigned teams = blockDim.x >> share.team, own = threadIdx.x >> share.team;
    const row_numbers numbers(x.result);
    const int64_t step = int64_t(teams) * x.outer.output_strides[0];
    auto to = results_of<Fold, In>(x) + int64_t(result + first + own) * x.outer.output_strides[0];
#pragma unroll 1
    for (; first < rows; first += teams) {
        const bool there = first + own < rows;
        const auto made = result_of<Fold, In>(Row(share, staged, there ? first + own : 0), numbers);
        if (share.number == 0 && there)
            *to = made;
        to += step;
    }
}

template <class Fold, class In, unsigned Bytes>
__device__ __forceinline__ void fold_by_loads(const kernel_axes &x, const team_share &share,
                                              shared<const char> staged, unsigned first,
                                              unsigned rows, uint64_t result)
{
    if (share.team == 0)
        return fold_rows_of_team<Fold, In, row_of_loads<In, Bytes, true>>(x, share, staged, first,
                                                                          rows, result);
    fold_rows_of_team<Fold, In, row_of_loads<In, Bytes, false>>(x, share, staged, first, rows,
                                                                result);
}

/* A block's rows, one after the other. */
template <bool Strided, class In>
__device__ __forceinline__ shared<const char> brought_rows(const kernel_axes &x, uint64_t result,
                                                           unsigned rows, const swizzle &swizzled)
{
    if constexpr (Strided) {
        return gathered<In>(x, result, rows, swizzled);
    } else {
        const unsigned bytes = unsigned(x.launch.row.bytes);
        const global<const char> from = static_cast<const char *>(x.from.data) + result * bytes;
        return x.launch.row.swizzle_mask ? brought_swizzled(from, rows * (bytes / 16), swizzled)
                                         : brought(from, rows * bytes);
    }
}

template <class Fold, class In, bool Strided>
__device__ __forceinline__ void fold_brought(const kernel_axes &x)
{
    const unsigned most = (blockDim.x >> x.launch.team) * x.launch.rounds,
                   bytes = unsigned(x.launch.row.bytes);
    const uint64_t result = uint64_t(blockIdx.x) * most, left = x.results - result;
    const unsigned rows = left < most ? unsigned(left) : most;
    const unsigned n = unsigned(x.from.shape[0]), size = unsigned(sizeof(In)) << x.launch.load;
    const team_share share = {n,
                              bytes / size,
                              x.launch.team,
                              threadIdx.x & ((1u << x.launch.team) - 1),
                              {x.launch.row.swizzle_mask, x.launch.row.swizzle_shift}};
    const shared<const char> staged = brought_rows<Strided, In>(x, result, rows, share.swizzled);
    const unsigned first = fold_some_together<Fold, In>(x, staged, rows, result);
    if (size == 16)
        return fold_rows_of_team<Fold, In, row_of_loads<In, 16, false>>(x, share, staged, first,
                                                                        rows, result);
    if constexpr (sizeof(In) <= 8)
        if (size == 8)
            return fold_by_loads<Fold, In, 8>(x, share, staged, first, rows, result);
    if constexpr (sizeof(In) <= 4)
        if (size == 4)
            return fold_by_loads<Fold, In, 4>(x, share, staged, first, rows, result);
    if constexpr (sizeof(In) == 2)
        return fold_by_loads<Fold, In, 2>(x, share, staged, first, rows, result);
    if constexpr (sizeof(In) == 1)
        return fold_rows_of_team<Fold, In, row_of_bytes>(x, share, staged, first, rows, result);
}

/* Rows that lie one after the other. */
template <class Fold, class In>
__device__ __forceinline__ void fold_flat_rows(const kernel_axes &x)
{
    switch (x.launch.row.packed) {
    case 2:
        return fold_in_registers<Fold, In, 2>(x);
    case 4:
        if constexpr (sizeof(In) <= 4)
            return fold_in_registers<Fold, In, 4>(x);
        return;
    case 8:
        if constexpr (sizeof(In) <= 2)
            return fold_in_registers<Fold, In, 8>(x);
        return;
    case 16:
        if constexpr (sizeof(In) == 1)
            return fold_in_registers<Fold, In, 16>(x);
        return;
    default:
        return fold_brought<Fold, In, false>(x);
    }
}

/* ---- the kernel ---- */

/* A thread has so few registers that so many blocks fit on a multiprocessor; Turing's have room for
 * 1024 threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned short_rows_blocks = 4;
#else
constexpr unsigned short_rows_blocks = 5;
#endif

template <class Fold, class In, bool Strided>
__global__ void __launch_bounds__(1 << SHORT_ROWS_BLOCK, short_rows_blocks)
    fold_short_rows(SHARED_PARAMETER(along) x, global<state_of<Fold>>, global<uint64_t>,
                    global<unsigned>)
{
    if constexpr (Strided)
        fold_brought<Fold, In, true>(x);
    else
        fold_flat_rows<Fold, In>(x);
}

} // namespace KERNELS
