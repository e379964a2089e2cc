#define _GNU_SOURCE

#include "common/process.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <time.h>
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

double clock_now(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* xorshift64* (Vigna 2016). */
void clock_random(void *memory, size_t bytes)
{
    uint64_t state = 0x9e3779b97f4a7c15;
    for (size_t at = 0; at < bytes; at += sizeof state) {
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        const uint64_t word = state * 0x2545f4914f6cdd1d;
        memcpy((char *)memory + at, &word, bytes - at < sizeof word ? bytes - at : sizeof word);
    }
}
