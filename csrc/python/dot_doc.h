/* The docstring of gred.dot. */
#pragma once

#define DOC_dot                                                                                    \
    "dot(a, b, *, method='auto', device=None, stream=None)\n"                                      \
    "--\n"                                                                                         \
    "\n"                                                                                           \
    "The dot product of two vectors: the sum of the products of their elements.\n"                 \
    "\n"                                                                                           \
    "As `numpy.dot` of two one-dimensional arrays, and `numpy.vecdot` of real ones: a\n"           \
    "complex number is not conjugated.\n"                                                          \
    "\n"                                                                                           \
    "Parameters\n"                                                                                 \
    "----------\n"                                                                                 \
    "a, b : array_like of shape (n,)\n"                                                            \
    "    As for `gred.sum`, in any layout; both on the host or both on one device, where\n"        \
    "    they are multiplied. Elements are converted to the type that NumPy promotes both\n"       \
    "    types to, and bfloat16 beside float16 to float32.\n"                                      \
    "method : {'auto', 'exact'}, default 'auto'\n"                                                 \
    "    ``'auto'`` multiplies and adds floats in float64 [1]_, where products of narrower\n"      \
    "    ones are exact: as a tree, so that the error grows with the logarithm of n, and\n"        \
    "    whatever the number of threads in the same order; on a device each thread adds a\n"       \
    "    row, and rows are added as a tree. ``'exact'`` rounds nothing but the sum, once,\n"       \
    "    to the nearest float, ties to even: no product overflows, underflows or is\n"             \
    "    rounded [2]_; it overflows only if the exact sum does, and has the same bits on\n"        \
    "    every device. A complex number has two such sums. 64-bit integers beside real\n"          \
    "    floats are multiplied as they are: on a device one by one, which is slow.\n"              \
    "device : str, optional\n"                                                                     \
    "    ``'host'``, ``'simulated'``, ``'cuda'`` or ``'cuda:N'``, where arrays of the host\n"      \
    "    are multiplied; by default on the host. What lies on a device stays there.\n"             \
    "stream : int or stream, optional\n"                                                           \
    "    As for `gred.sum`.\n"                                                                     \
    "\n"                                                                                           \
    "Returns\n"                                                                                    \
    "-------\n"                                                                                    \
    "NumPy scalar\n"                                                                               \
    "    Of the common type of the elements, but int64 for bool and signed integers, and\n"        \
    "    uint64 for unsigned ones, unlike `numpy.dot`, whose sums wrap around in the\n"            \
    "    elements' own type: these wrap around in 64 bits. The dot product of nothing is 0,\n"     \
    "    and one of 0 is positive.\n"                                                              \
    "\n"                                                                                           \
    "Raises\n"                                                                                     \
    "------\n"                                                                                     \
    "TypeError\n"                                                                                  \
    "    If an element type is not supported, or an array is a masked one.\n"                      \
    "ValueError\n"                                                                                 \
    "    If a and b are not vectors of one length, do not lie on one device, or there is\n"        \
    "    no such method or device.\n"                                                              \
    "RuntimeError, MemoryError\n"                                                                  \
    "    If there is no GPU to use, it fails, or its memory does not suffice.\n"                   \
    "\n"                                                                                           \
    "References\n"                                                                                 \
    "----------\n"                                                                                 \
    ".. [1] N. J. Higham, \"The accuracy of floating point summation\", SIAM J. Sci.\n"            \
    "   Comput. 14, 1993.\n"                                                                       \
    ".. [2] T. J. Dekker, \"A floating-point technique for extending the available\n"              \
    "   precision\", Numer. Math. 18, 1971; R. M. Neal, \"Fast exact summation using small\n"      \
    "   and large superaccumulators\", arXiv:1505.05571, 2015.\n"                                  \
    "\n"                                                                                           \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"                                                               \
    ">>> gred.dot([1, 2, 3], [4, 5, 6])\n"                                                         \
    "np.int64(32)\n"                                                                               \
    ">>> x = np.array([1e200, 1.0, -1e200])\n"                                                     \
    ">>> y = np.array([1e200, 3.0, 1e200])\n"                                                      \
    ">>> gred.dot(x, y), gred.dot(x, y, method=\"exact\")\n"                                       \
    "(np.float64(nan), np.float64(3.0))\n"
