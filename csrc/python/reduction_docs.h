/* The docstrings of the reductions, put together of what they have in common. */
#pragma once

#include "python/argument_docs.h"

#define RETURNS                                                                                    \
    "\n"                                                                                           \
    "Returns\n"                                                                                    \
    "-------\n"
#define RETURNS_OUT                                                                                \
    "    An array of results is NumPy's, or, of an array on a GPU, one of the same\n"              \
    "    library there, which the call does not wait for, or a `DeviceArray`. `out`\n"             \
    "    itself, if it was given.\n"
#define RAISES                                                                                     \
    "\n"                                                                                           \
    "Raises\n"                                                                                     \
    "------\n"                                                                                     \
    "TypeError\n"                                                                                  \
    "    If an argument or the array's element type is of a type that is not supported, or\n"      \
    "    an argument has a unit, as quantities of Pint and Astropy have.\n"                        \
    "ValueError\n"                                                                                 \
    "    If there is no such method, device or block size, the method does not run on\n"           \
    "    the device, a shape does not fit, or an interface describes memory that is not\n"         \
    "    there.\n"
#define RAISES_initial "    Or if no element takes part and there is no `initial`.\n"
#define RAISES_empty                                                                               \
    "    Or if no element takes part; where the result stays on a GPU, a mask that hides\n"        \
    "    all is not noticed.\n"
#define RAISES_overflow                                                                            \
    "OverflowError\n"                                                                              \
    "    If `initial` is an int that the result's type cannot hold.\n"
#define RAISES_devices                                                                             \
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
#define WARNS_complex                                                                              \
    "numpy.exceptions.ComplexWarning\n"                                                            \
    "    If the imaginary part of complex elements is lost to a real `dtype`.\n"
#define EXAMPLES                                                                                   \
    "\n"                                                                                           \
    "Examples\n"                                                                                   \
    "--------\n"                                                                                   \
    ">>> import gred, numpy as np\n"

/* A docstring: name, kind of signature, parameters, what is returned, raised and warned of more,
 * examples. */
#define DOCUMENTED(name, kind, summary, parameters, returns, raises, warns, examples)              \
    name SIGNATURE_##kind summary                                                                  \
        "\n" parameters RETURNS returns RAISES raises RAISES_devices warns EXAMPLES examples

#define RETURNS_several                                                                            \
    "    Of a list or tuple of arrays on devices, of any shapes, it is that of all their\n"        \
    "    elements: each is reduced where it lies, side by side, by `method`, with `dtype`\n"       \
    "    and `block_size`; what else there is is not for these.\n"

/* What several reductions return; of folds there is more to say. */
#define RETURNS_folded                                                                             \
    "NumPy scalar, or array\n"                                                                     \
    "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"              \
    "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"              \
    "    Integers wrap around."
#define RETURNS_without_nan                                                                        \
    "    NaN is left out before elements are converted; to types without NaN, such as\n"           \
    "    integers, or without an imaginary part, they are so on the host alone.\n"
#define RETURNS_extreme                                                                            \
    "NumPy scalar, or array\n"                                                                     \
    "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"         \
    "    are ordered by their real parts first, then by their imaginary parts.\n" RETURNS_OUT
#define RETURNS_averaged                                                                           \
    "NumPy scalar, or array\n"                                                                     \
    "    float64 for bool and integers, else of the elements' type, unless `dtype` or\n"           \
    "    `out` says otherwise. The mean of nothing is NaN.\n" RETURNS_OUT
#define RETURNS_position                                                                           \
    "numpy.int64, or array\n"                                                                      \
    "    The position in C order, from 0 on, of int64. `out`, if given, is of bool or of any\n"    \
    "    integers but uint64, which int64 does not hold; what does not fit wraps "                 \
    "around.\n" RETURNS_OUT
#define RETURNS_spread                                                                             \
    "NumPy scalar, or array\n"                                                                     \
    "    float64 for bool and integers, else of the elements' type or, of complex\n"               \
    "    ones, of their parts', unless `dtype` says otherwise. The variance is computed\n"         \
    "    in float64 and in one read, by the formula of Chan, Golub and LeVeque (1983),\n"          \
    "    \"Algorithms for computing the sample variance: analysis and\n"                           \
    "    recommendations\"; of complex numbers from squared magnitudes. Of nothing it is\n"        \
    "    NaN.\n" RETURNS_OUT

