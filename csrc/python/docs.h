/* The docstrings of the reductions, put together of what they have in common. The first line is the
 * signature, for inspect and help; it can only name constants, so that `...` stands for an initial
 * value that is not given. */
#pragma once

#define SIGNATURE_folded                                                                           \
    "($module, a, axis=None, dtype=None, out=None, keepdims=False, initial=..., where=True, "      \
    "*, method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_extreme                                                                          \
    "($module, a, axis=None, out=None, keepdims=False, initial=..., where=True, *, "               \
    "dtype=None, method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_averaged                                                                         \
    "($module, a, axis=None, dtype=None, out=None, keepdims=False, *, where=True, "                \
    "method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_spread                                                                           \
    "($module, a, axis=None, dtype=None, out=None, ddof=0, keepdims=False, *, where=True, "        \
    "mean=..., correction=..., method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_truth                                                                            \
    "($module, a, axis=None, out=None, keepdims=False, *, where=True, method='auto', "             \
    "block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_counted                                                                          \
    "($module, a, axis=None, *, keepdims=False, out=None, where=True, method='auto', "             \
    "block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_position                                                                         \
    "($module, a, axis=None, out=None, *, keepdims=False, where=True, method='auto', "             \
    "block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_ranged                                                                           \
    "($module, a, axis=None, out=None, keepdims=False, *, dtype=None, where=True, "                \
    "method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_measured                                                                         \
    "($module, x, ord=None, axis=None, keepdims=False, *, dtype=None, out=None, where=True, "      \
    "method='auto', block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_recorded                                                                         \
    "($module, a, axis=None, *, keepdims=False, dtype=None, where=True, method='auto', "           \
    "block_size=None, device=None, stream=None)\n--\n\n"
#define SIGNATURE_described                                                                        \
    "($module, a, /, ddof=0, *, axis=None, dtype=None, keepdims=False, where=True, "               \
    "method='auto', block_size=None, device=None, stream=None)\n--\n\n"

#define PARAMETER_a_array                                                                          \
    "    A NumPy array of any layout and byte order; an object with the buffer protocol,\n"        \
    "    ``__array_interface__`` or ``__array__``; a sequence or a scalar; or an array\n"          \
    "    of any layout, on a GPU or not, that offers ``__cuda_array_interface__`` or\n"            \
    "    ``__dlpack__``. Elements are bool, int8 to int64, uint8 to uint64, float16,\n"            \
    "    bfloat16, float32, float64, complex64 or complex128. The array is never\n"                \
    "    written.\n"
#define PARAMETER_a_named                                                                          \
    "\n"                                                                                           \
    "Parameters\n"                                                                                 \
    "----------\n"                                                                                 \
    "a : array_like of any shape\n"
#define PARAMETER_x_named                                                                          \
    "\n"                                                                                           \
    "Parameters\n"                                                                                 \
    "----------\n"                                                                                 \
    "x : array_like of any shape\n"
#define PARAMETER_a PARAMETER_a_named PARAMETER_a_array
#define PARAMETER_x PARAMETER_x_named PARAMETER_a_array
#define PARAMETER_axis                                                                             \
    "axis : int or tuple of int, optional\n"                                                       \
    "    What is reduced: one axis or several, from the last one on if negative, and a\n"          \
    "    result for each place along the others. By default all, which leaves one value.\n"
#define PARAMETER_axis_one                                                                         \
    "axis : int, optional\n"                                                                       \
    "    Along which positions are counted, from the last one on if negative; a result\n"          \
    "    for each place along the others. By default the whole array, in C order.\n"
#define PARAMETER_keepdims                                                                         \
    "keepdims : bool, default False\n"                                                             \
    "    Whether axes that are reduced stay, with length 1.\n"
#define PARAMETER_mean                                                                             \
    "mean : array_like, optional\n"                                                                \
    "    What deviations are taken from, instead of the elements' own mean: of any shape that\n"   \
    "    broadcasts to that of a mean with ``keepdims=True``, on the host or where `a` lies;\n"    \
    "    of a whole array a number on the host. Of infinite elements the variance is NaN, as\n"    \
    "    it is without.\n"
#define PARAMETER_ord                                                                              \
    "ord : {None, 2, 1, inf, -inf, 0}, optional\n"                                                 \
    "    Which norm of the vector x of all elements: the square root of the sum of\n"              \
    "    ``abs(x)**2`` (None and 2), the sum of ``abs(x)``, its greatest or least\n"               \
    "    value, or how many elements are not zero.\n"
#define PARAMETER_ddof                                                                             \
    "ddof : float, default 0\n"                                                                    \
    "    What is taken off the number of elements before dividing by it.\n"
#define PARAMETER_correction                                                                       \
    "correction : float, optional\n"                                                               \
    "    Another name for `ddof`, as in the array API standard.\n"
#define METHOD_exact                                                                               \
    "    ``'exact'`` is for sum, mean, nansum and nanmean: floats, and the parts of\n"             \
    "    complex numbers, are added without rounding, and the result is rounded once;\n"           \
    "    so is the norm of order 2, as the root of the exact sum of squares.\n"                    \
    "    On a device, the README's Limits say which results along axes are made one by one.\n"
#define PARAMETER_method_ladder                                                                    \
    "method : str, default 'auto'\n"                                                               \
    "    ``'auto'``, or a method's name; `gred.methods` lists them. All take every real\n"         \
    "    type; complex numbers are for ``'auto'``, ``'recursive'`` and "                           \
    "``'last_block'``.\n" METHOD_exact
#define PARAMETER_method_default                                                                   \
    "method : str, default 'auto'\n"                                                               \
    "    ``'auto'``, or ``'last_block'``, which it is on a device: only sum, prod, min,\n"         \
    "    max and mean climb the ladder.\n" METHOD_exact
#define PARAMETER_block_size                                                                       \
    "block_size : int, optional\n"                                                                 \
    "    Threads a block, a power of two from 32 to 1024, on a device. By default the\n"           \
    "    method's own.\n"
#define PARAMETER_dtype                                                                            \
    "dtype : data-type, optional\n"                                                                \
    "    One of the element types above, which each element is converted to first: the\n"          \
    "    type of the result, unless that is said to be another below. float16 and\n"               \
    "    bfloat16 are accumulated in at least float32 and rounded once, at the end.\n"
#define PARAMETER_device                                                                           \
    "device : str, optional\n"                                                                     \
    "    ``'host'``, ``'simulated'``, ``'cuda'`` or ``'cuda:N'``. By default a GPU array\n"        \
    "    is reduced on its GPU and a host array on the host; a rung goes to the GPU if\n"          \
    "    there is one, else to the simulated device.\n"
#define PARAMETER_initial                                                                          \
    "initial : scalar, optional\n"                                                                 \
    "    A value that takes part, too, once. It is converted to the result's type.\n"
#define INITIAL_value                                                                              \
    "    With None nothing stands in for elements: there must be some, and no `where`.\n"
#define INITIAL_initial "    With `where` it is needed, as with an array that may be empty.\n"
#define PARAMETER_where                                                                            \
    "where : array_like of bool, default True\n"                                                   \
    "    The elements that take part; broadcast to the shape of `a`.\n"
#define PARAMETER_out                                                                              \
    "out : array, optional\n"                                                                      \
    "    Where the results go, converted to the type of `out`: a writable NumPy array or\n"        \
    "    a GPU array that offers one of the interfaces above, of their shape and of any\n"         \
    "    strides, or, for one value, of one element. With one on a GPU the call does not\n"        \
    "    wait for the GPU, unless an array came by a DLPack producer whose stream is\n"            \
    "    not known. It may overlap with `a`.\n"
#define PARAMETER_out_promotes                                                                     \
    "    Without `dtype`, elements are converted first to the type that theirs and that\n"         \
    "    of `out` promote to.\n"
#define PARAMETER_stream                                                                           \
    "stream : int or stream, optional\n"                                                           \
    "    The CUDA stream that the work on a GPU is ordered on, behind the work that\n"             \
    "    makes `a`: a handle, 1 for the legacy default stream, 2 for the thread's own,\n"          \
    "    an object with ``__cuda_stream__``, or a stream of CuPy, PyTorch or Numba.\n"             \
    "    Elsewhere it makes no difference.\n"

#define PARAMETERS_folded(nothing, method)                                                         \
    PARAMETER_a PARAMETER_axis PARAMETER_dtype PARAMETER_out PARAMETER_out_promotes                \
        PARAMETER_keepdims PARAMETER_initial INITIAL_##nothing PARAMETER_where                     \
            PARAMETER_method_##method PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_extreme(nothing, method)                                                        \
    PARAMETER_a PARAMETER_axis PARAMETER_out PARAMETER_out_promotes PARAMETER_keepdims             \
        PARAMETER_initial INITIAL_##nothing PARAMETER_where PARAMETER_dtype                        \
            PARAMETER_method_##method PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_averaged(method)                                                                \
    PARAMETER_a PARAMETER_axis PARAMETER_dtype PARAMETER_out PARAMETER_out_promotes                \
        PARAMETER_keepdims PARAMETER_where PARAMETER_method_##method PARAMETER_block_size          \
            PARAMETER_device PARAMETER_stream
#define PARAMETERS_spread                                                                          \
    PARAMETER_a PARAMETER_axis PARAMETER_dtype PARAMETER_out PARAMETER_ddof PARAMETER_keepdims     \
        PARAMETER_where PARAMETER_mean PARAMETER_correction PARAMETER_method_default               \
            PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_truth                                                                           \
    PARAMETER_a PARAMETER_axis PARAMETER_out PARAMETER_keepdims PARAMETER_where                    \
        PARAMETER_method_default PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_counted                                                                         \
    PARAMETER_a PARAMETER_axis PARAMETER_keepdims PARAMETER_out PARAMETER_where                    \
        PARAMETER_method_default PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_position                                                                        \
    PARAMETER_a PARAMETER_axis_one PARAMETER_out PARAMETER_keepdims PARAMETER_where                \
        PARAMETER_method_default PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_ranged                                                                          \
    PARAMETER_a PARAMETER_axis PARAMETER_out PARAMETER_out_promotes PARAMETER_keepdims             \
        PARAMETER_dtype PARAMETER_where PARAMETER_method_default PARAMETER_block_size              \
            PARAMETER_device PARAMETER_stream
#define PARAMETERS_measured                                                                        \
    PARAMETER_x PARAMETER_ord PARAMETER_axis PARAMETER_keepdims PARAMETER_dtype PARAMETER_out      \
        PARAMETER_where PARAMETER_method_default PARAMETER_block_size PARAMETER_device             \
            PARAMETER_stream
#define PARAMETERS_recorded                                                                        \
    PARAMETER_a PARAMETER_axis PARAMETER_keepdims PARAMETER_dtype PARAMETER_where                  \
        PARAMETER_method_default PARAMETER_block_size PARAMETER_device PARAMETER_stream
#define PARAMETERS_described                                                                       \
    PARAMETER_a PARAMETER_ddof PARAMETER_axis PARAMETER_dtype PARAMETER_keepdims PARAMETER_where   \
        PARAMETER_method_default PARAMETER_block_size PARAMETER_device PARAMETER_stream

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
    "    If an argument or the array's element type is of a type that is not supported.\n"         \
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

#define DOC_sum(summary)                                                                           \
    DOCUMENTED("sum", folded, summary, PARAMETERS_folded(value, ladder),                           \
               "NumPy scalar, or array\n"                                                          \
               "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"   \
               "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"   \
               "    Integers wrap around; with ``dtype=bool`` the sum is whether any element is\n" \
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
    DOCUMENTED(                                                                                    \
        "prod", folded, summary, PARAMETERS_folded(value, ladder),                                 \
        "NumPy scalar, or array\n"                                                                 \
        "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"          \
        "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"          \
        "    Integers wrap around; with ``dtype=bool`` the product is whether all elements are\n"  \
        "    true, as in NumPy. The product of nothing is 1.\n" RETURNS_OUT,                       \
        RAISES_overflow, WARNS_complex,                                                            \
        ">>> gred.prod([1.5, 2.0, 4.0])\n"                                                         \
        "np.float64(12.0)\n"                                                                       \
        ">>> gred.prod([1, 0, 3, 4], where=[True, False, True, True], initial=-1)\n"               \
        "np.int64(-12)\n"                                                                          \
        ">>> gred.prod([1 + 1j, 1 - 1j], dtype=np.complex64)\n"                                    \
        "np.complex64(2+0j)\n"                                                                     \
        ">>> gred.prod([True, False, True], dtype=bool)\n"                                         \
        "np.False_\n")

#define DOC_min(summary)                                                                           \
    DOCUMENTED(                                                                                    \
        "min", extreme, summary, PARAMETERS_extreme(initial, ladder),                              \
        "NumPy scalar, or array\n"                                                                 \
        "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"     \
        "    are ordered by their real parts first, then by their imaginary parts.\n" RETURNS_OUT, \
        RAISES_initial RAISES_overflow, WARNS_complex,                                             \
        ">>> gred.min([3, 1, 2])\n"                                                                \
        "np.int64(1)\n"                                                                            \
        ">>> gred.min([3, 1, 2], where=[True, False, True], initial=100)\n"                        \
        "np.int64(2)\n"                                                                            \
        ">>> gred.min(np.array([0.5, -0.25], np.float16))\n"                                       \
        "np.float16(-0.25)\n")

#define DOC_max(summary)                                                                           \
    DOCUMENTED(                                                                                    \
        "max", extreme, summary, PARAMETERS_extreme(initial, ladder),                              \
        "NumPy scalar, or array\n"                                                                 \
        "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"     \
        "    are ordered by their real parts first, then by their imaginary parts.\n" RETURNS_OUT, \
        RAISES_initial RAISES_overflow, WARNS_complex,                                             \
        ">>> gred.max([3.0, float('nan'), 2.0])\n"                                                 \
        "np.float64(nan)\n"                                                                        \
        ">>> gred.max([], initial=0.0)\n"                                                          \
        "np.float64(0.0)\n"                                                                        \
        ">>> gred.max([1 + 2j, 1 + 3j, 9j])\n"                                                     \
        "np.complex128(1+3j)\n")

#define DOC_mean(summary)                                                                          \
    DOCUMENTED(                                                                                    \
        "mean", averaged, summary, PARAMETERS_averaged(ladder),                                    \
        "NumPy scalar, or array\n"                                                                 \
        "    float64 for bool and integers, else of the elements' type, unless `dtype` or\n"       \
        "    `out` says otherwise. The mean of nothing is NaN.\n" RETURNS_OUT RETURNS_several,     \
        "",                                                                                        \
        "RuntimeWarning\n"                                                                         \
        "    If no element takes part.\n" WARNS_complex,                                           \
        ">>> gred.mean([1, 2, 4, 5])\n"                                                            \
        "np.float64(3.0)\n"                                                                        \
        ">>> gred.mean([[1, 2], [4, 5]], where=[[True], [False]])\n"                               \
        "np.float64(1.5)\n"                                                                        \
        ">>> gred.mean(np.array([1, 2], np.float16))\n"                                            \
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
    DOCUMENTED(                                                                                    \
        "argmin", position, summary, PARAMETERS_position,                                          \
        "numpy.int64, or array\n"                                                                  \
        "    The position in C order, from 0 on. `out`, if given, is of int64.\n" RETURNS_OUT,     \
        RAISES_empty, "",                                                                          \
        ">>> gred.argmin([[3, 1], [1, 2]])\n"                                                      \
        "np.int64(1)\n"                                                                            \
        ">>> gred.argmin([3.0, float('nan'), 1.0])\n"                                              \
        "np.int64(1)\n")

#define DOC_argmax(summary)                                                                        \
    DOCUMENTED(                                                                                    \
        "argmax", position, summary, PARAMETERS_position,                                          \
        "numpy.int64, or array\n"                                                                  \
        "    The position in C order, from 0 on. `out`, if given, is of int64.\n" RETURNS_OUT,     \
        RAISES_empty, "",                                                                          \
        ">>> gred.argmax([[3, 7], [7, 2]])\n"                                                      \
        "np.int64(1)\n"                                                                            \
        ">>> gred.argmax([3, 7, 5], where=[True, False, True])\n"                                  \
        "np.int64(2)\n")

#define DOC_var(summary)                                                                           \
    DOCUMENTED(                                                                                    \
        "var", spread, summary, PARAMETERS_spread,                                                 \
        "NumPy scalar, or array\n"                                                                 \
        "    float64 for bool and integers, else of the elements' type or, of complex\n"           \
        "    ones, of their parts', unless `dtype` says otherwise. It is computed in float64\n"    \
        "    and in one read, by the formula of Chan, Golub and LeVeque (1983), \"Algorithms\n"    \
        "    for computing the sample variance: analysis and recommendations\"; of complex\n"      \
        "    numbers from squared magnitudes. Of nothing it is NaN.\n" RETURNS_OUT,                \
        "    Or if both `ddof` and `correction` are given.\n",                                     \
        "RuntimeWarning\n"                                                                         \
        "    If no more elements than `ddof` take part.\n" WARNS_complex,                          \
        ">>> gred.var([1, 2, 3, 4])\n"                                                             \
        "np.float64(1.25)\n"                                                                       \
        ">>> gred.var([1, 2, 3, 4, 5], ddof=1)\n"                                                  \
        "np.float64(2.5)\n")

#define DOC_std(summary)                                                                           \
    DOCUMENTED(                                                                                    \
        "std", spread, summary, PARAMETERS_spread,                                                 \
        "NumPy scalar, or array\n"                                                                 \
        "    float64 for bool and integers, else of the elements' type or, of complex\n"           \
        "    ones, of their parts', unless `dtype` says otherwise. The variance is computed in "   \
        "float64\n"                                                                                \
        "    and in one read, by the formula of Chan, Golub and LeVeque (1983), \"Algorithms\n"    \
        "    for computing the sample variance: analysis and recommendations\"; of complex\n"      \
        "    numbers from squared magnitudes. Of nothing it is NaN.\n" RETURNS_OUT,                \
        "    Or if both `ddof` and `correction` are given.\n",                                     \
        "RuntimeWarning\n"                                                                         \
        "    If no more elements than `ddof` take part.\n" WARNS_complex,                          \
        ">>> gred.std([1, 1, 5, 5])\n"                                                             \
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
               "NumPy scalar, or array\n"                                                          \
               "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"   \
               "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"   \
               "    Integers wrap around. The sum of nothing is 0.\n" RETURNS_OUT,                 \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.nansum([1.0, float('nan'), 2.0])\n"                                       \
               "np.float64(3.0)\n")

#define DOC_nanprod(summary)                                                                       \
    DOCUMENTED("nanprod", folded, summary, PARAMETERS_folded(value, default),                      \
               "NumPy scalar, or array\n"                                                          \
               "    int64 for bool and narrower signed integers, uint64 for narrower unsigned\n"   \
               "    ones, else of the elements' type, unless `dtype` or `out` says otherwise.\n"   \
               "    Integers wrap around. The product of nothing is 1.\n" RETURNS_OUT,             \
               RAISES_overflow, WARNS_complex,                                                     \
               ">>> gred.nanprod([2.0, float('nan'), 4.0])\n"                                      \
               "np.float64(8.0)\n")

#define DOC_nanmin(summary)                                                                        \
    DOCUMENTED(                                                                                    \
        "nanmin", extreme, summary, PARAMETERS_extreme(initial, default),                          \
        "NumPy scalar, or array\n"                                                                 \
        "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"     \
        "    are ordered by their real parts first, then by their imaginary parts.\n" RETURNS_OUT, \
        RAISES_initial RAISES_overflow,                                                            \
        "RuntimeWarning\n"                                                                         \
        "    If all elements are NaN, which the result is then.\n" WARNS_complex,                  \
        ">>> gred.nanmin([2.0, float('nan'), 4.0])\n"                                              \
        "np.float64(2.0)\n")

#define DOC_nanmax(summary)                                                                        \
    DOCUMENTED(                                                                                    \
        "nanmax", extreme, summary, PARAMETERS_extreme(initial, default),                          \
        "NumPy scalar, or array\n"                                                                 \
        "    Of the elements' type, unless `dtype` or `out` says otherwise. Complex numbers\n"     \
        "    are ordered by their real parts first, then by their imaginary parts.\n" RETURNS_OUT, \
        RAISES_initial RAISES_overflow,                                                            \
        "RuntimeWarning\n"                                                                         \
        "    If all elements are NaN, which the result is then.\n" WARNS_complex,                  \
        ">>> gred.nanmax([2.0, float('nan'), 4.0])\n"                                              \
        "np.float64(4.0)\n")

#define DOC_nanmean(summary)                                                                       \
    DOCUMENTED(                                                                                    \
        "nanmean", averaged, summary, PARAMETERS_averaged(default),                                \
        "NumPy scalar, or array\n"                                                                 \
        "    float64 for bool and integers, else of the elements' type, unless `dtype` or\n"       \
        "    `out` says otherwise. The mean of nothing is NaN.\n" RETURNS_OUT,                     \
        "",                                                                                        \
        "RuntimeWarning\n"                                                                         \
        "    If no element that is not NaN takes part.\n" WARNS_complex,                           \
        ">>> gred.nanmean([1.0, float('nan'), 4.0])\n"                                             \
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
        "    Or if there is no such `ord`, or no element for the least magnitude.\n",              \
        WARNS_complex,                                                                             \
        ">>> gred.norm([3, 4])\n"                                                                  \
        "np.float64(5.0)\n"                                                                        \
        ">>> gred.norm([1e200, 1e200], 2), gred.norm([1, -5, 2], np.inf)\n"                        \
        "(np.float64(1.414213562373095e+200), np.float64(5.0))\n")

#define DOC_minmax(summary)                                                                        \
    DOCUMENTED(                                                                                    \
        "minmax", recorded, summary, PARAMETERS_recorded,                                          \
        "tuple of two NumPy scalars, or arrays\n"                                                  \
        "    The least and the greatest element, of the elements' type or `dtype`; both are\n"     \
        "    NaN if there is one.\n",                                                              \
        RAISES_empty, WARNS_complex,                                                               \
        ">>> gred.minmax([4, 9, 2])\n"                                                             \
        "(np.int64(2), np.int64(9))\n")

#define DOC_describe(summary)                                                                      \
    DOCUMENTED("describe", described, summary, PARAMETERS_described,                               \
               "tuple\n"                                                                           \
               "    count, nans, min, max, mean, var, sum.\n",                                     \
               "", WARNS_complex,                                                                  \
               ">>> gred.describe([1.0, 4.0]).mean\n"                                              \
               "np.float64(2.5)\n")

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
