/* Short rows of a known element type.
 *
 * If 16 bytes hold several rows, they are loaded and folded in registers. Otherwise a block packs
 * its rows into shared memory: by 16-byte copies for any row length if they are contiguous, and by
 * narrower ones if not (gathered.cuh). A team, one thread or a few of a warp, then reads each row
 * from there: by loads of up to 16 bytes or, if rows of bytes are misaligned, by words that are
 * shifted into place. Columns of short batches are read likewise (staged_batches.cuh). */
#pragma once

#include "gathered.cuh"
#include "staged_batches.cuh"

namespace KERNELS
{

/* ---- several rows a load ---- */

/* A block's rows, at a constant distance: some of all rows or, if Batches, of one batch. */
template <bool Batches>
struct block_rows {
    global<const char> from; /* the first row of all or of the batch */
    int64_t place;           /* its result's place */
    uint64_t first, left;    /* the block's first row, and the rows from it on */
    unsigned count;          /* of the block */

    __device__ __forceinline__ explicit block_rows(const kernel_axes &x)
        : from(static_cast<const char *>(x.from.data)), place(x.outer.first)
    {
        const unsigned capacity = (blockDim.x >> x.launch.team) * x.launch.row.rounds;
        left = x.results;
        first = uint64_t(blockIdx.x) * capacity;
        if (Batches && x.outer.count > 1) {
            const row_tile &row = x.launch.row;
            const unsigned batch = blockIdx.x / row.blocks;
            const result_place begin = place_of_index(x, x.outer.count - 1, x.outer.first, batch);
            from += begin.base.data;
            place = begin.place;
            first = uint64_t(blockIdx.x - batch * row.blocks) * capacity;
            left = row.batch;
        }
        left -= first;
        count = left < capacity ? unsigned(left) : capacity;
    }

    /* The place of a row's result. */
    __device__ __forceinline__ int64_t place_of(const kernel_axes &x, uint64_t row) const
    {
        return place + int64_t(row) * x.outer.output_strides[last(x)];
    }

    /* The innermost outer dimension. */
    static __device__ __forceinline__ unsigned last(const kernel_axes &x)
    {
        return Batches ? x.outer.count - 1 : 0;
    }
};

/* Rows of `row` bytes per thread, as csrc/schedule/launch_typed_rows.c computes it. */
__host__ __device__ constexpr unsigned rows_per_thread(unsigned row)
{
    constexpr unsigned capacity = ROWS_IN_REGISTERS;
    return BYTES_IN_REGISTERS / row < capacity ? BYTES_IN_REGISTERS / row : capacity;
}

/* Results of Count consecutive rows in registers, which make one store. */
template <class Fold, class In, unsigned Count>
struct row_group {
    using store = pack<row_result<Fold, In>, Count>;

    template <unsigned N>
    static __device__ __forceinline__ store fold(const unit_of<In> *loaded,
                                                 const row_numbers &numbers)
    {
        store results;
#pragma unroll
        for (unsigned r = 0; r < Count; r++)
            results.at[r] = fold_row<Fold, In>(row_in_registers<In, N>(loaded, r), numbers);
        return results;
    }

