/* How a kernel's address is taken, for either compilation. */
#pragma once

#include "device.cuh"

#include <type_traits>
#include <utility>

/* sum_flat, prod_flat, ...: what a compilation for the fold GRED_FOLD defines. */
#define OF_FOLD(what)              OF_FOLD_JOIN(GRED_FOLD, what)
#define OF_FOLD_JOIN(fold, what)   OF_FOLD_PASTED(fold, what)
#define OF_FOLD_PASTED(fold, what) fold##_##what

namespace KERNELS
{

#ifdef __CUDACC__

/* What cudaLaunchKernel takes. */
#define KERNEL_ENTRY(...) reinterpret_cast<const void *>(__VA_ARGS__)

#else

/* Unpacks a launch's arguments and runs the kernel as one thread. */
template <auto Kernel>
struct simulated_thread;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct simulated_thread<Kernel> {
    template <size_t... K>
    static void call(void **arguments, std::index_sequence<K...>)
    {
        Kernel(*static_cast<std::remove_reference_t<Parameters> *>(arguments[K])...);
    }

    static void run(void **arguments)
    {
        call(arguments, std::index_sequence_for<Parameters...>());
    }
};

#define KERNEL_ENTRY(...) reinterpret_cast<const void *>(&simulated_thread<__VA_ARGS__>::run)

#endif

} // namespace KERNELS
