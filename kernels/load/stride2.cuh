/* Packs of every second element: each is assembled from two consecutive packs. Every sector
 * contains selected elements, so this reads no more memory than single loads would. */
#pragma once

#include "../vector.cuh"

namespace KERNELS
{

/* Whether the first selected element is the second of an aligned pair. */
template <class In>
__device__ __forceinline__ bool is_odd(global<const In> data)
{
    return address_of(data) / sizeof(In) % 2;
}

/* Select four words of eight: elements 0, 2, ... or, if `odd`, 1, 3, ... */
template <class In>
__device__ __forceinline__ void select_every_second(const uint32_t (&low)[4],
                                                    const uint32_t (&high)[4], bool odd,
                                                    uint32_t (&to)[4])
{
    constexpr unsigned words = sizeof(In) > 4 ? sizeof(In) / 4 : 1;
    static_assert(sizeof(In) <= 8, "a pack has two elements at least");
#pragma unroll
    for (unsigned k = 0; k < 4; k++) {
        const uint32_t *const from = k < 2 ? low : high;
        const unsigned half = k % 2;
        if constexpr (sizeof(In) == 1) {
            to[k] = permute_bytes(from[2 * half], from[2 * half + 1], odd ? 0x7531 : 0x6420);
        } else if constexpr (sizeof(In) == 2) {
            to[k] = permute_bytes(from[2 * half], from[2 * half + 1], odd ? 0x7632 : 0x5410);
        } else {
            const unsigned even = words == 1 ? 2 * half : half;
            to[k] = odd ? from[even + words] : from[even];
        }
    }
}

/* Pack k of selected elements, from memory. */
template <class In>
__device__ __forceinline__ vec16 load_every_second(global<const vec16> from, uint64_t k, bool odd)
{
    const vec16 low = from[2 * k], high = from[2 * k + 1];
    vec16 selected;
    select_every_second<In>(low.at, high.at, odd, selected.at);
    return selected;
}

/* n elements, every second from `data` on, as packs (see aligned_packs). Each pack's 32 bytes are
 * between the first and the last element; the elements before and after the packs are singles. */
template <class In>
struct strided_packs {
    global<const vec16> packs;
    uint64_t head, count, tail;
    bool odd;

    __device__ __forceinline__ strided_packs(global<const In> data, uint64_t n) : odd(is_odd(data))
    {
        constexpr unsigned two = 2 * pack<In>::size;
        const unsigned skipped = elements_to_boundary(data, two);
        head = (skipped + 1) / 2 < n ? (skipped + 1) / 2 : n;
        count = 2 * n - 1 > skipped ? (2 * n - 1 - skipped) / two : 0;
        tail = head + count * pack<In>::size;
        packs = pointer_cast<const vec16>(data + skipped);
    }

    __device__ __forceinline__ uint64_t single(uint64_t rank) const
    {
        return rank < head ? rank : tail + (rank - head);
    }
};

} // namespace KERNELS