    static __device__ __forceinline__ bool can_store(const kernel_axes &x, uint64_t result)
    {
        return x.outer.output_strides[0] == 1 &&
               address_of(results_of<Fold, In>(x) + result) % sizeof(store) == 0;
    }
};

/* The rows of one load whose results make one store: as many as fit both. */
template <class Fold, class In, unsigned N>
struct load_rows {
    static constexpr unsigned row = N * sizeof(In), result = sizeof(row_result<Fold, In>),
                              count = 16 / (result > row ? result : row),
                              loads = rows_per_thread(row) / count;
    using load = pack<unit_of<In>, count * row / sizeof(unit_of<In>)>;
    using together = row_group<Fold, In, count>;
};

/* Fold rows `first` to `last` one by one. */
template <class Fold, class In, unsigned N>
__device__ __forceinline__ void fold_single_rows(const kernel_axes &x, const row_numbers &numbers,
                                                 uint64_t first, uint64_t last)
{
    const global<row_result<Fold, In>> results = results_of<Fold, In>(x);
    const global<const In> from = static_cast<const In *>(x.from.data);
#pragma unroll 1
    for (uint64_t row = first + threadIdx.x; row < last; row += blockDim.x) {
        unit_of<In> units[(N * sizeof(In) + sizeof(unit_of<In>) - 1) / sizeof(unit_of<In>)] = {};
        memcpy(units, from + row * N, N * sizeof(In));
        results[int64_t(row) * x.outer.output_strides[0]] =
            fold_row<Fold, In>(row_in_registers<In, N>(units, 0), numbers);
    }
}

/* Fold a block's rows by whole loads, as far as there are, and the others one by one: all rows if
 * results are misaligned. Full blocks, which are most, have no predicates. */
template <class Fold, class In, unsigned N>
__device__ __forceinline__ void fold_in_registers(const kernel_axes &x)
{
    using rows = load_rows<Fold, In, N>;
    const row_numbers numbers(x.result);
    const unsigned capacity = blockDim.x * rows::loads;
    const uint64_t first = uint64_t(blockIdx.x) * capacity, /* load */
        end = (first + capacity) * rows::count, last = end < x.results ? end : x.results;
    const unsigned left =
        rows::together::can_store(x, 0) ? unsigned(last / rows::count - first) : 0;
    const auto from = static_cast<const typename rows::load *>(x.from.data) + first + threadIdx.x;
    const auto to =
        pointer_cast<typename rows::together::store>(results_of<Fold, In>(x)) + first + threadIdx.x;
    const auto fold_loads = [&](auto all) {
        typename rows::load loaded[rows::loads];
#pragma unroll
        for (unsigned k = 0; k < rows::loads; k++)
            if (decltype(all)::value || threadIdx.x + k * blockDim.x < left)
                loaded[k] = from[k * blockDim.x];
#pragma unroll
        for (unsigned k = 0; k < rows::loads; k++)
            if (decltype(all)::value || threadIdx.x + k * blockDim.x < left)
                to[k * blockDim.x] = rows::together::template fold<N>(loaded[k].at, numbers);
    };
    if (left == capacity)
        fold_loads(std::true_type());
    else
        fold_loads(std::false_type());
    fold_single_rows<Fold, In, N>(x, numbers, (first + left) * rows::count, last);
}

/* ---- rows in shared memory ---- */

/* Start copying vectors to shared memory, swizzled. */
__device__ __forceinline__ shared<const char>
start_swizzled(shared<char> to, global<const char> from, unsigned vectors, swizzle swizzled)
{
#pragma unroll 8
    for (unsigned k = threadIdx.x; k < vectors; k += blockDim.x)
        start_copy(to + swizzled(k) * sizeof(vec16), from + k * sizeof(vec16));
    return to;
}

/* Each thread folds as many rows as have results that fill one store; these rows take an odd number
 * of packs. Returns the number of rows that this covers. */
template <class Fold, class In, unsigned N>
__device__ __forceinline__ unsigned fold_row_groups(const kernel_axes &x, shared<const char> staged,
                                                    unsigned rows, uint64_t result)
{
    constexpr unsigned odd = N % 2 ? N : N / 2, count = 16 / sizeof(In) / (N / odd);
    using together = row_group<Fold, In, count>;
    using load = pack<unit_of<In>>;
    const row_numbers numbers(x.result);
    const auto from = pointer_cast<const load>(staged);
    const auto to = pointer_cast<typename together::store>(results_of<Fold, In>(x) + result);
    if (address_of(staged) % 16 || !together::can_store(x, result))
        return 0;
#pragma unroll 1
    for (unsigned k = threadIdx.x; k < rows / count; k += blockDim.x) {
        load loaded[odd];
        unit_of<In> units[odd * 16 / sizeof(unit_of<In>)];
#pragma unroll
        for (unsigned p = 0; p < odd; p++)
            loaded[p] = from[k * odd + p];
        memcpy(units, loaded, sizeof units);
        to[k] = together::template fold<N>(units, numbers);
    }
    return rows / count * count;
}

/* The same for some row lengths, if results are no larger than elements; otherwise returns 0. */
template <class Fold, class In>
__device__ __forceinline__ unsigned
fold_some_groups(const kernel_axes &x, shared<const char> staged, unsigned rows, uint64_t result)
{
    if constexpr (stores_native<Fold, In> && sizeof(row_result<Fold, In>) == sizeof(In)) {
        if (x.from.shape[0] == 3)
            return fold_row_groups<Fold, In, 3>(x, staged, rows, result);
        if constexpr (sizeof(In) <= 2)
            if (x.from.shape[0] == 6)
                return fold_row_groups<Fold, In, 6>(x, staged, rows, result);
    }
    return 0;
}

/* Fold rows from `first` on, each by a team. */
template <class Fold, class In, class Row, class Rows>
__device__ __forceinline__ void fold_rows_by_team(const kernel_axes &x, const team_share &share,
                                                  shared<const char> staged, unsigned first,
                                                  const Rows &rows)
{
    const unsigned teams = blockDim.x >> share.team, team = threadIdx.x >> share.team;
    const row_numbers numbers(x.result);
    const int64_t step = int64_t(teams) * x.outer.output_strides[Rows::last(x)];
    int64_t place = rows.place_of(x, rows.first + first + team);
#pragma unroll 1
    for (; first < rows.count; first += teams, place += step) {
        const bool exists = first + team < rows.count;
        const auto row = fold_row<Fold, In>(Row(share, staged, exists ? first + team : 0), numbers);
        if (share.number == 0 && exists)
            store_row_result<Fold, In>(x, row, place);
    }
}

/* The widest load below 16 bytes: folds without native results take 8 bytes by two loads of 4. */
template <class Fold, class In>
constexpr unsigned widest_load = stores_native<Fold, In> || sizeof(In) > sizeof(uint32_t)
                                     ? sizeof(uint64_t)
                                     : sizeof(uint32_t);

/* Bring a block's rows to shared memory, contiguously. */
template <class In, bool Strided>
__device__ __forceinline__ shared<const char>
staged_rows(const kernel_axes &x, const block_rows<Strided> &rows, const swizzle &swizzled)
{
    if constexpr (Strided)
        if (x.launch.row.unit)
            return gather_rows<In>(x, rows, swizzled);
    const unsigned bytes = unsigned(x.launch.row.bytes);
    const global<const char> from = rows.from + rows.first * bytes;
    const shared<char> to = block_memory<char>();
    const shared<const char> begin =
        x.launch.row.swizzle_mask ? start_swizzled(to, from, rows.count * (bytes / 16), swizzled)
                                  : start_copies(to, from, rows.count * bytes);
    wait_for_copies();
    __syncthreads();
    return begin;
}

template <class Fold, class In, bool Strided>
__device__ __forceinline__ void fold_staged_rows(const kernel_axes &x)
{
    const block_rows<Strided> rows(x);
    const unsigned bytes = unsigned(x.launch.row.bytes);
    const unsigned load = unsigned(sizeof(In)) << x.launch.load,
                   size = load < 16 && load > widest_load<Fold, In> ? widest_load<Fold, In> : load;
    const team_share share = {unsigned(x.from.shape[0]),
                              bytes / size,
                              x.launch.team,
                              threadIdx.x & ((1u << x.launch.team) - 1),
                              {x.launch.row.swizzle_mask, x.launch.row.swizzle_shift}};
    const shared<const char> staged = staged_rows<In, Strided>(x, rows, share.swizzled);
    const unsigned first = Strided && x.outer.count > 1
                               ? 0
                               : fold_some_groups<Fold, In>(x, staged, rows.count, rows.first);
    if (size == 16)
        return fold_rows_by_team<Fold, In, row_of_loads<In, 16, false>>(x, share, staged, first,
                                                                        rows);
    if constexpr (sizeof(In) <= sizeof(uint64_t))
        with_static_power<widest_load<Fold, In>, (sizeof(In) > 1 ? sizeof(In) : 2)>(
            size, [&](auto bytes) {
                constexpr unsigned load_bytes = decltype(bytes)::value;
                if constexpr (load_bytes < 4 && sizeof(In) == 1)
                    fold_rows_by_team<Fold, In, row_of_bytes>(x, share, staged, first, rows);
                else if (stores_native<Fold, In> && share.team == 0)
                    fold_rows_by_team<Fold, In, row_of_loads<In, load_bytes, true>>(
                        x, share, staged, first, rows);
                else
                    fold_rows_by_team<Fold, In, row_of_loads<In, load_bytes, false>>(
                        x, share, staged, first, rows);
            });
}

/* Fold contiguous rows. */
template <class Fold, class In>
__device__ __forceinline__ void fold_flat_rows(const kernel_axes &x)
{
    if constexpr (stores_native<Fold, In>)
        if (x.launch.row.packed) /* staged rows skip this jump table */
            return with_static_power<16 / sizeof(In), (sizeof(In) > 1 ? 1 : 2)>(
                x.launch.row.packed,
                [&](auto n) { fold_in_registers<Fold, In, decltype(n)::value>(x); });
    fold_staged_rows<Fold, In, false>(x);
}

/* ---- the kernel ---- */

/* The resident blocks per multiprocessor, which limit the registers of a thread. Turing's
 * multiprocessors hold 1024 threads. */
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ < 800
constexpr unsigned short_rows_blocks = 4;
#else
constexpr unsigned short_rows_blocks = 5;
#endif

template <class Fold, class In, bool Strided>
__global__ void __launch_bounds__(1 << SHORT_ROWS_BLOCK, short_rows_blocks)
    fold_short_rows(SHARED_PARAMETER(along) arguments, global<state_of<Fold>>, global<uint64_t>,
                    global<unsigned>)
{
    const kernel_axes &x = loaded<Fold>(arguments);
    if constexpr (!Strided)
        fold_flat_rows<Fold, In>(x);
    else if (x.launch.row.batches)
        fold_staged_batches<Fold, In>(x);
    else
        fold_staged_rows<Fold, In, true>(x);
}

} // namespace KERNELS
