"""Defects that mutations.py plants, one at a time. The tests named are tried first."""

from defect import KINDS, Defect
from kernel_defects import KERNELS

__all__ = ["DEFECTS", "KINDS", "Defect"]

HOST = [
    Defect(
        *("full place", "edge", "csrc/cpu/exact/exact.h", "exact/test_exact_host.py"),
        "A place of a large superaccumulator takes one addition more than it holds.",
        "LARGE_SUM_MOST = 1 << 12",
        "LARGE_SUM_MOST = (1 << 12) + 2",
    ),
    Defect(
        *("last bits of a mask", "edge", "csrc/threads/gather.c", "arrays/test_masks.py"),
        "Of a mask whose length is no multiple of 8 the last bits are not uploaded.",
        "divide_up(n - at, MASK_BITS)",
        "(n - at) / MASK_BITS",
    ),
    Defect(
        *("broadcast mask", "edge", "csrc/common/layout.c", "arrays/test_masks.py"),
        "Dimensions are merged that only the array's strides allow, and not its mask's.",
        "continues(self, self->mask_strides, k) && ",
        "",
    ),
    Defect(
        *("position in a chunk", "edge", "csrc/cpu/chunk.c", "host/test_host.py"),
        "Positions of what a mask shows are counted from the chunk's beginning.",
        "end - at, start + at, state)",
        "end - at, at, state)",
    ),
    Defect(
        *("offset at the end", "edge", "csrc/python/segments.c", "axes/test_segments.py"),
        "A segment that begins behind the last element is not refused.",
        "(uint64_t)segments->offsets[k] >= end",
        "(uint64_t)segments->offsets[k] > end",
    ),
    Defect(
        *("bfloat16 with 16 bits", "type", "csrc/arrays/numpys.c", "arrays/test_out.py"),
        "bfloat16 and 16-bit types promote to bfloat16, which holds no float16.",
        "return element == ELEMENT_BFLOAT16 || element_size(element) == 1;",
        "return element == ELEMENT_BFLOAT16 || element_size(element) <= 2;",
    ),
    Defect(
        *("shared buffer", "race", "csrc/cpu/tiles.c", "reductions/test_every_call.py"),
        "All threads work in one workspace.",
        "self->start + index, tiles_workspace(self, thread));",
        "self->start + index, tiles_workspace(self, thread * 0));",
    ),
    Defect(
        *("caller's arithmetic", "race", "csrc/threads/threads.c", "host/test_native.py"),
        "A thread that helps keeps the rounding mode of the job before.",
        "    fesetenv(&job->arithmetic);\n",
        "",
    ),
    Defect(
        *("warp's barriers", "race", "csrc/simulated/checker.c", "lab/test_lab.py"),
        "The checker takes lanes for ordered that have met at no barrier of their warp.",
        "[before->thread % SIMULATOR_WARP] > before->steps",
        "[before->thread % SIMULATOR_WARP] >= before->steps",
    ),
    Defect(
        *("device of DLPack", "leak", "csrc/arrays/dlpack.c", "arrays/test_flat_memory.py"),
        "The pair that __dlpack_device__ returns is never given back.",
        "OWNED *pair = PyObject_CallNoArgs(place);\n    if (!pair)\n        return declined();",
        "PyObject *pair = PyObject_CallNoArgs(place);\n    if (!pair)\n        return declined();",
    ),
    Defect(
        *("text of a shape", "leak", "csrc/arrays/operands.c", "arrays/test_flat_memory.py"),
        "Each out of a wrong shape leaves a text behind.",
        "OWNED *wanted = shape_tuple(",
        "PyObject *wanted = shape_tuple(",
    ),
    Defect(
        *("type of device memory", "leak", "csrc/python/memory.c", "arrays/test_flat_memory.py"),
        "Each result on a device leaves a reference to its type behind.",
        "&self->memory);\n    type->tp_free(object);\n    Py_DECREF(type);",
        "&self->memory);\n    type->tp_free(object);",
    ),
    Defect(
        *("workspace of a failure", "leak", "csrc/run/executor.c", "host/test_threads.py"),
        "A run that fails keeps its workspace on the device.",
        "    machine->memory->release(machine, memory);\n    return done",
        "    if (done)\n        machine->memory->release(machine, memory);\n    return done",
    ),
    Defect(
        *("pinned memory", "leak", "csrc/simulated/memory.c", "arrays/test_simulated_arrays.py"),
        "A call does not hold the simulated memory that it reads, and frees it in the end.",
        "    if (block)\n        block->holders++;\n",
        "",
    ),
    Defect(
        *("warning that is an error", "error path", "csrc/python/results.c"),
        "arrays/test_short_calls.py",
        "An answer is given though its warning has been turned into an exception.",
        "text, 1 + frames) == 0;",
        "text, 1 + frames) <= 0;",
    ),
    Defect(
        *("long segment", "edge", "csrc/cpu/segments.c", "axes/test_by_key.py"),
        "Positions in a long segment are less by its beginning.",
        "finish(self, state, segment.n, 0, k);",
        "finish(self, state, segment.n, segment.start, k);",
    ),
    Defect(
        *("exception of an index", "error path", "csrc/arrays/cuda_interface.c"),
        "gpu/test_cuda_interface.py",
        "Any exception of an integer's __index__ becomes a TypeError.",
        "return (!PyErr_Occurred() || PyErr_ExceptionMatches(PyExc_TypeError)) &&\n"
        "               wrong_type(reading, key, is_address ?",
        "return wrong_type(reading, key, is_address ?",
    ),
    Defect(
        *("memory of an absent GPU", "error path", "csrc/cuda/absent.c"),
        "gpu/test_cuda_interface.py",
        "Without CUDA, memory of a GPU is taken for the host's.",
        "    note_absence(failure);\n    return LOCATED_NOWHERE;",
        "    (void)failure;\n    return LOCATED_ELSEWHERE;",
    ),
    Defect(
        *("warning of an empty slice", "error path", "csrc/cpu/finalize.c"),
        "axes/test_along_axes.py",
        "A slice of which the mask hides everything is warned of only if it is the first.",
        "if (self->counts[k] < self->counts[fewest])",
        "if (self->counts[k] > self->counts[fewest])",
    ),
    Defect(
        *("rounded table", "edge", "csrc/cpu/exact/by_key.c", "axes/test_by_key_exact.py"),
        "A rounded sum by key is taken for an exact one.",
        "if (fetestexcept(FE_INEXACT))",
        "if (at == 1 && fetestexcept(FE_INEXACT))",
    ),
    Defect(
        *("key that changes", "race", "csrc/cpu/by_key_sort.c", "axes/test_by_key.py"),
        "Elements whose keys were written meanwhile are moved beyond the memory for them.",
        "place >= self->all.plan->n",
        "place >= 2 * self->all.plan->n + 9",
    ),
    Defect(
        *("rounded twice", "edge", "csrc/cpu/exact/round.c", "exact/test_exact_along.py"),
        "Exact results of 16 bits are rounded to float32 before.",
        "bits |= back != x;",
        "bits |= back == x && false;",
    ),
]

