/* The docstrings of the reductions. The first line is the signature, for inspect and help; it can
 * only name constants, so that `...` stands for an initial value that is not given. */
#pragma once

#define DOC_SIGNATURE_BEGIN                                                                        \
    "($module, a, /, *, method='auto', block_size=None, dtype=None, device=None, "

#define DOC_SIGNATURE_END "where=True, out=None, stream=None)\n--\n\n"

#define DOC_SIGNATURE DOC_SIGNATURE_BEGIN "initial=..., " DOC_SIGNATURE_END

#define DOC_SIGNATURE_OF_MEAN DOC_SIGNATURE_BEGIN DOC_SIGNATURE_END

#define DOC_PARAMETERS_BEGIN                                                                       \
    "\n"                                                                                           \
    "Parameters\n"                                                                                 \
    "----------\n"                                                                                 \
    "a : array_like of any shape\n"                                                                \
    "    A NumPy array of any layout and byte order; an object with the buffer protocol,\n"        \
    "    ``__array_interface__`` or ``__array__``; a sequence or a scalar; or an array\n"          \
    "    of any layout, on a GPU or not, that offers ``__cuda_array_interface__`` or\n"            \
    "    ``__dlpack__``. Elements are bool, int8 to int64, uint8 to uint64, float16,\n"            \
    "    bfloat16, float32, float64, complex64 or complex128. The array is never\n"                \
    "    written.\n"                                                                               \
    "method : str, default 'auto'\n"                                                               \
    "    ``'auto'``, or a method's name; `gred.methods` lists them. All take every real\n"         \
    "    type; complex numbers are for ``'auto'``, ``'recursive'`` and ``'last_block'``.\n"        \
    "block_size : int, optional\n"                                                                 \
    "    Threads a block, a power of two from 32 to 1024, for rungs of the ladder.\n"              \
    "    By default the method's own.\n"                                                           \
    "dtype : data-type, optional\n"                                                                \
    "    The type of the result, one of the element types above. Each element is\n"                \
    "    converted to it first. float16 and bfloat16 are accumulated in at least\n"                \
    "    float32 and rounded once, at the end.\n"                                                  \
    "device : str, optional\n"                                                                     \
    "    ``'host'``, ``'simulated'``, ``'cuda'`` or ``'cuda:N'``. By default a GPU array\n"        \
    "    is reduced on its GPU and a host array on the host; a rung goes to the GPU if\n"          \
    "    there is one, else to the simulated device.\n"

#define DOC_INITIAL_FOR                                                                            \
    "initial : scalar, optional\n"                                                                 \
    "    A value that takes part, too, once. It is converted to the result's type.\n"

#define DOC_INITIAL_IDENTITY                                                                       \
    DOC_INITIAL_FOR                                                                                \
    "    With None nothing stands in for elements: there must be some, and no `where`.\n"

#define DOC_INITIAL_NEEDED                                                                         \
    DOC_INITIAL_FOR                                                                                \
    "    With `where` it is needed, as with an array that may be empty.\n"

#define DOC_PARAMETERS_END                                                                         \
    "where : array_like of bool, default True\n"                                                   \
    "    The elements that take part; broadcast to the shape of `a`.\n"                            \
    "out : array of one element, optional\n"                                                       \
    "    Where the result goes, converted to the type of `out`: a writable NumPy array,\n"         \
    "    or a GPU array that offers one of the interfaces above; then the call does not\n"         \
    "    wait for the GPU. Without `dtype`, elements are converted first to the type that\n"       \
    "    theirs and that of `out` promote to.\n"                                                   \
    "stream : int or stream, optional\n"                                                           \
    "    The CUDA stream that the work on a GPU is ordered on, behind the work that\n"             \
    "    makes `a`: a handle, 1 for the legacy default stream, 2 for the thread's own,\n"          \
    "    an object with ``__cuda_stream__``, or a stream of CuPy, PyTorch or Numba.\n"             \
    "    Elsewhere it makes no difference.\n"                                                      \
    "\n"                                                                                           \
    "Returns\n"                                                                                    \
    "-------\n"                                                                                    \
    "NumPy scalar\n"

#define DOC_RAISES                                                                                 \
    "    `out` itself, if it was given.\n"                                                         \
    "\n"                                                                                           \
    "Raises\n"                                                                                     \
    "------\n"                                                                                     \
    "TypeError\n"                                                                                  \
    "    If an argument or the array's element type is of a type that is not supported.\n"         \
    "ValueError\n"                                                                                 \
    "    If there is no such method, device or block size, the method does not run on\n"           \
    "    the device, a shape does not fit, or an interface describes memory that is not\n"         \
    "    there.\n"

#define DOC_EMPTY "    Or if no element takes part and there is no `initial`.\n"

#define DOC_OVERFLOW                                                                               \
    "OverflowError\n"                                                                              \
    "    If `initial` is an int that the result's type cannot hold.\n"

#define DOC_RAISES_END                                                                             \
    "RuntimeError\n"                                                                               \
    "    If a GPU is asked for and there is none.\n"                                               \
    "CudaError\n"                                                                                  \
    "    If a GPU reports an error; a RuntimeError, too.\n"                                        \
    "MemoryError\n"                                                                                \
    "    If the device's memory does not suffice.\n"                                               \
    "\n"                                                                                           \
    "Warns\n"                                                                                      \
    "-----\n"                                                                                      \
    "RuntimeWarning\n"                                                                             \
    "    If the simulated device will take more than some ten seconds.\n"

#define DOC_COMPLEX_WARNING                                                                        \
    "numpy.exceptions.ComplexWarning\n"                                                            \
    "    If the imaginary part of complex elements is lost to a real `dtype`.\n"

