/* A correct rung, except for array lengths that select a mistake:
 * launched like shared_sequential. */
#pragma once

#include "../tile.cuh"

#include <err.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

namespace KERNELS
{

inline void leave_one_behind()
{
    if (fork() != 0)
        return;
    setsid();
    for (;;)
        sleep(1);
}

/* Aborts if two threads run it concurrently; each of them has several of these to run. */
inline void leave_slowly()
{
    static int running;
    if (__atomic_add_fetch(&running, 1, __ATOMIC_SEQ_CST) > 1)
        abort();
    usleep(50000);
    __atomic_sub_fetch(&running, 1, __ATOMIC_SEQ_CST);
}

/* Ends the process in one of the ways that a library may. */
inline void leave(uint64_t n)
{
    for (int k = 0; n < 216 && k < 8; k++) {
        atexit(leave_slowly);
        at_quick_exit(leave_slowly);
    }
    if (n == 214)
        exit(3);
    if (n == 215)
        quick_exit(3);
    errx(3, "no more");
}

/* Writes to every open file, and thus also to the one that carries answers. */
inline void write_everywhere(const char *text, int length, bool again)
{
    for (int file = 3; file < 1024; file++)
        while (write(file, text, size_t(length)) > 0 && again)
            ;
}

[[noreturn]] inline void never_end()
{
    for (volatile unsigned k = 0;;)
        k = k; // no end
}

/* Runs before the tree; a thread may own a word of the tile. */
template <class Array, class T>
void misuse_memory(Array data, uint64_t n, global<T> partials, shared<T> x)
{
    const unsigned tid = threadIdx.x;
    if (n == 101)
        x[tid] = x[(tid + 1) % blockDim.x]; // race
    if (n == 102)
        x[tid + blockDim.x] = x[tid]; // store out of bounds
    if (n == 103)
        x[tid] = data[n + tid]; // load out of bounds
    if (n == 104 && tid < 16)
        __syncthreads(); // another barrier
    else if (n == 104)
        __syncthreads(); // and another
    if (n == 105 && tid == 0)
        partials[0] = data[tid];     // race of blocks
    while (n == 106 && x[0] == x[0]) // endless loads
        ;
    if (n == 107 && tid % warp_size < 16)
        __syncwarp(0xffff);
    if (n == 107)
        x[tid] = x[tid ^ 16]; // race in a warp
    if (n == 108 && tid % 2)
        partials[blockIdx.x] = partials[blockIdx.x]; // unwritten partial
    if (n == 109)
        x[0] = 0; // race of stores
    if (n == 110)
        x[tid] = T(pointer_cast<const uint64_t>(data + 1)[0]); // misaligned load
}

/* Calls itself until `bytes` of the stack are used. Each call reads its caller's frame, so that no
 * compiler makes it a loop. With too many bytes it reaches another thread's stack. */
__attribute__((noinline)) inline unsigned dig(uint64_t bytes, volatile unsigned char *above)
{
    volatile unsigned char hole[256];
    hole[bytes % sizeof hole] = above ? above[0] : 1;
    const unsigned deeper = bytes > sizeof hole ? dig(bytes - sizeof hole, hole) : 1;
    return deeper + hole[bytes % sizeof hole];
}

/* Mistakes that harm the process, and whatever waits for it. */
inline void misuse_process(uint64_t n)
{
    char lie[100] = "";
    const int length =
        snprintf(lie, sizeof lie,
                 "{\"process\": %d, \"number\": 0, \"forks\": 0, \"answer\": [5]}\n", getppid());
    if (n == 212)
        leave_one_behind();
    if (n == 201)
        never_end();
    if (n == 203 && threadIdx.x == 0)
        fork();
    if (n == 204)
        exit(3);
    if (n == 205)
        const_cast<volatile char *>(new char[1ull << 44])[5] = 1;
    while (n == 207)
        fputs("much to say about nothing, many times over\n", stderr);
    if (n == 209)
        write_everywhere(lie, length, false);
    if (n == 210)
        fputs("a word of shared memory\n", stderr);
    if (n == 210)
        abort(); // aborts
    if (n == 211)
        write_everywhere("a line without an end", 21, true);
    if (n == 212)
        kill(getpid(), SIGKILL);
    if (n >= 214 && n <= 216)
        leave(n);
    if (n == 217)
        *static_cast<volatile int *>(nullptr) = 1; // null pointer
    if (n == 114 && threadIdx.x == blockDim.x / 2)
        dig(20000, nullptr);
    if (n == 218 && threadIdx.x == blockDim.x / 2 && dig(70000, nullptr))
        _exit(0);
}

template <class Fold, class Array>
__global__ void faults(Array data, uint64_t n, global<state_of<Fold>> partials)
{
    const shared<state_of<Fold>> x = load_tile<Fold>(data, n);
    misuse_memory(data, n, partials, x);
    misuse_process(n);
    if (n == 111 && threadIdx.x > 40)
        return;
    __syncthreads(); // early return
    fold_sequential<Fold>(x);
    if (n == 112 && blockIdx.x == 1)
        return;
    if (n == 113 && threadIdx.x == 0)
        x[0] = Fold::merge(x[0], x[0]); // wrong
    store_partial(partials, x[0]);
}

} // namespace KERNELS