#define DOC_sum(summary)                                                                           \
    DOCUMENTED("sum", folded, summary, PARAMETERS_folded(value, ladder),                           \
               RETURNS_folded                                                                      \
               " With ``dtype=bool`` the sum is whether any element is\n"                          \
               "    true, as in NumPy. The sum of nothing is 0.\n" RETURNS_OUT RETURNS_several,    \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.sum(np.arange(10))\n"                                                     \
               "np.int64(45)\n"                                                                    \
               ">>> gred.sum(np.arange(10), method='unroll8', device='simulated')\n"               \
               "np.int64(45)\n"                                                                    \
               "\n"                                                                                \
               "Along an axis, a result for each place along the others:\n"                        \
               "\n"                                                                                \
               ">>> gred.sum([[1, 2, 3], [4, 5, 6]], axis=0)\n"                                    \
               "array([5, 7, 9])\n"                                                                \
               ">>> gred.sum([[1, 2, 3], [4, 5, 6]], 1, keepdims=True)\n"                          \
               "array([[ 6],\n"                                                                    \
               "       [15]])\n"                                                                   \
               "\n"                                                                                \
               "Only some of the elements, and a first summand:\n"                                 \
               "\n"                                                                                \
               ">>> gred.sum([[1, 2], [3, 4]], where=[True, False], initial=100)\n"                \
               "np.int64(104)\n"                                                                   \
               "\n"                                                                                \
               "A type to convert to, and a place for the result:\n"                               \
               "\n"                                                                                \
               ">>> tenths = np.full((64, 64), 0.1, np.float16)\n"                                 \
               ">>> gred.sum(tenths), gred.sum(tenths.T, dtype=np.float64)\n"                      \
               "(np.float16(409.5), np.float64(409.5))\n"                                          \
               ">>> out = np.zeros(())\n"                                                          \
               ">>> gred.sum([1.5, 2.0], out=out) is out\n"                                        \
               "True\n"                                                                            \
               ">>> out\n"                                                                         \
               "array(3.5)\n")

#define DOC_prod(summary)                                                                          \
    DOCUMENTED("prod", folded, summary, PARAMETERS_folded(value, ladder),                          \
               RETURNS_folded " With ``dtype=bool`` the product is whether all elements are\n"     \
                              "    true, as in NumPy. The product of nothing is 1.\n" RETURNS_OUT, \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.prod([1.5, 2.0, 4.0])\n"                                                  \
               "np.float64(12.0)\n"                                                                \
               ">>> gred.prod([1, 0, 3, 4], where=[True, False, True, True], initial=-1)\n"        \
               "np.int64(-12)\n"                                                                   \
               ">>> gred.prod([1 + 1j, 1 - 1j], dtype=np.complex64)\n"                             \
               "np.complex64(2+0j)\n"                                                              \
               ">>> gred.prod([True, False, True], dtype=bool)\n"                                  \
               "np.False_\n")

#define DOC_min(summary)                                                                           \
    DOCUMENTED("min", extreme, summary, PARAMETERS_extreme(initial, ladder), RETURNS_extreme,      \
               RAISES_initial RAISES_overflow, WARNS_complex,                                      \
               ">>> gred.min([3, 1, 2])\n"                                                         \
               "np.int64(1)\n"                                                                     \
               ">>> gred.min([3, 1, 2], where=[True, False, True], initial=100)\n"                 \
               "np.int64(2)\n"                                                                     \
               ">>> gred.min(np.array([0.5, -0.25], np.float16))\n"                                \
               "np.float16(-0.25)\n")

#define DOC_max(summary)                                                                           \
    DOCUMENTED("max", extreme, summary, PARAMETERS_extreme(initial, ladder), RETURNS_extreme,      \
               RAISES_initial RAISES_overflow, WARNS_complex,                                      \
               ">>> gred.max([3.0, float('nan'), 2.0])\n"                                          \
               "np.float64(nan)\n"                                                                 \
               ">>> gred.max([], initial=0.0)\n"                                                   \
               "np.float64(0.0)\n"                                                                 \
               ">>> gred.max([1 + 2j, 1 + 3j, 9j])\n"                                              \
               "np.complex128(1+3j)\n")

#define DOC_mean(summary)                                                                          \
    DOCUMENTED("mean", averaged, summary, PARAMETERS_averaged(ladder),                             \
               RETURNS_averaged RETURNS_several, "",                                               \
               "RuntimeWarning\n"                                                                  \
               "    If no element takes part.\n" WARNS_complex,                                    \
               ">>> gred.mean([1, 2, 4, 5])\n"                                                     \
               "np.float64(3.0)\n"                                                                 \
               ">>> gred.mean([[1, 2], [4, 5]], where=[[True], [False]])\n"                        \
               "np.float64(1.5)\n"                                                                 \
               ">>> gred.mean(np.array([1, 2], np.float16))\n"                                     \
               "np.float16(1.5)\n")

#define DOC_any(summary)                                                                           \
    DOCUMENTED("any", truth, summary, PARAMETERS_truth,                                            \
               "numpy.bool, or array\n"                                                            \
               "    NaN is not zero. Of nothing it is False.\n" RETURNS_OUT,                       \
               "", "",                                                                             \
               ">>> gred.any([0.0, 0.5])\n"                                                        \
               "np.True_\n"                                                                        \
               ">>> gred.any([])\n"                                                                \
               "np.False_\n")

#define DOC_all(summary)                                                                           \
    DOCUMENTED("all", truth, summary, PARAMETERS_truth,                                            \
               "numpy.bool, or array\n"                                                            \
               "    NaN is not zero. Of nothing it is True.\n" RETURNS_OUT,                        \
               "", "",                                                                             \
               ">>> gred.all([[1, 2], [0, 4]])\n"                                                  \
               "np.False_\n"                                                                       \
               ">>> gred.all([[1, 2], [0, 4]], where=[[True], [False]])\n"                         \
               "np.True_\n")

#define DOC_count_nonzero(summary)                                                                 \
    DOCUMENTED("count_nonzero", counted, summary, PARAMETERS_counted,                              \
               "numpy.int64, or array\n"                                                           \
               "    NaN is not zero.\n" RETURNS_OUT,                                               \
               "", "",                                                                             \
               ">>> gred.count_nonzero([0, 3, 0, 4])\n"                                            \
               "np.int64(2)\n")

#define DOC_argmin(summary)                                                                        \
    DOCUMENTED("argmin", position, summary, PARAMETERS_position, RETURNS_position, RAISES_empty,   \
               "",                                                                                 \
               ">>> gred.argmin([[3, 1], [1, 2]])\n"                                               \
               "np.int64(1)\n"                                                                     \
               ">>> gred.argmin([3.0, float('nan'), 1.0])\n"                                       \
               "np.int64(1)\n")

#define DOC_argmax(summary)                                                                        \
    DOCUMENTED("argmax", position, summary, PARAMETERS_position, RETURNS_position, RAISES_empty,   \
               "",                                                                                 \
               ">>> gred.argmax([[3, 7], [7, 2]])\n"                                               \
               "np.int64(1)\n"                                                                     \
               ">>> gred.argmax([3, 7, 5], where=[True, False, True])\n"                           \
               "np.int64(2)\n")

#define DOC_var(summary)                                                                           \
    DOCUMENTED("var", spread, summary, PARAMETERS_spread, RETURNS_spread,                          \
               "    Or if both `ddof` and `correction` are given.\n",                              \
               "RuntimeWarning\n"                                                                  \
               "    If no more elements than `ddof` take part.\n" WARNS_complex,                   \
               ">>> gred.var([1, 2, 3, 4])\n"                                                      \
               "np.float64(1.25)\n"                                                                \
               ">>> gred.var([1, 2, 3, 4, 5], ddof=1)\n"                                           \
               "np.float64(2.5)\n")

#define DOC_std(summary)                                                                           \
    DOCUMENTED("std", spread, summary, PARAMETERS_spread, RETURNS_spread,                          \
               "    Or if both `ddof` and `correction` are given.\n",                              \
               "RuntimeWarning\n"                                                                  \
               "    If no more elements than `ddof` take part.\n" WARNS_complex,                   \
               ">>> gred.std([1, 1, 5, 5])\n"                                                      \
               "np.float64(2.0)\n")

#define DOC_ptp(summary)                                                                           \
    DOCUMENTED(                                                                                    \
        "ptp", ranged, summary, PARAMETERS_ranged,                                                 \
        "NumPy scalar, or array\n"                                                                 \
        "    Of the elements' type, unless `dtype` or `out` says otherwise; integers wrap\n"       \
        "    around, and bool is refused.\n" RETURNS_OUT,                                          \
        RAISES_empty, WARNS_complex,                                                               \
        ">>> gred.ptp([4, 9, 2])\n"                                                                \
        "np.int64(7)\n")

#define DOC_nansum(summary)                                                                        \
    DOCUMENTED("nansum", folded, summary, PARAMETERS_folded(value, default),                       \
               RETURNS_folded " The sum of nothing is 0.\n" RETURNS_without_nan RETURNS_OUT,       \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.nansum([1.0, float('nan'), 2.0])\n"                                       \
               "np.float64(3.0)\n")

#define DOC_nanprod(summary)                                                                       \
    DOCUMENTED("nanprod", folded, summary, PARAMETERS_folded(value, default),                      \
               RETURNS_folded " The product of nothing is 1.\n" RETURNS_without_nan RETURNS_OUT,   \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.nanprod([2.0, float('nan'), 4.0])\n"                                      \
               "np.float64(8.0)\n")

#define DOC_nanmin(summary)                                                                        \
    DOCUMENTED("nanmin", extreme, summary, PARAMETERS_extreme(initial, default), RETURNS_extreme,  \
               RAISES_initial RAISES_overflow,                                                     \
               "RuntimeWarning\n"                                                                  \
               "    If all elements are NaN, which the result is then.\n" WARNS_complex,           \
               ">>> gred.nanmin([2.0, float('nan'), 4.0])\n"                                       \
               "np.float64(2.0)\n")

#define DOC_nanmax(summary)                                                                        \
    DOCUMENTED("nanmax", extreme, summary, PARAMETERS_extreme(initial, default), RETURNS_extreme,  \
               RAISES_initial RAISES_overflow,                                                     \
               "RuntimeWarning\n"                                                                  \
               "    If all elements are NaN, which the result is then.\n" WARNS_complex,           \
               ">>> gred.nanmax([2.0, float('nan'), 4.0])\n"                                       \
               "np.float64(4.0)\n")

#define DOC_nanmean(summary)                                                                       \
    DOCUMENTED("nanmean", averaged, summary, PARAMETERS_averaged(default), RETURNS_averaged, "",   \
               "RuntimeWarning\n"                                                                  \
               "    If no element that is not NaN takes part.\n" WARNS_complex,                    \
               ">>> gred.nanmean([1.0, float('nan'), 4.0])\n"                                      \
               "np.float64(2.5)\n")

#define DOC_norm(summary)                                                                          \
    DOCUMENTED(                                                                                    \
        "norm", measured, summary, PARAMETERS_measured,                                            \
        "NumPy scalar, or array\n"                                                                 \
        "    float64 for bool and integers, else of the elements' type or, of complex\n"           \
        "    ones, of their parts', unless `dtype` says otherwise. Squares of large and of\n"      \
        "    small magnitudes neither overflow nor underflow: they are summed apart, as in\n"      \
        "    Blue (1978), \"A portable Fortran program to find the Euclidean norm of a\n"          \
        "    vector\", with the constants of Anderson (2017), \"Algorithm 978\".\n" RETURNS_OUT,   \
        "    Or if there is no such `ord`, or no element for the minimum magnitude.\n",            \
        WARNS_complex,                                                                             \
        ">>> gred.norm([3, 4])\n"                                                                  \
        "np.float64(5.0)\n"                                                                        \
        ">>> gred.norm([1e200, 1e200], 2), gred.norm([1, -5, 2], np.inf)\n"                        \
        "(np.float64(1.414213562373095e+200), np.float64(5.0))\n"                                  \
        ">>> gred.norm(np.ones((2, 3)), 1), np.linalg.norm(np.ones((2, 3)), 1)\n"                  \
        "(np.float64(6.0), np.float64(2.0))\n")

#define DOC_minmax(summary)                                                                        \
    DOCUMENTED("minmax", recorded, summary, PARAMETERS_recorded,                                   \
               "tuple of two NumPy scalars, or arrays\n"                                           \
               "    The minimum and the maximum, of the elements' type or `dtype`; both are\n"     \
               "    NaN if there is one.\n",                                                       \
               RAISES_empty, WARNS_complex,                                                        \
               ">>> gred.minmax([4, 9, 2])\n"                                                      \
               "(np.int64(2), np.int64(9))\n")

#define DOC_describe(summary)                                                                      \
    DOCUMENTED("describe", described, summary, PARAMETERS_described,                               \
               "tuple\n"                                                                           \
               "    count, nans, min, max, mean, var, sum.\n",                                     \
               "", WARNS_complex,                                                                  \
               ">>> gred.describe([1.0, 4.0]).mean\n"                                              \
               "np.float64(2.5)\n")
