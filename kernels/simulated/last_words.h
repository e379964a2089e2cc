/* When a signal ends a kernel's process, prints the kernel's stack to standard error, as addresses
 * in this library that gred.lab converts to source lines. */
#pragma once

#include <dlfcn.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>
#include <unwind.h>

namespace crash_report
{

constexpr int max_frames = 16;

struct frames {
    uintptr_t base, at[max_frames];
    int count;
};

inline uintptr_t library_of(uintptr_t address)
{
    Dl_info info;
    return dladdr(reinterpret_cast<void *>(address), &info) ? uintptr_t(info.dli_fbase) : 0;
}

/* Collects return addresses, which are one past the calling instruction. */
inline _Unwind_Reason_Code collect_frame(struct _Unwind_Context *context, void *data)
{
    frames *all = static_cast<frames *>(data);
    int is_exact = 0;
    const uintptr_t at = _Unwind_GetIPInfo(context, &is_exact) + uintptr_t(is_exact != 0);
    if (library_of(at) == all->base)
        all->at[all->count++] = at - all->base;
    return all->count == max_frames ? _URC_END_OF_STACK : _URC_NO_REASON;
}

/* Passes the signal on to another thread, if the kernel does not run in this one. */
inline void forward_signal(int signal)
{
    kill(getpid(), signal);
    sleep(1);
}

inline void report_crash(int signal)
{
    frames all = {};
    all.base = library_of(reinterpret_cast<uintptr_t>(&report_crash));
    _Unwind_Backtrace(collect_frame, &all);
    const int skipped = 1; /* this function */
    if (signal == SIGALRM && all.count <= skipped)
        forward_signal(signal);
    char text[32 * max_frames];
    int length = snprintf(text, sizeof text, "\nkernel at:");
    for (int k = skipped; k < all.count; k++)
        length += snprintf(text + length, sizeof text - size_t(length), " %lx",
                           static_cast<unsigned long>(all.at[k]));
    if (write(STDERR_FILENO, text, size_t(length)) < 0)
        _exit(1);
    sigset_t mask;
    sigemptyset(&mask);
    sigaddset(&mask, signal);
    ::signal(signal, SIG_DFL);
    raise(signal);
    pthread_sigmask(SIG_UNBLOCK, &mask, nullptr);
}

__attribute__((constructor)) inline void install_handlers()
{
    struct sigaction action = {};
    action.sa_handler = report_crash;
    for (int signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGALRM})
        sigaction(signal, &action, nullptr);
}

} // namespace crash_report
