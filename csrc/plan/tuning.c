#include "plan/tuning.h"

#include <stddef.h>

/* On an H200, whole calls of float32 sums in microseconds, as benchmarks/block_sizes.py measures
 * them; in brackets what the method takes by itself, 512 threads with 32 elements each.
 *
 *     400 bytes   9.8  with 64 threads, one block             (10.1)
 *     16 KiB     10.2  256 threads, 16 each: one block        (10.5)
 *     64 KiB     10.7  as it is, one block; several take 11.7 at best
 *     128 KiB    10.8  with 1024 threads, one block           (11.4)
 *     256 KiB    12.0  with 8 elements each                   (12.4)
 *     1 MiB      12.2  with 8 each                            (12.9)
 *     4 MiB on         as it is; fewer elements a thread take 0.3 to 0.7 longer */
static const struct {
    enum method_index method;
    uint64_t n; /* at most */
    struct tuning shape;
} rows[] = {
    {METHOD_last_block, 1024, {64, 32}},   {METHOD_last_block, 4096, {256, 16}},
    {METHOD_last_block, 16384, {512, 32}}, {METHOD_last_block, 32768, {1024, 32}},
    {METHOD_last_block, 524288, {512, 8}},
};

static struct tuning forced;

void tuning_force(struct tuning shape)
{
    forced = shape;
}

struct tuning tuning_of_method(const struct method *method)
{
    return (struct tuning){method->block_size, method->data_blocks};
}

struct tuning tuning_for(const struct method *method, uint64_t n)
{
    if (forced.block)
        return forced;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; k++)
        if (method == method_at(rows[k].method) && n <= rows[k].n)
            return rows[k].shape;
    return tuning_of_method(method);
}
