/* Elements as order-preserving unsigned integers, for order statistics. */
#pragma once

#include "../device.cuh"

#include "common/quantile.h"

namespace KERNELS
{

/* Keys of elements as wide as K. All NaNs have the same key, the greatest, which no number has. */
template <class K>
struct rank_key {
    K infinity; /* bits of infinity; 0 for integers */
    K flip;     /* sign bit of signed integers */

    static constexpr K top = K(K(1) << (8 * sizeof(K) - 1)), nan = K(~K(0));

    __host__ __device__ __forceinline__ explicit rank_key(enum element type)
        : infinity(K(type == ELEMENT_FLOAT16    ? 0x7c00
                     : type == ELEMENT_BFLOAT16 ? 0x7f80
                     : type == ELEMENT_FLOAT32  ? 0x7f800000
                     : type == ELEMENT_FLOAT64  ? 0x7ff0000000000000
                                                : 0)),
          flip(element_is_signed(type) ? top : K(0))
    {
    }

    template <bool Floats>
    __host__ __device__ __forceinline__ K encode(K bits) const
    {
        if constexpr (!Floats)
            return bits ^ flip;
        const K ordered = bits & top ? K(~bits) : K(bits | top);
        return K(bits & K(~top)) > infinity ? nan : ordered;
    }

    __host__ __device__ __forceinline__ K decode(K key) const
    {
        if (!infinity)
            return key ^ flip;
        return key == nan ? K(infinity | infinity >> 1) : key & top ? K(key ^ top) : K(~key);
    }

    __host__ __device__ __forceinline__ union scalar value(K key) const
    {
        const K bits = decode(key);
        union scalar value;
        value.c128.real = value.c128.imag = 0;
        memcpy(&value, &bits, sizeof bits);
        return value;
    }
};

/* The number of keys that are not NaN, among n sorted keys with NaNs last. */
template <class Keys>
__host__ __device__ __forceinline__ uint64_t sorted_numbers(const Keys &keys, uint64_t n)
{
    using K = decltype(keys[0]);
    return partition_point(n, [&](uint64_t k) { return keys[k] != rank_key<K>::nan; });
}

} // namespace KERNELS
