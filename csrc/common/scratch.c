#include "common/scratch.h"

#include <stdatomic.h>
#include <stdlib.h>

enum { CACHE_LINE = 64, BLOCKS = 4 };

/* AddressSanitizer needs separate blocks to detect overruns. */
#ifdef __SANITIZE_ADDRESS__
enum { BLOCK = 0 };
#else
enum { BLOCK = 32 << 10 };
#endif

static void *_Atomic cached[BLOCKS];

void *scratch_acquire(size_t bytes)
{
    for (int k = 0; bytes <= BLOCK && k < BLOCKS; k++) {
        void *const at = atomic_load_explicit(&cached[k], memory_order_relaxed)
                             ? atomic_exchange(&cached[k], NULL)
                             : NULL;
        if (at)
            return at;
    }
    const size_t lines = (bytes > BLOCK ? bytes : BLOCK) / CACHE_LINE + 1;
    return aligned_alloc(CACHE_LINE, lines * CACHE_LINE);
}

void scratch_release(void *at, size_t bytes)
{
    for (int k = 0; at && bytes <= BLOCK && k < BLOCKS; k++) {
        void *none = NULL;
        if (atomic_compare_exchange_strong(&cached[k], &none, at))
            return;
    }
    free(at);
}
