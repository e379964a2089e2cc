/* Columns of unsigned integers, sorted in lanes, all by the same comparisons: Batcher's merge
 * exchange, as in Knuth (1998), "The Art of Computer Programming", volume 3, algorithm 5.2.2M. */
#pragma once

#include "registers.cuh"

#include "common/cpu_kernels.h"

namespace KERNELS
{
namespace
{

/* The lesser of each two keys goes to the first row, the greater one to the second. */
template <class K>
LANES_FUNCTION void compare_rows(char *first, char *second)
{
    EACH_REGISTER(unsigned byte = 0; byte < SORTED_ROW; byte += register_bytes)
    {
        const auto a = loaded<vector<K>>(first + byte), b = loaded<vector<K>>(second + byte);
        const vector<K> low = a < b ? a : b, high = a < b ? b : a;
        memcpy(first + byte, &low, sizeof low);
        memcpy(second + byte, &high, sizeof high);
    }
}

template <class K>
void sort_rows(void *keys, uint64_t n)
{
    char *const rows = static_cast<char *>(keys);
    uint64_t top = 1;
    while (2 * top < n)
        top *= 2;
    for (uint64_t p = top; p > 0; p /= 2)
        for (uint64_t q = top, from = 0, apart = p;; from = p, apart = q - p, q /= 2) {
            for (uint64_t i = from; i + apart < n; i += 2 * p)
                for (uint64_t k = i; k < i + p && k + apart < n; k++)
                    compare_rows<K>(rows + k * SORTED_ROW, rows + (k + apart) * SORTED_ROW);
            if (q == p)
                break;
        }
}

} // namespace
} // namespace KERNELS