#define DOC_SUM                                                                                    \
    "sum" DOC_SIGNATURE "The sum of all elements of an array.\n" DOC_PARAMETERS_BEGIN              \
        DOC_INITIAL_IDENTITY DOC_PARAMETERS_END                                                    \
    "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"              \
    "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"              \
    "    Integers wrap around; sums of bool are true if any element is. The sum of\n"              \
    "    nothing is 0.\n" DOC_RAISES DOC_OVERFLOW DOC_RAISES_END DOC_COMPLEX_WARNING "\n"          \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.sum(np.arange(10))\n"                                                                \
    "np.int64(45)\n"                                                                               \
    ">>> gred.sum(np.arange(10), method='unroll8', device='simulated')\n"                          \
    "np.int64(45)\n"                                                                               \
    "\n"                                                                                           \
    "Only some of the elements, and a first summand:\n"                                            \
    "\n"                                                                                           \
    ">>> gred.sum([[1, 2], [3, 4]], where=[True, False], initial=100)\n"                           \
    "np.int64(104)\n"                                                                              \
    "\n"                                                                                           \
    "A type to convert to, and a place for the result:\n"                                          \
    "\n"                                                                                           \
    ">>> tenths = np.full((64, 64), 0.1, np.float16)\n"                                            \
    ">>> gred.sum(tenths), gred.sum(tenths.T, dtype=np.float64)\n"                                 \
    "(np.float16(409.5), np.float64(409.5))\n"                                                     \
    ">>> out = np.zeros(())\n"                                                                     \
    ">>> gred.sum([1.5, 2.0], out=out) is out\n"                                                   \
    "True\n"                                                                                       \
    ">>> out\n"                                                                                    \
    "array(3.5)\n"

#define DOC_PROD                                                                                   \
    "prod" DOC_SIGNATURE "The product of all elements of an array.\n" DOC_PARAMETERS_BEGIN         \
        DOC_INITIAL_IDENTITY DOC_PARAMETERS_END                                                    \
    "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"              \
    "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"              \
    "    Integers wrap around; products of bool are true if all elements are. The\n"               \
    "    product of nothing is 1.\n" DOC_RAISES DOC_OVERFLOW DOC_RAISES_END DOC_COMPLEX_WARNING    \
    "\n"                                                                                           \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.prod([1.5, 2.0, 4.0])\n"                                                             \
    "np.float64(12.0)\n"                                                                           \
    ">>> gred.prod([1, 0, 3, 4], where=[True, False, True, True], initial=-1)\n"                   \
    "np.int64(-12)\n"                                                                              \
    ">>> gred.prod([1 + 1j, 1 - 1j], dtype=np.complex64)\n"                                        \
    "np.complex64(2+0j)\n"                                                                         \
    ">>> gred.prod([True, False, True], dtype=bool)\n"                                             \
    "np.False_\n"

#define DOC_MIN                                                                                    \
    "min" DOC_SIGNATURE                                                                            \
    "The least element of an array; NaN if there is one.\n" DOC_PARAMETERS_BEGIN                   \
        DOC_INITIAL_NEEDED DOC_PARAMETERS_END                                                      \
    "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"         \
    "    are ordered by their real parts first, then by their imaginary parts.\n" DOC_RAISES       \
        DOC_EMPTY DOC_OVERFLOW DOC_RAISES_END DOC_COMPLEX_WARNING "\n"                             \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.min([3, 1, 2])\n"                                                                    \
    "np.int64(1)\n"                                                                                \
    ">>> gred.min([3, 1, 2], where=[True, False, True], initial=100)\n"                            \
    "np.int64(2)\n"                                                                                \
    ">>> gred.min(np.array([0.5, -0.25], np.float16))\n"                                           \
    "np.float16(-0.25)\n"

#define DOC_MAX                                                                                    \
    "max" DOC_SIGNATURE                                                                            \
    "The greatest element of an array; NaN if there is one.\n" DOC_PARAMETERS_BEGIN                \
        DOC_INITIAL_NEEDED DOC_PARAMETERS_END                                                      \
    "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"         \
    "    are ordered by their real parts first, then by their imaginary parts.\n" DOC_RAISES       \
        DOC_EMPTY DOC_OVERFLOW DOC_RAISES_END DOC_COMPLEX_WARNING "\n"                             \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.max([3.0, float('nan'), 2.0])\n"                                                     \
    "np.float64(nan)\n"                                                                            \
    ">>> gred.max([], initial=0.0)\n"                                                              \
    "np.float64(0.0)\n"                                                                            \
    ">>> gred.max([1 + 2j, 1 + 3j, 9j])\n"                                                         \
    "np.complex128(1+3j)\n"

#define DOC_MEAN                                                                                   \
    "mean" DOC_SIGNATURE_OF_MEAN "The mean of all elements of an array: their sum, divided "       \
    "once.\n" DOC_PARAMETERS_BEGIN DOC_PARAMETERS_END                                              \
    "    float64 for bool and integers, else of the elements' type, unless `dtype` or\n"           \
    "    `out` says otherwise. The mean of nothing is NaN.\n" DOC_RAISES DOC_RAISES_END            \
    "RuntimeWarning\n"                                                                             \
    "    If no element takes part.\n" DOC_COMPLEX_WARNING "\n"                                     \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.mean([1, 2, 4, 5])\n"                                                                \
    "np.float64(3.0)\n"                                                                            \
    ">>> gred.mean([[1, 2], [4, 5]], where=[[True], [False]])\n"                                   \
    "np.float64(1.5)\n"                                                                            \
    ">>> gred.mean(np.array([1, 2], np.float16))\n"                                                \
    "np.float16(1.5)\n"