PYTHON = [
    Defect(
        *("third slab", "edge", "python/gred/exact/partials.py", "host/test_dask.py"),
        "Of more than 2048 exact results along axes the digits of the third slab are lost.",
        "np.concatenate(digits, axis=1)",
        "np.concatenate([*digits[:2], *(0 * one for one in digits[2:])], axis=1)",
    ),
    Defect(
        *("product of imaginary parts", "type", "python/gred/dask/sums.py", "host/test_dask.py"),
        "Products of imaginary parts are added, not subtracted.",
        "(a.imag, -b.imag)",
        "(a.imag, b.imag)",
    ),
    Defect(
        *("product of later variables", "edge", "python/gred/exact/moments.py"),
        "exact/test_exact_moments.py",
        "Covariances of a third variable and those after it are of other variables' products.",
        "combinations_with_replacement(range(k), 2)",
        "sorted(combinations_with_replacement(range(k), 2), key=max)",
    ),
    Defect(
        *("no communicator", "error path", "python/gred/mpi.py", "host/test_mpi.py"),
        "A null communicator is only refused if it is MPI.COMM_NULL itself.",
        "if comm == mpi.COMM_NULL:",
        "if comm is mpi.COMM_NULL:",
    ),
    Defect(
        *("offsets of another type", "error path", "python/gred/segments.py"),
        "axes/test_segments.py",
        "Offsets of a type that int64 does not hold are cast.",
        'casting="safe"',
        'casting="unsafe"',
    ),
    Defect(
        *("middle of an odd length", "edge", "python/gred/scaled.py", "cli/test_roofline.py"),
        "The pass after one over an odd number of elements is predicted without its middle one.",
        "size = size - size // 2 if halves else counts.blocks",
        "size = size // 2 if halves else counts.blocks",
    ),
    Defect(
        *("two-way conflicts", "edge", "python/gred/drawing/banks.py", "cli/test_picture.py"),
        "The picture shows two threads on one bank as if they were alone.",
        "if len(threads) > 1 else",
        "if len(threads) > 2 else",
    ),
    Defect(
        *("wrong peer", "error path", "python/gred/cli/outcome.py", "cli/test_cli_versus.py"),
        "gred is compared with libraries whose answer is wrong.",
        ' and row["median_ns"] and row["right"]]',
        ' and row["median_ns"]]',
    ),
    Defect(
        *("edge of a check", "edge", "python/gred/lab/edges.py", "lab/test_lab_exercises.py"),
        "Rungs of one's own are not checked at one element more than a warp or a block takes.",
        "for k in (-1, 0, 1)}",
        "for k in (-1, 0)}",
    ),
    Defect(
        *("rank beside the bracket", "edge", "kernels/cpu/selection.cuh"),
        "reductions/test_quantiles.py",
        "An order statistic outside of its sample's bracket is looked for among what that kept.",
        "memcpy(room, keys, n * sizeof(K));",
        ";",
    ),
    Defect(
        *("sums beside other maxima", "type", "kernels/cpu/column_sums.cuh"),
        "reductions/test_statistics.py",
        "Sums of exponentials of a column's parts are added as if these had one greatest element.",
        "other.sums.at[r] * exponential<T>(other.most.at[r], greatest);",
        "other.sums.at[r];",
    ),
    Defect(
        *("quantile of numbers", "edge", "kernels/cpu/selection.cuh"),
        "reductions/test_quantiles.py",
        "A quantile of elements among which NaN is is that of the others.",
        "all.of.leaves_out ? all.n - nans : nans ? 0 : all.n;",
        "all.n - nans;",
    ),
]

DEFECTS = [*KERNELS, *HOST, *PYTHON]
