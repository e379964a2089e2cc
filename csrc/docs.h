/* The docstrings of the reductions. The first line is the signature, for inspect and help. */
#pragma once

#define DOC_SIGNATURE                                                                              \
    "($module, a, /, *, method='auto', block_size=None, dtype=None, device=None)\n--\n\n"

#define DOC_PARAMETERS                                                                             \
    "\n"                                                                                           \
    "Parameters\n"                                                                                 \
    "----------\n"                                                                                 \
    "a : array_like of any shape\n"                                                                \
    "    A NumPy array of any layout, an object with the buffer protocol or\n"                     \
    "    ``__array__``, a sequence, a scalar, or a C-contiguous GPU array that offers\n"           \
    "    ``__cuda_array_interface__``. Elements are int32, int64, uint64, float32 or\n"            \
    "    float64. The array is never written.\n"                                                   \
    "method : str, default 'auto'\n"                                                               \
    "    ``'auto'``, or a method's name; `gred.methods` lists them.\n"                             \
    "block_size : int, optional\n"                                                                 \
    "    Threads a block, a power of two from 32 to 1024, for rungs of the ladder.\n"              \
    "    By default the method's own.\n"                                                           \
    "dtype : data-type, optional\n"                                                                \
    "    The type to accumulate in, one of the element types above. Each element is\n"             \
    "    converted to it first.\n"                                                                 \
    "device : str, optional\n"                                                                     \
    "    ``'host'``, ``'simulated'``, ``'cuda'`` or ``'cuda:N'``. By default a GPU array\n"        \
    "    is reduced on its GPU and a host array on the host; a rung goes to the GPU if\n"          \
    "    there is one, else to the simulated device.\n"                                            \
    "\n"                                                                                           \
    "Returns\n"                                                                                    \
    "-------\n"

#define DOC_RAISES                                                                                 \
    "\n"                                                                                           \
    "Raises\n"                                                                                     \
    "------\n"                                                                                     \
    "TypeError\n"                                                                                  \
    "    If an argument or the array's element type is of a type that is not supported.\n"         \
    "ValueError\n"                                                                                 \
    "    If there is no such method, device or block size, or the method does not run on\n"        \
    "    the device.\n"                                                                            \
    "RuntimeError\n"                                                                               \
    "    If a GPU is asked for and there is none, or it reports an error.\n"                       \
    "MemoryError\n"                                                                                \
    "    If the device's memory does not suffice.\n"

#define DOC_WARNS                                                                                  \
    "\n"                                                                                           \
    "Warns\n"                                                                                      \
    "-----\n"                                                                                      \
    "RuntimeWarning\n"                                                                             \
    "    If the simulated device will take more than some ten seconds.\n"

#define DOC_EMPTY                                                                                  \
    "ValueError\n"                                                                                 \
    "    If `a` is empty, too.\n"

#define DOC_SUM                                                                                    \
    "sum" DOC_SIGNATURE "The sum of all elements of an array.\n" DOC_PARAMETERS "NumPy scalar\n"   \
    "    int64 for int32 elements unless `dtype` says otherwise, else of the elements'\n"          \
    "    type. Integers wrap around. The sum of an empty array is 0.\n" DOC_RAISES DOC_WARNS "\n"  \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.sum(np.arange(10))\n"                                                                \
    "np.int64(45)\n"                                                                               \
    ">>> gred.sum(np.arange(10), method='unroll8', device='simulated')\n"                          \
    "np.int64(45)\n"

#define DOC_PROD                                                                                   \
    "prod" DOC_SIGNATURE "The product of all elements of an array.\n" DOC_PARAMETERS               \
    "NumPy scalar\n"                                                                               \
    "    int64 for int32 elements unless `dtype` says otherwise, else of the elements'\n"          \
    "    type. Integers wrap around. The product of an empty array is 1.\n" DOC_RAISES DOC_WARNS   \
    "\n"                                                                                           \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred\n"                                                                            \
    ">>> gred.prod([1.5, 2.0, 4.0])\n"                                                             \
    "np.float64(12.0)\n"

#define DOC_MIN                                                                                    \
    "min" DOC_SIGNATURE "The least element of an array; NaN if there is one.\n" DOC_PARAMETERS     \
    "NumPy scalar\n"                                                                               \
    "    Of the elements' type, or of `dtype`.\n" DOC_RAISES DOC_EMPTY DOC_WARNS "\n"              \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred\n"                                                                            \
    ">>> gred.min([3, 1, 2])\n"                                                                    \
    "np.int64(1)\n"

#define DOC_MAX                                                                                    \
    "max" DOC_SIGNATURE "The greatest element of an array; NaN if there is one.\n" DOC_PARAMETERS  \
    "NumPy scalar\n"                                                                               \
    "    Of the elements' type, or of `dtype`.\n" DOC_RAISES DOC_EMPTY DOC_WARNS "\n"              \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred\n"                                                                            \
    ">>> gred.max([3.0, float('nan'), 2.0])\n"                                                     \
    "np.float64(nan)\n"

#define DOC_MEAN                                                                                   \
    "mean" DOC_SIGNATURE                                                                           \
    "The mean of all elements of an array: their sum, divided once.\n" DOC_PARAMETERS              \
    "NumPy scalar\n"                                                                               \
    "    float64 for integers, else of the elements' type, or of `dtype`. The mean of an\n"        \
    "    empty array is NaN, with a RuntimeWarning.\n" DOC_RAISES DOC_WARNS "\n"                   \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred\n"                                                                            \
    ">>> gred.mean([1, 2, 4, 5])\n"                                                                \
    "np.float64(3.0)\n"
