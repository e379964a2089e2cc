#define _GNU_SOURCE

#include "arrays/stream_handle.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Asked for a way to change signals that there is none, the kernel reads the set, says that it
 * cannot, or else that there is no such way, and changes nothing. Other questions take it ten times
 * as long. */
static bool is_readable(uintptr_t address)
{
    enum { NO_WAY = -1, SET_BYTES = _NSIG / 8 };
    return syscall(SYS_rt_sigprocmask, NO_WAY, address, NULL, SET_BYTES) == 0 || errno != EFAULT;
}

/* Handles that CUDA took for streams' when it last saw them, each where its bits lead. To ask takes
 * longer than all else that is asked of a stream; and who destroys one leaves what CUDA recognises,
 * since it rarely gives memory of that size back to the operating system. */
enum { KNOWN = 16 };
static _Atomic(uintptr_t) known[KNOWN];

static _Atomic(uintptr_t) *place_of(uintptr_t handle)
{
    enum { LOW = 6, HIGH = 12 };
    return &known[(handle >> LOW ^ handle >> HIGH) % KNOWN];
}

bool stream_is_readable(uintptr_t handle)
{
    enum { PER_THREAD_DEFAULT_STREAM = 2, BYTES = 64, PAGE_MIN = 4096 };
    if (handle <= PER_THREAD_DEFAULT_STREAM) /* the default streams are no pointers */
        return true;
    if (atomic_load_explicit(place_of(handle), memory_order_relaxed) == handle)
        return true;
    const uintptr_t last = handle + BYTES - sizeof(uint64_t);
    return is_readable(handle) && (handle / PAGE_MIN == last / PAGE_MIN || is_readable(last));
}

void stream_is_known(uintptr_t handle)
{
    atomic_store_explicit(place_of(handle), handle, memory_order_relaxed);
}
