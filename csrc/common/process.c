#define _GNU_SOURCE

#include "common/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

static _Atomic pid_t here;

static void ask_again(void)
{
    atomic_store_explicit(&here, getpid(), memory_order_relaxed);
}

/* Without memory for the handler, nothing is kept. */
__attribute__((constructor)) static void keep(void)
{
    if (pthread_atfork(NULL, NULL, ask_again) == 0)
        ask_again();
}

pid_t process_here(void)
{
    const pid_t known = atomic_load_explicit(&here, memory_order_relaxed);
    return known ? known : getpid();
}
