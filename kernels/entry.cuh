/* Take the address of a kernel, for a GPU or the simulated device, and look it up by element types
 * that are known only at run time. */
#pragma once

#include "elements.cuh"

#include "common/kernels.h"

#include <type_traits>
#include <utility>

/* OF_FOLD(flat) is sum_flat, prod_flat, ... for the fold GRED_FOLD of this compilation. */
#define OF_FOLD(what)              OF_FOLD_JOIN(GRED_FOLD, what)
#define OF_FOLD_JOIN(fold, what)   OF_FOLD_PASTED(fold, what)
#define OF_FOLD_PASTED(fold, what) fold##_##what

namespace KERNELS
{

#ifdef __CUDACC__

/* The pointer that cudaLaunchKernel takes. */
#define KERNEL_ENTRY(...) reinterpret_cast<const void *>(__VA_ARGS__)

#else

/* Unpacks a launch's arguments and runs the kernel as one thread. */
template <auto Kernel>
struct simulated_thread;

template <class... Parameters, void (*Kernel)(Parameters...)>
struct simulated_thread<Kernel> {
    template <size_t... K>
    [[gnu::always_inline]] static void call(void **arguments, std::index_sequence<K...>)
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

/* ---- element types ---- */

/* An array's element type and its accumulator's, and the C++ types of the kernel's template
 * arguments: unsigned integers may be reduced as signed ones if the resulting bits are the same. */
template <enum element Input, enum element Accumulator = Input,
          class Acc = typename type_of<Accumulator>::type, class In = typename type_of<Input>::type>
struct pair {
    using in = In;
    using acc = Acc;

    static constexpr bool matches(enum element input, enum element accumulator)
    {
        return input == Input && accumulator == Accumulator;
    }
};

/* The pairs for which kernels exist. find() calls entry(in, acc) with a value of each type if the
 * requested pair is among them, and otherwise returns a null pointer. */
template <class... Pairs>
struct pairs {
    template <class Found = const void *, class Entry>
    static Found find([[maybe_unused]] enum element input,
                      [[maybe_unused]] enum element accumulator, [[maybe_unused]] Entry entry)
    {
        Found found = nullptr;
        (void)((Pairs::matches(input, accumulator) &&
                (found = entry(typename Pairs::in(), typename Pairs::acc()), true)) ||
               ...);
        return found;
    }

    template <class... More>
    static pairs<Pairs..., More...> concatenate(pairs<More...>);
};

/* The concatenation of several lists. */
template <class First, class... Lists>
struct concat_pairs;

template <class... Pairs>
struct concat_pairs<pairs<Pairs...>> : pairs<Pairs...> {};

template <class First, class Second, class... Lists>
struct concat_pairs<First, Second, Lists...>
    : concat_pairs<decltype(First::concatenate(Second())), Lists...> {};

template <enum element Accumulator, enum element... Inputs>
using accumulated_in = pairs<pair<Inputs, Accumulator>...>;

using floating_pairs =
    pairs<pair<ELEMENT_FLOAT16, ELEMENT_FLOAT32>, pair<ELEMENT_BFLOAT16, ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT32>, pair<ELEMENT_FLOAT64>, pair<ELEMENT_COMPLEX64>,
          pair<ELEMENT_COMPLEX128>>;

template <enum element Accumulator>
using integers_in =
    accumulated_in<Accumulator, ELEMENT_BOOL, ELEMENT_INT8, ELEMENT_INT16, ELEMENT_INT32,
                   ELEMENT_INT64, ELEMENT_UINT8, ELEMENT_UINT16, ELEMENT_UINT32, ELEMENT_UINT64>;

using exact_floats =
    pairs<pair<ELEMENT_FLOAT16>, pair<ELEMENT_BFLOAT16>, pair<ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT64>, pair<ELEMENT_COMPLEX64>, pair<ELEMENT_COMPLEX128>>;

/* The pairs for which the rungs and CUB are compiled. If Signed, uint64 is reduced as int64, and
 * int32 is also accumulated in 64 bits. */
template <bool Signed>
using pairs_of_rungs = std::conditional_t<
    Signed,
    pairs<pair<ELEMENT_INT32>, pair<ELEMENT_INT64>,
          pair<ELEMENT_UINT64, ELEMENT_UINT64, int64_t, int64_t>, pair<ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT64>, pair<ELEMENT_INT32, ELEMENT_INT64>>,
    pairs<pair<ELEMENT_INT32>, pair<ELEMENT_INT64>, pair<ELEMENT_UINT64>, pair<ELEMENT_FLOAT32>,
          pair<ELEMENT_FLOAT64>>>;

/* ---- block sizes ---- */

/* Call entry with the block size as a compile-time constant. */
template <unsigned Block = BLOCK_SIZE_MIN, class Entry>
const void *of_block(unsigned block, Entry entry)
{
    if (block == Block)
        return entry(std::integral_constant<unsigned, Block>());
    if constexpr (Block < BLOCK_SIZE_MAX)
        return of_block<2 * Block>(block, entry);
    return nullptr;
}

} // namespace KERNELS
