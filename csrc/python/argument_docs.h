/* What the docstrings of the reductions say of arguments, once for all that take them: signatures,
 * for inspect and help, and parameters. A signature can only name constants, so that `...` stands
 * for a value that is not given. */
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
    "    ``abs(x)**2`` (None and 2), the sum of ``abs(x)``, its maximum or minimum\n"              \
    "    value, or how many elements are not zero. An array of two dimensions is one\n"            \
    "    vector, too, where numpy.linalg.norm takes a matrix's norm if there is an `ord`.\n"
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
    "    On a device, some results along axes are computed one by one: see Limits in the\n"        \
    "    documentation.\n"
#define PARAMETER_method_ladder                                                                    \
    "method : str, default 'auto'\n"                                                               \
    "    ``'auto'``, or a method's name; `gred.methods` lists them. All take every real\n"         \
    "    type; complex numbers are for ``'auto'``, ``'recursive'`` and "                           \
    "``'last_block'``.\n"                                                                          \
    "    Those with a number, the ladder's rungs, reduce whole arrays: with `axis` or\n"           \
    "    `keepdims` they are a ValueError.\n" METHOD_exact
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
    "    The CUDA stream that the work on a GPU is ordered on, after the work that\n"              \
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
