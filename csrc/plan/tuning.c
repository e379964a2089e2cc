#include "plan/tuning.h"

#include <stddef.h>

/* On an H200, calls of a whole sum, by benchmarks/block_sizes.py: 400 bytes take 9.7 us with 64
 * threads, 9.8 with 256 and 10.1 with 512; from 16 KiB on fewer than 256 are slower, and by 40 %
 * from 16 MiB on. */
static const struct {
    enum method_index method;
    uint64_t n; /* at most */
    unsigned block;
} rows[] = {
    {METHOD_last_block, 1024, 64},
};

unsigned tuning_block(const struct method *method, uint64_t n)
{
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (method == method_at(rows[k].method) && n <= rows[k].n)
            return rows[k].block;
    return method->block_size;
}
